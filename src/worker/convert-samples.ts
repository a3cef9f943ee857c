import type { StepReports } from "../domain/report.ts";
import type { Samples } from "../domain/samples.ts";
import { memoryPeak } from "../verdict/metrics.ts";
import type { Plan } from "./plan.ts";

/** Fewer samples make no useful chart. The first ones are 10 ms apart, so a run of less than 30 ms gets no chart. */
const LEAST_SAMPLES = 3;

/**
 * Converts the samples of the last step that ran. As in the record, the memory includes the files that the compile step left for the
 * execute step, and the peak is that of the record.
 * @returns undefined if there are too few samples.
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
