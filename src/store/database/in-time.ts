import { setTimeout as sleep } from "node:timers/promises";

/** How long a request that only reads waits at most for its own small write while another process keeps the file of SQLite locked. */
export const READ_PATIENCE_MS = 250;

/**
 * Waits for work, but no longer than `withinMs`.
 * @returns the result of the work; undefined at the timeout, after which the work continues, and its failure is ignored.
 * @throws the error of the work, if it fails before the timeout.
 */
export async function inTime<T>(work: Promise<T>, withinMs: number): Promise<T | undefined> {
  const settled = new AbortController();
  work.catch(() => {});
  try {
    return await Promise.race([work, sleep(withinMs, undefined, { signal: settled.signal })]);
  } finally {
    settled.abort();
  }
}
