import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Store } from "../store/store.ts";

export interface StatsAggregatorOptions {
  readonly store: Pick<Store, "history" | "onEnds">;
  readonly log: Logger;
  /** Submissions that all workers together can run at once. */
  readonly slots: () => number;
  /** Interval between checks for ended submissions; five seconds by default. */
  readonly everyMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

const EVERY_MS = 5_000;
/** Interval between samples of queue and slots, whose highest values are kept by minute. */
const SAMPLE_MS = 15_000;
/** Submissions per transaction. A transaction blocks the single writer of SQLite for some milliseconds. */
const STEP = 256;
/** Pause after each step, as a multiple of its duration. */
const REST = 3;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Charts of a day have minutes; charts of a week or month have hours. */
const MINUTES_KEPT_MS = 2 * DAY_MS;
/** Longer than the longest chart, because its first bucket begins before the chart. */
const HOURS_KEPT_MS = 31 * DAY_MS;

/**
 * Aggregates ended submissions and deliveries in the background, samples queue and slots, and deletes aggregates that are too
 * old for any chart. Submissions are counted only after a notification; deliveries, which end without one, at each sample. Several services can do this on one database: the store serialises them and counts each submission once.
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

  /** Resolves after the step under way. */
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
