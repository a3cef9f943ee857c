import type { Samples } from "../../../src/http/dashboard/api/submissions.ts";
import { steps } from "../components/charts/scale.ts";

/** How many CPUs were used on average between two times. */
export interface CpuInterval {
  readonly fromMs: number;
  readonly toMs: number;
  readonly cpus: number;
}

/**
 * The intervals between samples, from the start of the program to its end. If the time after the last sample is short, it is
 * part of the interval before that sample.
 */
export function cpuIntervals({ atMs, cpuMs, end }: Samples): readonly CpuInterval[] {
  const points = [{ at: 0, cpu: 0 }, ...atMs.map((at, i) => ({ at, cpu: cpuMs[i] ?? 0 }))];
  const [beforeLast, last] = points.slice(-2);
  if (beforeLast && last && end.atMs - last.at < (last.at - beforeLast.at) / 2) points.pop();
  points.push({ at: Math.max(end.atMs, last?.at ?? 0), cpu: end.cpuMs });
  return points.slice(1).flatMap(({ at, cpu }, i) => {
    const before = points[i] ?? { at: 0, cpu: 0 };
    if (at <= before.at) return [];
    return [{ fromMs: before.at, toMs: at, cpus: Math.max(0, cpu - before.cpu) / (at - before.at) }];
  });
}

/** The sample with the most memory. */
export function memoryPeak({ atMs, memoryBytes }: Samples): { readonly atMs: number; readonly bytes: number } {
  const bytes = Math.max(0, ...memoryBytes);
  return { atMs: atMs[memoryBytes.indexOf(bytes)] ?? 0, bytes };
}

const NEAR_LIMIT = 0.15;

/** The upper end of the memory axis: at least the limit, unless this would make the curve flat. */
export function memoryTop(samples: Samples): number {
  const { limitBytes } = samples;
  const most = Math.max(samples.peakBytes, memoryPeak(samples).bytes, 1);
  return most >= limitBytes * NEAR_LIMIT ? Math.max(limitBytes, most) : most * 1.2;
}

/** The end of the time axis: the end of the program, or the time limit if that is not far beyond it. */
export function timeEnd({ end, limitMs, atMs }: Samples): number {
  const ended = Math.max(end.atMs, atMs.at(-1) ?? 0, 1);
  return limitMs !== null && limitMs <= ended * 1.5 ? Math.max(ended, limitMs) : ended;
}

/** Three to seven round values from zero up to `top` at most. */
export function stepsWithin(top: number): readonly number[] {
  const step = steps((top * 2) / 3)[1] ?? top;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

/** Numbers of bytes from zero up to `top` at most, which are round in the binary unit that fits `top`. */
export function byteSteps(top: number): readonly number[] {
  const unit = 1024 ** Math.min(4, Math.floor(Math.log2(Math.max(1, top)) / 10));
  return stepsWithin(top / unit).map((value) => value * unit);
}
