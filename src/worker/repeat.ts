import type { Outcome } from "../domain/outcome.ts";
import { addToTotals, NO_RUN_TOTALS, type Progress } from "../domain/progress.ts";
import type { Artifact } from "./artifacts.ts";
import type { CompileCache } from "./run-steps.ts";

/** The outcome of a submission of several runs; or, with `progress`, its last run before it gives up the slot. */
export type Repeated = { readonly outcome: Outcome } | { readonly outcome: Outcome; readonly progress: Progress };

export interface RepeatOptions {
  /** How often the program runs at most. */
  readonly runs: number;
  /** Whether the program may run again after this outcome. */
  readonly isAccepted: (outcome: Outcome) => boolean;
  /** What was completed in earlier claims of the submission; null if nothing was. */
  readonly progress: Progress | null;
  readonly cache: CompileCache;
  /** Runs the program once. The cache keeps the artifact of the first run, so that even a worker without a cache compiles only once. */
  readonly runOnce: (cache: CompileCache) => Promise<Outcome>;
  /** Asked before each run after the first. If false, the submission gives up the slot. @param bytes what must be stored for that. */
  readonly mayContinue: (bytes: number) => Promise<boolean>;
  /** Aborted when the result is not needed any more. */
  readonly signal: AbortSignal;
}

/**
 * Runs a program `runs` times, or until a run is not accepted.
 * @returns the outcome of the last run, with the means of all runs. If the submission gives up the slot before, its progress.
 */
export async function repeat({
  runs,
  isAccepted,
  progress,
  cache,
  runOnce,
  mayContinue,
  signal,
}: RepeatOptions): Promise<Repeated> {
  let ownArtifact: Artifact | undefined;
  const keeps: CompileCache = {
    owner: cache.owner,
    get: (compile) => {
      ownArtifact ??= cache.get(compile);
      return ownArtifact;
    },
    put: (compile, artifact) => {
      ownArtifact = artifact;
      cache.put(compile, artifact);
    },
  };
  let measured = progress?.measured ?? NO_RUN_TOTALS;
  for (let completed = (progress?.runs ?? 0) + 1; ; completed++) {
    const outcome = await runOnce(keeps);
    measured = addToTotals(measured, outcome.metrics);
    const isLast = completed >= runs || signal.aborted || !isAccepted(outcome);
    if (isLast) {
      if (!outcome.metrics) return { outcome };
      const mean = (sum: number) => Math.round(sum / measured.runs);
      const means = {
        cpuUsec: mean(measured.cpuUsec),
        memoryPeakBytes: mean(measured.memoryPeakBytes),
        runs: measured.runs,
      };
      return { outcome: { ...outcome, means } };
    }
    if (!(await mayContinue(0))) return { outcome, progress: { runs: completed, measured, nextPass: null } };
  }
}
