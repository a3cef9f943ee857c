import type { Logger } from "pino";
import type { Readiness, WorkerPool } from "../domain/readiness.ts";
import type { Store } from "../store/store.ts";

export interface WorkerHeartbeatOptions {
  readonly store: Store;
  /** The worker's id, as in its leases. */
  readonly id: string;
  readonly worker: Pick<WorkerPool, "capacity" | "languages" | "readiness">;
  /** Validity of an announcement. */
  readonly leaseMs: number;
  readonly log: Logger;
}

/** Announcements per lease: two in a row may fail before it expires. */
const ANNOUNCEMENTS_PER_LEASE = 3;

/**
 * Announces a worker to the services of its database: after the smoke tests, then at each heartbeat, and with a new proof when a service
 * asks for one. A heartbeat makes no new proof, because a proof is a complete run.
 */
export class WorkerHeartbeat {
  readonly #options: WorkerHeartbeatOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #unsubscribe: () => void;
  #newest: { readonly readiness: Readiness; readonly atMs: number } | null = null;
  #announcing: Promise<void> | null = null;
  #proofWanted = false;
  #stopped = false;

  private constructor(options: WorkerHeartbeatOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#announce(false), options.leaseMs / ANNOUNCEMENTS_PER_LEASE);
    this.#unsubscribe = options.store.workers.onAsked(() => void this.#announce(true));
  }

  /** @param begun resolves when the smoke tests of the worker have ended. The worker is not announced before. */
  static start(options: WorkerHeartbeatOptions, begun: Promise<void>): WorkerHeartbeat {
    const heartbeat = new WorkerHeartbeat(options);
    void begun.then(() => heartbeat.#announce(true));
    return heartbeat;
  }

  /** Withdraws the announcement, so that services do not rely on a draining worker. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    this.#unsubscribe();
    await this.#announcing;
    try {
      await this.#options.store.workers.leave(this.#options.id);
    } catch (error) {
      this.#options.log.warn({ err: error }, "the announcement could not be withdrawn; it will expire");
    }
  }

  /** Makes one announcement at a time. A request for a proof shares the proof that is being made; otherwise, it gets a new one. */
  #announce(withProof: boolean): Promise<void> {
    if (this.#stopped || !(withProof || this.#newest)) return Promise.resolve();
    this.#proofWanted ||= withProof;
    this.#announcing ??= this.#announceUntilProven().finally(() => {
      this.#announcing = null;
    });
    return this.#announcing;
  }

  async #announceUntilProven(): Promise<void> {
    do await this.#announceOnce();
    while (this.#proofWanted && !this.#stopped);
  }

  async #announceOnce(): Promise<void> {
    const { store, id, worker, leaseMs, log } = this.#options;
    if (this.#proofWanted || !this.#newest) {
      this.#newest = { readiness: await worker.readiness(), atMs: Date.now() };
      this.#proofWanted = false;
    }
    const { readiness, atMs } = this.#newest;
    const announced = { id, slots: worker.capacity(), languages: worker.languages(), readiness, provenAtMs: atMs };
    try {
      await store.workers.announce(announced, leaseMs);
    } catch (error) {
      log.error({ err: error }, "the worker could not be announced");
    }
  }
}
