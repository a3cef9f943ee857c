import { internalError, type Outcome } from "../domain/outcome.ts";
import type { StepReports } from "../domain/report.ts";
import { evidence } from "./evidence.ts";
import { judge } from "./judge.ts";
import { metrics } from "./metrics.ts";
import { outputOfCompile, outputOfExecute } from "./output.ts";

/**
 * Builds the outcome of a submission from the launcher's reports: result, output, metrics and evidence. An internal error keeps its
 * evidence, which names missing controls, but has neither output nor metrics.
 */
export function buildOutcome(steps: StepReports): Outcome {
  const result = judge(steps);
  const ran = result.cause === "compile_error" ? withoutExecute(steps) : steps;
  const proof = evidence(ran);
  if (result.verdict === "IE") return { ...internalError("", proof), result };
  const { compile, execute } = ran;
  if (execute) {
    return {
      status: "completed",
      result,
      output: outputOfExecute(execute),
      metrics: metrics(execute),
      evidence: proof,
    };
  }
  return {
    status: "completed",
    result,
    output: compile ? outputOfCompile(compile) : null,
    metrics: null,
    evidence: proof,
  };
}

/** The reports without that of the execute step. If a program could not be executed, that report contributes nothing. */
function withoutExecute({ compile }: StepReports): StepReports {
  return compile ? { compile } : {};
}
