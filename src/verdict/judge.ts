import type { Judgement, LimitCause } from "../domain/outcome.ts";
import { internalError, LIMIT_CAUSES } from "../domain/outcome.ts";
import type { StepReport, StepReports } from "../domain/report.ts";
import { distrust } from "./distrust.ts";
import { TABLE } from "./table.ts";

/**
 * Evidence in, judgement out. Pure, and the only place that decides a verdict.
 * A compile step is judged first, by the same table; only when it succeeded does the
 * execute step decide.
 */
export function judge({ compile, execute }: StepReports): Judgement {
  if (compile) {
    const judgement = judgeStep(compile);
    if (judgement.verdict !== "AC") {
      return execute ? internal("a program that does not compile was run") : asCompile(judgement);
    }
  }
  if (!execute) return internal("the sandbox was lost before the run ended");
  if (compile && cannotBeExecuted(execute)) return unusable(compile);
  return judgeStep(execute);
}

/**
 * The kernel refused to execute what the compile step made: the submitter chose what that is
 * (another interpreter named in it, a directory in its place), so it is no failure of ours.
 * A runtime of the image has an absolute path; if that one is refused, it is.
 */
function cannotBeExecuted({ failure }: StepReport): boolean {
  return failure?.step === "exec" && failure.object.startsWith("./");
}

function unusable(compile: StepReport): Judgement {
  return {
    verdict: "RE",
    cause: "compile_error",
    actor: "runtime",
    exitCode: compile.exitCode,
    signal: compile.signal,
    errorMessage: "what the compiler made cannot be executed",
  };
}

/** The judgement of one step, whichever it is. */
export function judgeStep(report: StepReport): Judgement {
  const reason = distrust(report);
  if (reason) return internal(reason);
  const row = TABLE.find(({ when }) => when(report));
  if (!row) return internal("no rule of the verdict table holds");
  return {
    verdict: row.verdict,
    cause: row.cause,
    actor: row.actor,
    exitCode: report.exitCode,
    signal: report.signal,
    errorMessage: row.message(report),
  };
}

/**
 * What the judgement of a compile step means for the submission. A limit keeps its verdict
 * and gets the prefix; a compiler that failed or crashed by itself means that the program
 * does not compile.
 */
function asCompile(judgement: Judgement): Judgement {
  const { cause, errorMessage } = judgement;
  if (isLimit(cause)) return { ...judgement, cause: `compile_${cause}`, errorMessage: `compile step: ${errorMessage}` };
  if (judgement.verdict === "IE") return judgement;
  return {
    ...judgement,
    verdict: "RE",
    cause: "compile_error",
    errorMessage: `the program does not compile (the compiler ${errorMessage}); see stderr`,
  };
}

function isLimit(cause: string): cause is LimitCause {
  return (LIMIT_CAUSES as readonly string[]).includes(cause);
}

function internal(reason: string): Judgement {
  return internalError(reason).judgement;
}
