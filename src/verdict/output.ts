import type { Integrity, Outcome, Output } from "../domain/outcome.ts";
import type { StepReport } from "../domain/report.ts";

const SIGKILL = 9;
/** If the last output was written at most this long before a kill, the program counts as killed while it was writing. */
const STILL_WRITING_USEC = 20_000;

/** The output of the execute step. */
export function outputOfExecute(report: StepReport): Output {
  return { stdout: report.stdout, stderr: report.stderr, integrity: integrity(report) };
}

/**
 * The output of a compile step, all of it as stderr: some compilers (tsc) print their messages on standard output, and the program itself
 * has not written anything.
 */
export function outputOfCompile(report: StepReport): Output {
  return {
    stdout: Buffer.alloc(0),
    stderr: Buffer.concat([report.stdout, report.stderr]),
    integrity: integrity(report),
  };
}

/** The outcome with at most so many bytes of standard output. They are copied, so that the rest does not stay in memory. */
export function withStoredStdout(outcome: Outcome, mostBytes: number): Outcome {
  const { output, runStats } = outcome;
  if (!output || output.stdout.length <= mostBytes) return outcome;
  const stdout = Buffer.from(output.stdout.subarray(0, mostBytes));
  const execute = runStats?.execute && { ...runStats.execute, stdoutStoredBytes: mostBytes };
  return {
    ...outcome,
    output: { ...output, stdout, integrity: "truncated_by_judge_limit" },
    ...(runStats && execute && { runStats: { ...runStats, execute } }),
  };
}

export function integrity(report: StepReport): Integrity {
  if (report.stdoutSeen > report.stdoutKept || report.stderrSeen > report.stderrKept) {
    return "truncated_by_judge_limit";
  }
  if (report.readError) return "write_error";
  const { outputAgeUsec } = report;
  if (wasKilled(report) && outputAgeUsec !== null && outputAgeUsec <= STILL_WRITING_USEC) return "crash_mid_write";
  return "complete";
}

function wasKilled(report: StepReport): boolean {
  return report.killReason !== "none" || (report.oomKills > 0 && report.signal === SIGKILL);
}
