/** How memory and CPU time developed during a step, for users. Samples are not part of the record, and not evidence. */
export interface Samples {
  readonly step: "compile" | "execute";
  /** Times since the start of the program, increasing. The next two lists have one value for each time. */
  readonly atMs: readonly number[];
  /** CPU time from the start of the program to each time. */
  readonly cpuMs: readonly number[];
  /** The highest reading of memory since the previous sample. Like the peak, it includes the files that the compile step left. */
  readonly memoryBytes: readonly number[];
  /** The time and the CPU time of the whole step. */
  readonly end: { readonly atMs: number; readonly cpuMs: number };
  /** The peak of the record. No reading is larger. */
  readonly peakBytes: number;
  readonly limitBytes: number;
  /** The limit of wall time; null with an interactor, where the limit counts only a part of the time. */
  readonly limitMs: number | null;
}

/** One reading of the launcher. */
export interface Sample {
  readonly atUsec: number;
  readonly cpuUsec: number;
  readonly memoryBytes: number;
}

/** The most samples of a step. To take more, the launcher first merges pairs of earlier ones. */
export const MAX_SAMPLES = 128;

/**
 * The kernel charges whole pages, but files of the compile step can end within a page. Readings are rounded down to whole pages, so that
 * none is above the peak.
 */
const PAGE_BYTES = 4_096;

/**
 * JSON whose numbers are differences in tenths of a millisecond and in pages: 13 to 17 bytes for a sample, at most 2.2 kB, where
 * plain values take 3.5 kB. Varints would take 1 kB, in a column that no tool can read.
 */
export function encodeSamples({ atMs, cpuMs, memoryBytes, ...rest }: Samples): string {
  const tenths = (ms: number) => Math.round(ms * 10);
  return JSON.stringify({
    ...rest,
    at: differences(atMs.map(tenths)),
    cpu: differences(cpuMs.map(tenths)),
    pages: differences(memoryBytes.map((bytes) => Math.floor(bytes / PAGE_BYTES))),
  });
}

export function decodeSamples(text: string): Samples {
  const { at, cpu, pages, ...rest } = JSON.parse(text);
  const ms = (tenths: number) => tenths / 10;
  return {
    ...rest,
    atMs: sums(at).map(ms),
    cpuMs: sums(cpu).map(ms),
    memoryBytes: sums(pages).map((count) => count * PAGE_BYTES),
  };
}

function differences(values: readonly number[]): number[] {
  return values.map((value, i) => value - (values[i - 1] ?? 0));
}

function sums(values: readonly number[]): number[] {
  let sum = 0;
  return values.map((value) => {
    sum += value;
    return sum;
  });
}
