import type { StepReports } from "../domain/report.ts";
import type { OnOutput, Slot } from "../sandbox/slot.ts";
import type { Step } from "../sandbox/step.ts";
import { judgeStep } from "../verdict/judge.ts";
import type { Artifact } from "./artifacts.ts";
import { executeKept, type Plan } from "./plan.ts";

/** Artifacts of earlier compile steps, for one submission. */
export interface Kept {
  /** What this compile step left earlier. */
  readonly get: (compile: Step) => Artifact | undefined;
  readonly put: (compile: Step, artifact: Artifact) => void;
}

const NOTHING_KEPT: Kept = { get: () => undefined, put: () => {} };

/**
 * Runs the steps in sequence on one slot. The program runs only if its compile step was AC by
 * the verdict table. A kept artifact takes the place of the compile step, with the report of that step.
 * @param onOutput receives the output of the program; compiler output is only in the report.
 * @throws SandboxError if the slot is lost.
 */
export async function run(
  slot: Pick<Slot, "run">,
  { compile, execute }: Plan,
  { onOutput, kept = NOTHING_KEPT }: { readonly onOutput?: OnOutput | undefined; readonly kept?: Kept } = {},
): Promise<StepReports> {
  if (!compile) return { execute: await slot.run(execute, onOutput) };
  const artifact = kept.get(compile);
  if (artifact) {
    const executed = await slot.run(executeKept(execute, compile, artifact.files), onOutput);
    return { compile: artifact.report, execute: { ...executed, keptBytes: artifact.keptBytes }, compileKept: true };
  }
  const { files, ...compiled } = await slot.run(compile);
  if (judgeStep(compiled).verdict !== "AC") return { compile: compiled };
  const executed = await slot.run(execute, onOutput);
  if (files) kept.put(compile, { report: compiled, files, keptBytes: executed.keptBytes });
  return { compile: compiled, execute: executed };
}
