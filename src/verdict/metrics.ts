import type { Divergence, Metrics } from "../domain/outcome.ts";
import type { StepReport } from "../domain/report.ts";

/** Time in which the program waited for a CPU counts as interference if it is at least this share of the wall time, and this long. */
const INTERFERENCE_SHARE = 0.1;
const INTERFERENCE_USEC = 5_000;

const CPU_BOUND_RATIO = 0.8;
const BLOCK_BOUND_RATIO = 0.2;

/** The resource use of the execute step. */
export function metrics(report: StepReport): Metrics {
  return {
    cpuUsec: report.cpuUsec,
    wallNs: report.wallNs,
    memoryPeakBytes: memoryPeak(report),
    divergence: divergence(report),
  };
}

/** The peak memory of a step: the peak of its cgroup, plus the files that the previous step left. */
export function memoryPeak({ memoryPeakBytes, keptBytes }: StepReport): number {
  return memoryPeakBytes + keptBytes;
}

/** Classifies a step by the ratio of CPU time to wall time; null if the ratio is neither high nor low. */
export function divergence(report: StepReport): Divergence | null {
  const wallUsec = report.wallNs / 1e3;
  const waited = report.psiFullUsec ?? 0;
  if (waited >= INTERFERENCE_USEC && waited >= wallUsec * INTERFERENCE_SHARE) return "host_interference_suspected";
  if (wallUsec <= 0) return null;
  const ratio = report.cpuUsec / wallUsec;
  if (ratio >= CPU_BOUND_RATIO) return "cpu_bound";
  if (ratio <= BLOCK_BOUND_RATIO) return "sleep_or_block_bound";
  return null;
}
