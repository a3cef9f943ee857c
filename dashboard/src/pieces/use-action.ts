import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "./toaster.tsx";

interface After<T> {
  /** What is told when it is done. */
  readonly toast?: (result: T) => string;
  readonly done?: (result: T) => void;
}

/** Something that changes things: afterwards all that is on the screen is asked again. */
export function useAction<T, V = void>(what: (input: V) => Promise<T>, { toast: said, done }: After<T> = {}) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: what,
    onSuccess: async (result) => {
      await queries.invalidateQueries();
      if (said) toast(said(result));
      done?.(result);
    },
  });
}
