import type { Logger } from "pino";
import type { Engine, Readiness } from "../domain/readiness.ts";
import type { Store } from "../store/port.ts";

export interface AnnouncerOptions {
  readonly store: Store;
  /** The worker's id, as its leases carry it. */
  readonly id: string;
  readonly worker: Pick<Engine, "workers" | "languages" | "readiness">;
  /** How long an announcement holds. */
  readonly leaseMs: number;
  readonly log: Logger;
}

/** Announcements within one lease: two may fail before it runs out. */
const ANNOUNCEMENTS_PER_LEASE = 3;

/**
 * Says what a worker offers to services in other processes: when it is proven, by heartbeat, and
 * with a new proof when one is asked for. A heartbeat makes no proof, because each is a whole run.
 */
export class Announcer {
  readonly #options: AnnouncerOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #unsubscribe: () => void;
  #newest: { readonly readiness: Readiness; readonly atMs: number } | null = null;
  #speaking: Promise<void> | null = null;
  #proofWanted = false;
  #stopped = false;

  private constructor(options: AnnouncerOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#speak(false), options.leaseMs / ANNOUNCEMENTS_PER_LEASE);
    this.#unsubscribe = options.store.workers.onAsked(() => void this.#speak(true));
  }

  /** @param begun resolves when the worker is proven: before, there is nothing to say. */
  static start(options: AnnouncerOptions, begun: Promise<void>): Announcer {
    const announcer = new Announcer(options);
    void begun.then(() => announcer.#speak(true));
    return announcer;
  }

  /** Takes the announcement back, so that nobody counts on a worker that drains. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    this.#unsubscribe();
    await this.#speaking;
    try {
      await this.#options.store.workers.leave(this.#options.id);
    } catch (error) {
      this.#options.log.warn({ err: error }, "the announcement could not be taken back; it will run out");
    }
  }

  /** One at a time: whoever asks while a proof is made gets that one; while nothing but a heartbeat is said, the next. */
  #speak(withProof: boolean): Promise<void> {
    if (this.#stopped || !(withProof || this.#newest)) return Promise.resolve();
    this.#proofWanted ||= withProof;
    this.#speaking ??= this.#speakOn().finally(() => {
      this.#speaking = null;
    });
    return this.#speaking;
  }

  async #speakOn(): Promise<void> {
    do await this.#announce();
    while (this.#proofWanted && !this.#stopped);
  }

  async #announce(): Promise<void> {
    const { store, id, worker, leaseMs, log } = this.#options;
    if (this.#proofWanted || !this.#newest) {
      this.#newest = { readiness: await worker.readiness(), atMs: Date.now() };
      this.#proofWanted = false;
    }
    const { readiness, atMs } = this.#newest;
    const announced = { id, slots: worker.workers(), languages: worker.languages(), readiness, provenAtMs: atMs };
    try {
      await store.workers.announce(announced, leaseMs);
    } catch (error) {
      log.error({ err: error }, "the worker could not be announced");
    }
  }
}
