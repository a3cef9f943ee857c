import type { Logger } from "pino";
import type { StepReport } from "../domain/report.ts";
import type { OnOutput, Slot } from "../sandbox/slot.ts";
import type { Step } from "../sandbox/step.ts";
import type { LiveInput } from "../store/live/input.ts";
import type { Store } from "../store/store.ts";
import type { Claim } from "../store/submissions/types.ts";

/** Input is read again after this time, in case a notification was lost. */
const AGAIN_MS = 1_000;

/**
 * Runs the execute step of a submission with live input, and passes the input and the signals of the client to the program, in order.
 * If the store fails, the program gets no more input. It then runs until it ends by itself or reaches a limit.
 */
export async function runWithInput(
  { slot, store, claim, log }: { slot: Slot; store: Pick<Store, "liveInput">; claim: Claim; log: Logger },
  step: Step,
  onOutput?: OnOutput,
): Promise<StepReport> {
  let hasEnded = false;
  let woken = Promise.withResolvers<void>();
  const wake = () => woken.resolve();
  const unsubscribe = store.liveInput.onInput(claim.submission.id, wake);
  const running = slot.run({ ...step, live: true }, onOutput).finally(() => {
    hasEnded = true;
    wake();
  });
  // An empty piece of output is the sign for clients that the program has started.
  onOutput?.("stdout", Buffer.alloc(0));
  const passing = (async () => {
    for (let after = 0; !hasEnded; ) {
      woken = Promise.withResolvers(); // armed before the read, so that no input is missed
      const inputs = await store.liveInput.read(claim.lease, after);
      if (inputs === null) return;
      for (const [n, input] of inputs) {
        await pass(slot, input);
        after = n;
      }
      if (inputs.length > 0) continue;
      const timer = setTimeout(wake, AGAIN_MS);
      await woken.promise;
      clearTimeout(timer);
    }
  })();
  try {
    await Promise.all([
      running,
      passing.catch((error) =>
        log.warn({ err: error, submission: claim.submission.id }, "live input could not be read"),
      ),
    ]);
    return await running;
  } finally {
    unsubscribe();
  }
}

async function pass(slot: Slot, input: LiveInput): Promise<void> {
  if (input.kind === "signal") return slot.signal(input.signal);
  if (input.kind === "end") return slot.input(Buffer.alloc(0));
  if (input.bytes.length > 0) await slot.input(input.bytes); // an empty buffer would end the input
}
