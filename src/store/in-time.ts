import { setTimeout as sleep } from "node:timers/promises";

/** A request that only reads waits no longer for a write of its own, if another process keeps SQLite's file locked. */
export const READ_PATIENCE_MS = 250;

/**
 * @returns undefined when the time is over first. The work goes on, but it is not waited for, and its failure then says nothing.
 * @throws what the work throws in time.
 */
export async function inTime<T>(work: Promise<T>, withinMs: number): Promise<T | undefined> {
  const over = new AbortController();
  work.catch(() => {});
  try {
    return await Promise.race([work, sleep(withinMs, undefined, { signal: over.signal })]);
  } finally {
    over.abort();
  }
}
