import { judge0StatusOf } from "../domain/judge0/status.ts";
import type { Repeats } from "../domain/judge0/submission.ts";
import type { Metrics, Outcome } from "../domain/outcome.ts";
import type { Artifact } from "./artifacts.ts";
import type { Kept } from "./run.ts";

const ACCEPTED = 3;

/**
 * Runs a program several times, until a run is not accepted.
 * @param runOnce with the artifact of the first run, so that the program is compiled once also where none are kept.
 * @param signal aborted when the result is not needed any more. @returns the outcome of the last run, with the means of all.
 */
export async function repeat(
  { runs, expected }: Repeats,
  kept: Kept,
  runOnce: (kept: Kept) => Promise<Outcome>,
  signal: AbortSignal,
): Promise<Outcome> {
  let own: Artifact | undefined;
  const keeps: Kept = {
    get: (compile) => {
      own ??= kept.get(compile);
      return own;
    },
    put: (compile, artifact) => {
      own = artifact;
      kept.put(compile, artifact);
    },
  };
  const measured: Metrics[] = [];
  for (let left = runs; ; left--) {
    const outcome = await runOnce(keeps);
    if (outcome.metrics) measured.push(outcome.metrics);
    const isLast = left === 1 || signal.aborted || judge0StatusOf(outcome, expected) !== ACCEPTED;
    if (!isLast) continue;
    if (!outcome.metrics) return outcome;
    const mean = (of: "cpuUsec" | "memoryPeakBytes") =>
      Math.round(measured.reduce((sum, one) => sum + one[of], 0) / measured.length);
    return { ...outcome, means: { cpuUsec: mean("cpuUsec"), memoryPeakBytes: mean("memoryPeakBytes") } };
  }
}
