import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Meter } from "../../domain/meter.ts";
import type { Store } from "../../store/store.ts";

export interface SandboxSweeperOptions {
  readonly store: Pick<Store, "sandboxes" | "manyProcesses">;
  readonly leaseMs: number;
  /** The worker of this process, which can have sandboxes already. */
  readonly worker: string;
  readonly log: Logger;
  readonly meter: Meter;
}

/**
 * Ends sandboxes in the database that no process has any more. With one process, these are all that it has not taken over from an earlier one;
 * otherwise, those whose lease has expired.
 */
export class SandboxSweeper {
  readonly #options: SandboxSweeperOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  private constructor(options: SandboxSweeperOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Begins after the first sweep, so that no lost sandbox counts for the quotas. @throws if the database cannot be used. */
  static async start(options: SandboxSweeperOptions): Promise<SandboxSweeper> {
    await sweepAll(options, options.store.manyProcesses ? null : options.worker);
    return new SandboxSweeper(options);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { leaseMs, log, store } = this.#options;
    if (!store.manyProcesses) return;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await sleep(leaseMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      await sweepAll(this.#options, null).catch((error: unknown) =>
        log.error({ err: error }, "lost sandboxes could not be ended; trying again later"),
      );
    }
  }
}

/** @param but the only worker that can have sandboxes, if that is known. */
async function sweepAll({ store, log, meter }: SandboxSweeperOptions, but: string | null): Promise<void> {
  let ended = 0;
  for (let more = true; more; ) {
    const reasons = await store.sandboxes.sweep(but);
    for (const reason of reasons) meter.count("sandboxesEnded", { reason });
    ended += reasons.length;
    more = reasons.length > 0;
  }
  if (ended > 0) log.warn({ sandboxes: ended }, "sandboxes of a lost process ended");
}
