import { useMutation, useQueryClient } from "@tanstack/react-query";
import { say } from "./said.tsx";

interface After<T> {
  /** What is told when it is done. */
  readonly said?: (result: T) => string;
  readonly done?: (result: T) => void;
}

/** Something that changes things: afterwards all that is on the screen is asked again. */
export function useDoing<T, V = void>(what: (input: V) => Promise<T>, { said, done }: After<T> = {}) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: what,
    onSuccess: async (result) => {
      await queries.invalidateQueries();
      if (said) say(said(result));
      done?.(result);
    },
  });
}
