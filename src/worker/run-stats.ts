import type { RunStats } from "../domain/outcome.ts";
import type { StepReports } from "../domain/report.ts";
import type { Plan } from "./plan.ts";

/** The run statistics, from the reports of the launcher and the limits of the plan. */
export function runStats({ compile, execute, compileCached }: StepReports, plan: Plan): RunStats {
  const compiled = compileCached ? undefined : compile;
  return {
    compileMs: compiled ? round(compiled.spentMs.run + compiled.spentMs.teardown) : null,
    ...(compiled && {
      compile: { wallMs: round(compiled.wallNs / 1e6), teardownMs: round(compiled.spentMs.teardown) },
    }),
    execute: execute
      ? {
          runMs: round(execute.spentMs.run),
          wallMs: round((execute.elapsedNs ?? execute.wallNs) / 1e6),
          teardownMs: round(execute.spentMs.teardown),
          processesPeak: execute.processPeak,
          stdoutBytes: execute.stdoutSeen,
          stderrBytes: execute.stderrSeen,
          limits: limitsOf(plan),
        }
      : null,
  };
}

function limitsOf({ execute: { limits } }: Plan) {
  const { wallMs, cpuMs, stdoutBytes, stderrBytes } = limits;
  return { wallMs, cpuMs, stdoutBytes, stderrBytes };
}

/** Rounds to 0.1 ms, the useful precision of the service's clock. */
function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
