import { Button } from "@mantine/core";
import { mutations } from "../../client/api.ts";
import { toast } from "../../components/toaster.tsx";
import { useAction } from "../../components/use-action.ts";

/** A button that sends a test message in one attempt, and shows the result. */
export function SendTestButton({ id }: { id: string }) {
  const sending = useAction(() => mutations.testEndpoint(id), {
    done: ({ state, reason, attempts }) => {
      const answer = attempts.at(-1);
      const result = answer?.status ? `status ${answer.status}` : (answer?.error ?? reason ?? "no result");
      toast(
        `${state === "delivered" ? "Test delivered" : "Test failed"}: ${result}.`,
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
      Send test
    </Button>
  );
}
