import type { Divergence, Metrics } from "../domain/outcome.ts";
import type { StepReport } from "../domain/report.ts";

/** Waiting for a CPU counts as interference if it reaches both values. */
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

/** The peak memory of a step: the charge of its cgroup plus the files of the previous step. */
export function memoryPeak({ memoryPeakBytes, keptBytes }: StepReport): number {
  return memoryPeakBytes + keptBytes;
}

/** Classifies the ratio of CPU time to wall time; null in between. */
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
