import type { StepReports } from "../domain/report.ts";
import type { Samples } from "../domain/samples.ts";
import { memoryPeak } from "../verdict/metrics.ts";
import type { Plan } from "./plan.ts";

/** Fewer samples show no course: a run of less than 30 ms needs no row. */
const LEAST_SAMPLES = 3;

/**
 * The samples of the step that ended the run. As in the record, memory includes the files of the step before, and the peak is
 * the one of the record.
 */
export function samplesOf({ compile, execute }: StepReports, plan: Plan): Samples | undefined {
  const step = execute ? "execute" : "compile";
  const report = execute ?? compile;
  if (!report?.samples || report.samples.length < LEAST_SAMPLES) return undefined;
  const { samples, elapsedNs, wallNs, cpuUsec, keptBytes, memoryLimitBytes } = report;
  const whole = elapsedNs === undefined || elapsedNs === wallNs;
  return {
    step,
    atMs: samples.map(({ atUsec }) => round(atUsec / 1e3)),
    cpuMs: samples.map((one) => round(one.cpuUsec / 1e3)),
    memoryBytes: samples.map(({ memoryBytes }) => memoryBytes + keptBytes),
    end: { atMs: round((elapsedNs ?? wallNs) / 1e6), cpuMs: round(cpuUsec / 1e3) },
    peakBytes: memoryPeak(report),
    limitBytes: memoryLimitBytes,
    limitMs: whole ? (plan[step]?.limits.wallMs ?? null) : null,
  };
}

/** Rounds to 0.1 ms. */
function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
