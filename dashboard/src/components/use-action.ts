import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "./toaster.tsx";

interface After<T> {
  /** Returns the message to show after success. */
  readonly toast?: (result: T) => string;
  readonly done?: (result: T) => void;
}

/** A mutation. After its success, the queries of the page are repeated. */
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
