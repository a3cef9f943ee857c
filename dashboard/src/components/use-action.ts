import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "./toaster.tsx";

interface After<T> {
  /** The message after success. */
  readonly toast?: (result: T) => string;
  readonly done?: (result: T) => void;
}

/** A mutation, after which all displayed queries are refetched. */
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
