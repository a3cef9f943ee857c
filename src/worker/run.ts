import type { StepReports } from "../domain/report.ts";
import type { OnOutput, Slot } from "../sandbox/slot.ts";
import { judgeStep } from "../verdict/judge.ts";
import type { Plan } from "./plan.ts";

/**
 * Runs the steps in sequence on one slot. The program runs only if its compile step was AC by
 * the verdict table.
 * @param onOutput receives the output of the program; compiler output is only in the report.
 * @throws SandboxError if the slot is lost.
 */
export async function run(
  slot: Pick<Slot, "run">,
  { compile, execute }: Plan,
  onOutput?: OnOutput,
): Promise<StepReports> {
  if (!compile) return { execute: await slot.run(execute, onOutput) };
  const compiled = await slot.run(compile);
  if (judgeStep(compiled).verdict !== "AC") return { compile: compiled };
  return { compile: compiled, execute: await slot.run(execute, onOutput) };
}
