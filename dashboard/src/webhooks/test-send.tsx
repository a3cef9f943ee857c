import { Button } from "@mantine/core";
import { change } from "../api.ts";
import { toast } from "../pieces/toaster.tsx";
import { useAction } from "../pieces/use-action.ts";

/** One message, one attempt, and what came of it. */
export function TestSend({ id }: { id: string }) {
  const sending = useAction(() => change.testEndpoint(id), {
    done: ({ state, reason, attempts }) => {
      const answer = attempts.at(-1);
      const became = answer?.status
        ? `it answered ${answer.status}`
        : (answer?.error ?? reason ?? "nothing is known of it");
      toast(
        `${state === "delivered" ? "The test arrived" : "The test failed"}: ${became}.`,
        state === "delivered" ? "good" : "bad",
      );
    },
  });
  return (
    <Button
      variant="default"
      loading={sending.isPending}
      onClick={() => sending.mutate(undefined, { onError: ({ message }) => toast(message, "bad") })}
    >
      Send a test
    </Button>
  );
}
