import { isTerminal } from "../domain/submission.ts";
import { StoreUnavailable } from "./errors.ts";
import type { Head } from "./read.ts";
import type { Wakeups } from "./wakeups.ts";

type Seen = Head | undefined;

/** Those who wait for the end of a submission. They look when they are woken, and never by the clock. */
export class Waits {
  readonly #wakeups: Wakeups;
  readonly #closing = new AbortController();
  readonly #waiting = new Set<Promise<Seen>>();

  constructor(wakeups: Wakeups) {
    this.#wakeups = wakeups;
  }

  /** @returns what `read` found when there was nothing to wait for, it had ended, `signal` aborted, or the store closed. */
  async until(id: string, read: () => Promise<Seen>, signal: AbortSignal): Promise<Seen> {
    const waiting = this.#until(id, read, AbortSignal.any([signal, this.#closing.signal]));
    this.#waiting.add(waiting);
    try {
      return await waiting;
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  /** Answers everybody with what is known; resolves when nobody waits any more. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#waiting);
  }

  async #until(id: string, read: () => Promise<Seen>, signal: AbortSignal): Promise<Seen> {
    let woken = Promise.withResolvers<void>();
    const wake = () => woken.resolve();
    // Subscribed before the first look, and armed again before each further one, so no end in between is missed.
    const unsubscribe = this.#wakeups.onEnd(id, wake);
    signal.addEventListener("abort", wake, { once: true });
    try {
      for (;;) {
        const seen = await lookThrough(read, signal);
        if (seen !== AWAY && (signal.aborted || !seen || isTerminal(seen.submission.status))) return seen;
        await woken.promise;
        woken = Promise.withResolvers<void>();
      }
    } finally {
      unsubscribe();
      signal.removeEventListener("abort", wake);
    }
  }
}

const AWAY = Symbol("the database is away");

/** While the database is away one can wait on: when it is back, everybody is woken. */
async function lookThrough(read: () => Promise<Seen>, signal: AbortSignal): Promise<Seen | typeof AWAY> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StoreUnavailable && !signal.aborted) return AWAY;
    throw error;
  }
}
