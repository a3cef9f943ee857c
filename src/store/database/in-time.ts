import { setTimeout as sleep } from "node:timers/promises";

/** Maximum wait of a read request for its own write while another process keeps SQLite's file locked. */
export const READ_PATIENCE_MS = 250;

/**
 * @returns undefined at the timeout. The work then continues in the background, and its failure is ignored.
 * @throws the error of the work before the timeout.
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
