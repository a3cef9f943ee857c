/**
 * What an honest account may take beside a busy one: this many times its time alone, and one run of the busy account, because
 * a run that has begun is not interrupted. Two, because half of the slots are its share.
 */
export const TIMES_ALONE = 2;

/** @param of 0.5 for the median. */
export function percentile(values: readonly number[], of: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * of), sorted.length - 1)] ?? Number.NaN;
}

/** Turns of an event loop, by the CPU time that its thread spent in each. */
export interface Turns {
  readonly turns: number;
  readonly p999Ms: number;
  readonly mostMs: number;
}

/** A turn of the loop that only looks takes a few microseconds. */
const IDLE_US = 20;

/**
 * Watches the event loop of this thread. By CPU time, so that a busy machine, on which the process has to wait, is not taken for a
 * busy loop.
 * @returns a function that ends it.
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
  const look = () => {
    if (over) return;
    count();
    setImmediate(look);
  };
  look();
  return () => {
    over = true;
    count();
    spent.sort((a, b) => a - b);
    const p999Ms = (spent[Math.floor(spent.length * 0.999)] ?? 0) / 1000;
    return { turns: spent.length, p999Ms, mostMs: (spent.at(-1) ?? 0) / 1000 };
  };
}
