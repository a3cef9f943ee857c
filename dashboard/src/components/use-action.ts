import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "./toaster.tsx";

interface After<T> {
  /** The message after success. */
  readonly toast?: (result: T) => string;
  readonly done?: (result: T) => void;
}

/** A mutation, after which all displayed queries are refetched. */
export function useAction<T, V = void>(act: (input: V) => Promise<T>, { toast: messageOf, done }: After<T> = {}) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: async (result) => {
      await queryClient.invalidateQueries();
      if (messageOf) toast(messageOf(result));
      done?.(result);
    },
  });
}
