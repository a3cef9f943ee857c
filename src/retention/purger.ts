import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { type Meter, NO_METER } from "../domain/meter.ts";
import type { Store } from "../store/port.ts";

export interface PurgerOptions {
  readonly store: Pick<Store, "retention" | "manyProcesses">;
  /** How long a record is kept after its end. */
  readonly retentionMs: number;
  readonly log: Logger;
  /** How often it is looked for old records; ten minutes unless a test is in a hurry. */
  readonly everyMs?: number;
  /** Told how many went. */
  readonly meter?: Meter;
}

const EVERY_MS = 600_000;
/** A step holds the only writer of SQLite: none may take longer than a client notices. */
const STEP_MS = 25;
/** Where others write meanwhile it holds up nobody, but is a dozen round trips to a server that may be far away. */
const SHARED_STEP_MS = 250;
const SMALLEST_STEP = 4;
const LARGEST_STEP = 256;
/** After each step others have three times as long as it took, so that a purge is never more than a quarter of the work. */
const REST = 3;

/**
 * Removes records whose time is over, in the background: many small steps with rests between them, each a
 * transaction. Their size follows from how long the last one took, because records differ a thousandfold. Several
 * services may do it at once on one database: what another one has removed is simply not there.
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

  /** Resolves when the step that is under way is done. */
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
        const gone = await store.retention.purge(Date.now() - retentionMs, this.#step);
        const tookMs = performance.now() - started;
        removed += gone;
        meter.count("purged", {}, gone);
        more = gone >= this.#step;
        this.#step = nextStep(this.#step, tookMs, stepMs);
        if (more) await sleep(tookMs * REST, undefined, { signal }).catch(() => {});
      }
    } catch (error) {
      log.error({ err: error }, "old records could not be removed; they will be later");
    }
    if (removed > 0) log.info({ removed }, "old records removed");
  }
}

/** Twice as many when there was time left for them, half as many when it took too long. */
export function nextStep(step: number, tookMs: number, stepMs: number): number {
  if (tookMs > stepMs) return Math.max(SMALLEST_STEP, Math.floor(step / 2));
  return tookMs < stepMs / 2 ? Math.min(LARGEST_STEP, step * 2) : step;
}
