/**
 * The time of an honest account alongside a busy one is at most this multiple of its time alone, plus one run of the
 * busy account, because a started run is not interrupted. It is two, because the share of the honest account is half of the slots.
 */
export const TIMES_ALONE = 2;

/** @param of the fraction: 0.5 for the median. */
export function percentile(values: readonly number[], of: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * of), sorted.length - 1)] ?? Number.NaN;
}

/** Turns of an event loop, by the CPU time of its thread in each. */
export interface Turns {
  readonly turns: number;
  readonly p999Ms: number;
  readonly mostMs: number;
}

/** A turn that only measures takes a few microseconds. */
const IDLE_US = 20;

/**
 * Measures the turns of this thread's event loop by CPU time, so that waiting for a busy machine does not count.
 * @returns a function that ends the measurement.
 */
export function watchTurns(): () => Turns {
  const spent: number[] = [];
  let over = false;
  let last = process.threadCpuUsage();
  const count = () => {
    const now = process.threadCpuUsage(last);
    const us = now.user + now.system;
    if (us >= IDLE_US) {
      spent.push(us);
      last = process.threadCpuUsage();
    }
  };
  const sample = () => {
    if (over) return;
    count();
    setImmediate(sample);
  };
  sample();
  return () => {
    over = true;
    count();
    spent.sort((a, b) => a - b);
    const p999Ms = (spent[Math.floor(spent.length * 0.999)] ?? 0) / 1000;
    return { turns: spent.length, p999Ms, mostMs: (spent.at(-1) ?? 0) / 1000 };
  };
}
