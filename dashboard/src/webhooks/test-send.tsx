import { Button } from "@mantine/core";
import { change } from "../api.ts";
import { useDoing } from "../pieces/doing.ts";
import { say } from "../pieces/said.tsx";

/** One message, one attempt, and what came of it. */
export function TestSend({ id }: { id: string }) {
  const sending = useDoing(() => change.testEndpoint(id), {
    done: ({ state, reason, attempts }) => {
      const answer = attempts.at(-1);
      const became = answer?.status
        ? `it answered ${answer.status}`
        : (answer?.error ?? reason ?? "nothing is known of it");
      say(
        `${state === "delivered" ? "The test arrived" : "The test failed"}: ${became}.`,
        state === "delivered" ? "good" : "bad",
      );
    },
  });
  return (
    <Button
      variant="default"
      loading={sending.isPending}
      onClick={() => sending.mutate(undefined, { onError: ({ message }) => say(message, "bad") })}
    >
      Send a test
    </Button>
  );
}
