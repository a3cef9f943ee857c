import type { EndedTests, RunGrader } from "../domain/grading.ts";
import { checkerLimitsOf } from "../domain/judgement.ts";
import type { Language } from "../domain/language.ts";
import { withAdditions } from "../domain/program-options.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import type { Slot } from "../sandbox/slot.ts";
import { buildOutcome } from "../verdict/build-outcome.ts";
import { planOfJudge } from "./plan.ts";
import { type CompileCache, runSteps } from "./run-steps.ts";

interface GraderRuns {
  readonly program: Program;
  readonly ended: Pick<EndedTests, "definition">;
  readonly cache: CompileCache;
}

/**
 * A grader of a problem, which runs on this slot in boxes of its own, with the limits of a checker.
 * @returns a function that throws SandboxError if the slot is lost, and StepSizeError for a program that is too large for a box.
 */
export function graderOn(
  slot: Pick<Slot, "run">,
  language: Language,
  languages: Languages,
  { program, ended, cache }: GraderRuns,
): RunGrader {
  const limits = languages.limitsForChecker(language, checkerLimitsOf(ended.definition));
  return async (args, stdin) => {
    const options = withAdditions(program.options, { args });
    const steps = planOfJudge(language, limits, { ...program, stdin, ...(options && { options }) });
    return buildOutcome(await runSteps(slot, steps, { cache }));
  };
}
