import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Store } from "../store/store.ts";

export interface StatsAggregatorOptions {
  readonly store: Pick<Store, "history" | "onEnds">;
  readonly log: Logger;
  /** How many submissions all workers together can run at the same time. */
  readonly slots: () => number;
  /** Interval between checks for ended submissions; five seconds by default. */
  readonly everyMs?: number;
  /** Returns milliseconds since the epoch. */
  readonly now?: () => number;
}

const EVERY_MS = 5_000;
/** Interval between samples of the queue and the slots. The highest values of each minute are kept. */
const SAMPLE_MS = 15_000;
/** Submissions or deliveries per transaction. A transaction blocks the single writer of SQLite for some milliseconds. */
const STEP = 256;
/** The pause after each transaction, as a multiple of the duration of the transaction. */
const REST = 3;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How long aggregates by minute are kept, for charts of a day. Charts of a week or a month use aggregates by hour. */
const MINUTES_KEPT_MS = 2 * DAY_MS;
/** How long aggregates by hour are kept. The longest chart is shorter, but its first bucket can begin before the chart. */
const HOURS_KEPT_MS = 31 * DAY_MS;

/**
 * Aggregates ended submissions and deliveries in the background, samples the queue and the slots, and deletes aggregates that are too old
 * for any chart. Submissions are counted after a notification that some have ended. There is no notification for deliveries, so they are
 * counted at each sample. Several services can do this on one database: the store serialises them and counts each submission once.
 */
export class StatsAggregator {
  readonly #options: StatsAggregatorOptions;
  readonly #stopping = new AbortController();
  readonly #unsubscribe: () => void;
  readonly #running: Promise<void>;
  /** True at the start, because an earlier process may have left uncounted submissions. */
  #mayHaveUncounted = true;
  #mergedAtMs = Number.NEGATIVE_INFINITY;
  #sampledAtMs = Number.NEGATIVE_INFINITY;

  private constructor(options: StatsAggregatorOptions) {
    this.#options = options;
    this.#unsubscribe = options.store.onEnds(() => {
      this.#mayHaveUncounted = true;
    });
    this.#running = this.#run();
  }

  static start(options: StatsAggregatorOptions): StatsAggregator {
    return new StatsAggregator(options);
  }

  /** Resolves when the transaction under way has ended. */
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
        if (this.#mayHaveUncounted) await this.#count();
        await this.#sample();
        await this.#mergeAndExpire();
      } catch (error) {
        this.#mayHaveUncounted = true;
        log.error({ err: error }, "ended submissions could not be counted; trying again later");
      }
      await this.#rest(everyMs);
    }
  }

  async #count(): Promise<void> {
    this.#mayHaveUncounted = false; // a later notification causes another pass
    await this.#all(() => this.#options.store.history.count(STEP));
  }

  async #sample(): Promise<void> {
    const { store, slots, now = Date.now } = this.#options;
    const nowMs = now();
    if (Math.abs(nowMs - this.#sampledAtMs) < SAMPLE_MS) return;
    await store.history.sample(slots());
    this.#sampledAtMs = nowMs;
    await this.#all(() => store.history.countDeliveries(STEP));
  }

  async #all(count: () => Promise<number>): Promise<void> {
    for (let more = true; more && !this.#stopping.signal.aborted; ) {
      const started = performance.now();
      more = (await count()) === STEP;
      if (more) await this.#rest((performance.now() - started) * REST);
    }
  }

  async #mergeAndExpire(): Promise<void> {
    const { store, now = Date.now } = this.#options;
    const nowMs = now();
    if (Math.abs(nowMs - this.#mergedAtMs) < HOUR_MS) return;
    const hour = nowMs - (nowMs % HOUR_MS);
    await store.history.mergeAndExpire({ mergeBeforeMs: hour - MINUTES_KEPT_MS, deleteBeforeMs: hour - HOURS_KEPT_MS });
    this.#mergedAtMs = nowMs;
  }

  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }
}
