import { LIMIT_CAUSES, type LimitCause, RULES } from "../domain/causes.ts";
import { internalError, type RunVerdict } from "../domain/outcome.ts";
import type { StepReport, StepReports } from "../domain/report.ts";
import { validateReport } from "./validate-report.ts";

/**
 * Decides the verdict on a submission from the reports; no other function does. The compile step is judged first, by the same table as
 * the execute step. If the compile step is AC, the execute step decides.
 */
export function judge({ compile, execute }: StepReports): RunVerdict {
  if (compile) {
    const result = judgeStep(compile);
    if (result.verdict !== "AC") {
      return execute ? internal("a program that does not compile was run") : asCompile(result);
    }
  }
  if (!execute) return internal("the sandbox was lost before the run ended");
  if (compile && cannotBeExecuted(execute)) return unusable(compile);
  return judgeStep(execute);
}

/**
 * Whether the kernel refused to execute the result of the compile step. The submission controls this result, which can name an
 * interpreter that does not exist, or be a directory, so it is not a failure of the platform. A runtime of the image has an absolute
 * path: if the kernel refuses to execute that, the platform has failed.
 */
export function cannotBeExecuted({ failure }: StepReport): boolean {
  return failure?.step === "exec" && failure.object.startsWith("./");
}

function unusable(compile: StepReport): RunVerdict {
  return {
    verdict: "RE",
    cause: "compile_error",
    actor: "runtime",
    exitCode: compile.exitCode,
    signal: compile.signal,
    errorMessage: "what the compiler made cannot be executed",
  };
}

/** The verdict on one step. */
export function judgeStep(report: StepReport): RunVerdict {
  const reason = validateReport(report);
  if (reason) return internal(reason);
  const rule = RULES.find(({ when }) => when(report));
  if (!rule) return internal("no rule of the verdict table holds");
  return {
    verdict: rule.verdict,
    cause: rule.cause,
    actor: rule.actor,
    exitCode: report.exitCode,
    signal: report.signal,
    errorMessage: rule.message(report),
  };
}

/**
 * Turns the verdict on a compile step into that on the submission. If a limit ended the compiler, the verdict stays, and the cause gets
 * the prefix `compile_`. If the compiler failed or crashed, the program does not compile.
 */
function asCompile(result: RunVerdict): RunVerdict {
  const { cause, errorMessage } = result;
  if (isLimit(cause)) return { ...result, cause: `compile_${cause}`, errorMessage: `compile step: ${errorMessage}` };
  if (result.verdict === "IE") return result;
  return {
    ...result,
    verdict: "RE",
    cause: "compile_error",
    errorMessage: `the program does not compile (the compiler ${errorMessage}); see stderr`,
  };
}

function isLimit(cause: string): cause is LimitCause {
  return (LIMIT_CAUSES as readonly string[]).includes(cause);
}

function internal(reason: string): RunVerdict {
  return internalError(reason).result;
}
