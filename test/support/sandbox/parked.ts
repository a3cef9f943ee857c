import type { Slot } from "../../../src/sandbox/slot.ts";
import type { Step } from "../../../src/sandbox/step.ts";
import type { Plan } from "../../../src/worker/plan.ts";

/** Whether runs start in new runtimes only: the variant `cold`. */
export const COLD = process.env.ASSAY_TEST_COLD === "yes";

/** Lets the runtimes of the steps wait in the slot, as before a normal submission. */
export async function park(slot: Pick<Slot, "park">, { compile, execute }: Plan): Promise<void> {
  if (COLD || !(compile?.command.park ?? execute.command.park)) return;
  for (const step of compile ? [compile, execute] : [execute]) await slot.park(step);
}

/** A shell that waits like a runtime, for steps of `shell`. */
const WAITING_SHELL = [
  "-c",
  "printf '\\1\\0\\0\\0\\0\\0\\0\\0' >&4; head -c 8 <&3 >/dev/null; exec 3<&- 4>&-; exec /bin/sh \"$@\"",
  "sh",
];

export function withWaitingShell(step: Step): Step {
  return { ...step, command: { ...step.command, park: WAITING_SHELL } };
}
