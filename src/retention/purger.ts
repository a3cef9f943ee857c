import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { type Meter, NO_METER } from "../domain/meter.ts";
import type { Store } from "../store/store.ts";

export interface PurgerOptions {
  readonly store: Pick<Store, "retention" | "manyProcesses">;
  /** How long a record is kept after the end of its submission or judgement. */
  readonly retentionMs: number;
  readonly log: Logger;
  /** Interval between purges; ten minutes by default. */
  readonly everyMs?: number;
  readonly meter?: Meter;
}

const EVERY_MS = 600_000;
/** The target duration of a step with SQLite, whose single writer it blocks. It must be so short that clients do not notice it. */
const STEP_MS = 25;
/** The target with PostgreSQL: a step does not block other processes, but needs a dozen round trips to a possibly remote server. */
const SHARED_STEP_MS = 250;
/** The fewest and the most records of a step. */
const SMALLEST_STEP = 4;
const LARGEST_STEP = 256;
/** The pause after each step, as a multiple of the duration of the step: a purge is busy for at most a quarter of the time. */
const REST = 3;

/**
 * Deletes expired records in the background, in small transactions (steps) with pauses between them. The duration of a step determines the
 * size of the next one, because the sizes of records differ by a factor of 1,000. Several services can purge one database at the same
 * time.
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

  /** Resolves when the step under way has ended. */
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

/**
 * The size of the next step: twice as large if the last one took less than half of `stepMs`, half as large if it took longer than that.
 * @param step the size of the last step, in records.
 */
export function nextStep(step: number, tookMs: number, stepMs: number): number {
  if (tookMs > stepMs) return Math.max(SMALLEST_STEP, Math.floor(step / 2));
  return tookMs < stepMs / 2 ? Math.min(LARGEST_STEP, step * 2) : step;
}
