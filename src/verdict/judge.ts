import type { LimitCause, RunVerdict } from "../domain/outcome.ts";
import { internalError, LIMIT_CAUSES } from "../domain/outcome.ts";
import type { StepReport, StepReports } from "../domain/report.ts";
import { TABLE } from "./table.ts";
import { validateReport } from "./validate-report.ts";

/**
 * Decides the verdict from the reports; no other function does.
 * The compile step is judged first, by the same table. If it succeeded, the execute step decides.
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
 * Whether the kernel refused to execute the result of the compile step. The program controls that
 * result (it can name another interpreter, or be a directory), so this is not a platform failure.
 * A runtime of the image has an absolute path; its refusal is a platform failure.
 */
function cannotBeExecuted({ failure }: StepReport): boolean {
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

/** The result of one step, compile or execute. */
export function judgeStep(report: StepReport): RunVerdict {
  const reason = validateReport(report);
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
 * Turns the result of a compile step into that of the submission. A limit keeps its verdict,
 * and its cause gets the prefix. If the compiler failed or crashed, the program does not compile.
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
