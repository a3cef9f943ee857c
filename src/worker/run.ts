import type { StepReports } from "../domain/report.ts";
import type { OnOutput, Slot } from "../sandbox/slot.ts";
import { judgeStep } from "../verdict/judge.ts";
import type { Plan } from "./plan.ts";

/**
 * Runs the steps one after another on one slot; the program runs only when its compile
 * step succeeded by the same table that judges every run.
 * @param onOutput hears what the program writes; of a compiler, only the report has it.
 * @throws SandboxError when the slot is lost.
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
