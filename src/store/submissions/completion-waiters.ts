import { isTerminal } from "../../domain/submission.ts";
import { StoreUnavailable } from "../database/errors.ts";
import type { Notifier } from "../database/notifier.ts";
import type { Head } from "./read.ts";

type Seen = Head | undefined;

/** Waiters for the end of submissions. A waiter reads its submission when it is notified, without polling. */
export class CompletionWaiters {
  readonly #notifier: Notifier;
  readonly #closing = new AbortController();
  readonly #waiting = new Set<Promise<Seen>>();

  constructor(notifier: Notifier) {
    this.#notifier = notifier;
  }

  /**
   * Waits for the end of a submission. @param read reads the submission.
   * @param running whether the caller knows that the submission has not ended, so that no read is needed at first.
   * @returns the last result of `read`: an ended submission, undefined for an unknown one, or any state if `signal` aborts or the store
   * closes.
   */
  async until(id: string, read: () => Promise<Seen>, signal: AbortSignal, running = false): Promise<Seen> {
    const waiting = this.#until(id, read, AbortSignal.any([signal, this.#closing.signal]), running);
    this.#waiting.add(waiting);
    try {
      return await waiting;
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  /** Makes all waiters return the present states; resolves when no waiter is left. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#waiting);
  }

  async #until(id: string, read: () => Promise<Seen>, signal: AbortSignal, running: boolean): Promise<Seen> {
    let woken = Promise.withResolvers<void>();
    const wake = () => woken.resolve();
    // The subscription precedes the first read, and each read follows a new `woken`, so that no end is missed.
    const unsubscribe = this.#notifier.onEnd(id, wake);
    signal.addEventListener("abort", wake, { once: true });
    try {
      if (running && !signal.aborted) await woken.promise;
      for (;;) {
        woken = Promise.withResolvers<void>();
        const seen = await readIfAvailable(read, signal);
        if (seen !== UNAVAILABLE && (signal.aborted || !seen || isTerminal(seen.submission.status))) return seen;
        await woken.promise;
      }
    } finally {
      unsubscribe();
      signal.removeEventListener("abort", wake);
    }
  }
}

const UNAVAILABLE = Symbol("the database is unavailable");

/** Lets a wait continue while the database is unavailable: all waiters are woken when it is available again. */
async function readIfAvailable(read: () => Promise<Seen>, signal: AbortSignal): Promise<Seen | typeof UNAVAILABLE> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StoreUnavailable && !signal.aborted) return UNAVAILABLE;
    throw error;
  }
}
