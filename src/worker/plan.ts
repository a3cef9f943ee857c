import type { Language } from "../domain/language.ts";
import type { StepLimits } from "../domain/limits.ts";
import type { WorkFile } from "../domain/report.ts";
import type { Program } from "../domain/submission.ts";
import type { Step } from "../sandbox/step.ts";

/** The steps of one submission. `compile` is absent for languages without a compile step. */
export interface Plan {
  readonly compile?: Step;
  readonly execute: Step;
}

const NOTHING = Buffer.alloc(0);

/** The step in a new work directory with these files, which a compile step left in one of the same size. */
export function executeKept(execute: Step, { limits }: Step, files: readonly WorkFile[]): Step {
  const { workBytes, workInodes } = limits;
  return { ...execute, files, work: "fresh", limits: { ...execute.limits, workBytes, workInodes } };
}

/** Plans the steps of a program. Pure. The source is written once, into the fresh work directory of the first step. */
export function plan(language: Language, limits: StepLimits, { code, stdin }: Program): Plan {
  const files = [{ name: language.source, data: code }];
  const { compile, execute } = language;
  if (!compile || !limits.compile) {
    return { execute: { command: execute, files, stdin, limits: limits.execute, work: "fresh", more: false } };
  }
  return {
    compile: {
      command: compile,
      files,
      stdin: NOTHING,
      limits: limits.compile,
      work: "fresh",
      more: true,
      collect: true,
    },
    execute: { command: execute, files: [], stdin, limits: limits.execute, work: "keep", more: false },
  };
}
