import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Store } from "../store/port.ts";

export interface SummariserOptions {
  readonly store: Pick<Store, "history" | "onWork">;
  readonly log: Logger;
  /** How often it is looked whether something ended; five seconds unless a test is in a hurry. */
  readonly everyMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

const EVERY_MS = 5_000;
/** A step is one transaction, which holds the only writer of SQLite for some milliseconds. */
const STEP = 256;
/** After each step others have three times as long as it took. */
const REST = 3;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The charts of a day are by minutes, those of a week and of a month by hours. */
const MINUTES_KEPT_MS = 2 * DAY_MS;
/** Longer than the longest chart, whose first bucket begins before it. */
const HOURS_KEPT_MS = 31 * DAY_MS;

/**
 * Adds up what has ended, in the background, and lets go of what is too old for any chart. It looks only after something happened.
 * Several services may do it on one database: the store lets one at a time, and each end is counted once.
 */
export class Summariser {
  readonly #options: SummariserOptions;
  readonly #stopping = new AbortController();
  readonly #unsubscribe: () => void;
  readonly #running: Promise<void>;
  /** Whoever was here before may have left something. */
  #happened = true;
  #shrunkAtMs = Number.NEGATIVE_INFINITY;

  private constructor(options: SummariserOptions) {
    this.#options = options;
    this.#unsubscribe = options.store.onWork(() => {
      this.#happened = true;
    });
    this.#running = this.#run();
  }

  static start(options: SummariserOptions): Summariser {
    return new Summariser(options);
  }

  /** Resolves when the step that is under way is done. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { everyMs = EVERY_MS, log } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        if (this.#happened) await this.#count();
        await this.#shrink();
      } catch (error) {
        this.#happened = true;
        log.error({ err: error }, "what has ended could not be counted; it will be later");
      }
      await this.#rest(everyMs);
    }
  }

  async #count(): Promise<void> {
    this.#happened = false; // what comes from here on is a reason to look again
    for (let more = true; more && !this.#stopping.signal.aborted; ) {
      const started = performance.now();
      more = (await this.#options.store.history.count(STEP)) === STEP;
      if (more) await this.#rest((performance.now() - started) * REST);
    }
  }

  async #shrink(): Promise<void> {
    const { store, now = Date.now } = this.#options;
    const nowMs = now();
    if (Math.abs(nowMs - this.#shrunkAtMs) < HOUR_MS) return;
    const hour = nowMs - (nowMs % HOUR_MS);
    await store.history.shrink({ hoursBeforeMs: hour - MINUTES_KEPT_MS, forgetBeforeMs: hour - HOURS_KEPT_MS });
    this.#shrunkAtMs = nowMs;
  }

  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }
}
