import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Snapshots } from "./snapshots.ts";

/** The interval between sweeps. */
const EVERY_MS = 600_000;

export interface SnapshotSweeperOptions {
  readonly snapshots: Pick<Snapshots, "sweep">;
  /** How long a snapshot is kept after it was taken; null: for ever. */
  readonly keepMs: number | null;
  /** Whether other processes can use the database. */
  readonly manyProcesses: boolean;
  readonly log: Logger;
}

/** Deletes old snapshots, and archives that nobody needs, in the background. */
export class SnapshotSweeper {
  readonly #options: SnapshotSweeperOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  private constructor(options: SnapshotSweeperOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Begins after the first sweep, which removes what an earlier process has left. @throws if the database or the disk cannot be used. */
  static async start(options: SnapshotSweeperOptions): Promise<SnapshotSweeper> {
    await sweep(options, !options.manyProcesses);
    return new SnapshotSweeper(options);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await sleep(EVERY_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      await sweep(this.#options, false).catch((error: unknown) =>
        this.#options.log.error({ err: error }, "old snapshots could not be deleted; trying again later"),
      );
    }
  }
}

function sweep({ snapshots, keepMs }: SnapshotSweeperOptions, all: boolean): Promise<void> {
  return snapshots.sweep(keepMs === null ? Number.MIN_SAFE_INTEGER : Date.now() - keepMs, all);
}
