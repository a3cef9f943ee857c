import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { type Meter, NO_METER } from "../domain/meter.ts";
import type { Store } from "../store/store.ts";

export interface PurgerOptions {
  readonly store: Pick<Store, "retention" | "manyProcesses">;
  /** How long a record is kept after its end. */
  readonly retentionMs: number;
  readonly log: Logger;
  /** Interval between purges; ten minutes by default. */
  readonly everyMs?: number;
  readonly meter?: Meter;
}

const EVERY_MS = 600_000;
/** Target duration of a step. A step blocks the single writer of SQLite, so it must be short for clients. */
const STEP_MS = 25;
/** With concurrent writers, a step does not block other processes, but needs a dozen round trips to a possibly remote server. */
const SHARED_STEP_MS = 250;
const SMALLEST_STEP = 4;
const LARGEST_STEP = 256;
/** Pause after each step, as a multiple of its duration: a purge takes at most a quarter of the time. */
const REST = 3;

/**
 * Deletes expired records in the background, in small transactions with pauses between them. The duration of the last
 * step determines the size of the next one, because record sizes differ by a factor of 1,000. Several services can purge
 * one database at the same time.
 */
export class Purger {
  readonly #options: PurgerOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #step = SMALLEST_STEP;

  private constructor(options: PurgerOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  static start(options: PurgerOptions): Purger {
    return new Purger(options);
  }

  /** Resolves after the step under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#purge();
      await sleep(this.#options.everyMs ?? EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }

  async #purge(): Promise<void> {
    const { store, retentionMs, log, meter = NO_METER } = this.#options;
    const { signal } = this.#stopping;
    const stepMs = store.manyProcesses ? SHARED_STEP_MS : STEP_MS;
    let removed = 0;
    try {
      for (let more = true; more && !signal.aborted; ) {
        const started = performance.now();
        const purged = await store.retention.purge(Date.now() - retentionMs, this.#step);
        const tookMs = performance.now() - started;
        removed += purged;
        meter.count("purged", {}, purged);
        more = purged >= this.#step;
        this.#step = nextStep(this.#step, tookMs, stepMs);
        if (more) await sleep(tookMs * REST, undefined, { signal }).catch(() => {});
      }
    } catch (error) {
      log.error({ err: error }, "old records could not be deleted; trying again later");
    }
    if (removed > 0) log.info({ removed }, "old records deleted");
  }
}

/** Doubles the step if it took less than half of its time, and halves it if it took too long. */
export function nextStep(step: number, tookMs: number, stepMs: number): number {
  if (tookMs > stepMs) return Math.max(SMALLEST_STEP, Math.floor(step / 2));
  return tookMs < stepMs / 2 ? Math.min(LARGEST_STEP, step * 2) : step;
}
