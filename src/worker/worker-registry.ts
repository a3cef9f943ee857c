import type { Logger } from "pino";
import { HeartbeatMonitor } from "../domain/heartbeat-monitor.ts";
import { notReady, type Readiness, type WorkerPool } from "../domain/readiness.ts";
import type { Store } from "../store/store.ts";
import type { AnnouncedWorker, SeenWorker } from "../store/workers.ts";

export interface WorkerRegistryOptions {
  readonly store: Store;
  /** Validity of an announcement. */
  readonly leaseMs: number;
  readonly log: Logger;
  /** Age of an announced proof after which a new one is requested. */
  readonly proofHoldsMs?: number;
}

const PROOF_HOLDS_MS = 5_000;
/** How long `readiness` waits for a proof, which is a complete run. */
const PATIENCE_MS = 10_000;
/** How long `nodes` waits for proofs. This time is shorter, because `nodes` waits for every worker, even if one is dead or stuck. */
const NODES_PATIENCE_MS = 3_000;
/** How often the workers are read in the duration of a lease, in addition to the reads after notifications. */
const REFRESHES_PER_LEASE = 3;

/** All workers of the database as one pool. Even the worker of this process is known only by its announcements. */
export class WorkerRegistry implements WorkerPool {
  readonly #options: WorkerRegistryOptions;
  readonly #unsubscribe: () => void;
  readonly #heartbeats = new HeartbeatMonitor();
  readonly #proofs = new HeartbeatMonitor();
  #live: readonly SeenWorker[] = [];
  /** Workers whose proof has not changed recently. */
  #stale: ReadonlySet<string> = new Set();
  #nextTimer: NodeJS.Timeout | undefined;
  #underWay: Promise<Readiness> | null = null;
  #asked: Promise<readonly AnnouncedWorker[]> | null = null;
  #onRefresh = new Set<() => void>();
  #stopped = false;

  private constructor(options: WorkerRegistryOptions) {
    this.#options = options;
    this.#unsubscribe = options.store.workers.onChange(() => void this.#refresh());
  }

  static async start(options: WorkerRegistryOptions): Promise<WorkerRegistry> {
    const registry = new WorkerRegistry(options);
    await registry.#refresh();
    return registry;
  }

  capacity(): number {
    return this.#live.reduce((sum, { slots }) => sum + slots, 0);
  }

  /**
   * The languages that every worker has proven, because any worker may claim a submission. A worker that has not proven any
   * language yet is ignored, because it claims nothing.
   */
  languages(): readonly string[] {
    const proven = this.#live.map(({ languages }) => languages).filter(({ length }) => length > 0);
    return (proven[0] ?? []).filter((name) => proven.every((languages) => languages.includes(name)));
  }

  readiness(): Promise<Readiness> {
    this.#underWay ??= this.#proven()
      .catch((error: unknown) => {
        this.#options.log.error({ err: error }, "the workers could not be read");
        return notReady("the database does not respond");
      })
      .finally(() => {
        this.#underWay = null;
      });
    return this.#underWay;
  }

  /** All workers, oldest first. A worker that makes no new proof in time is shown as not ready. @throws if the database fails. */
  nodes(): Promise<readonly AnnouncedWorker[]> {
    this.#asked ??= this.#eachProven().finally(() => {
      this.#asked = null;
    });
    return this.#asked;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe();
    clearTimeout(this.#nextTimer);
    for (const wake of this.#onRefresh) wake();
  }

  async #proven(): Promise<Readiness> {
    await this.#observe();
    if (this.#live.length === 0) return notReady("there is no worker");
    if (!this.#ready()) {
      await this.#prove(PATIENCE_MS, () => this.#ready());
      if (this.#stopped) return notReady("the service is stopping");
    }
    return this.#conclude();
  }

  async #eachProven(): Promise<readonly AnnouncedWorker[]> {
    await this.#observe();
    if (this.#stale.size > 0) await this.#prove(NODES_PATIENCE_MS, () => false);
    return this.#live.map((worker) => {
      if (this.#isFresh(worker)) return worker;
      return { ...worker, readiness: notReady(`no proof within ${NODES_PATIENCE_MS / 1000} s`) };
    });
  }

  /** Requests proofs. Resolves when `enough` is true, when all workers have made a proof, or after `patienceMs`. */
  async #prove(patienceMs: number, enough: () => boolean): Promise<void> {
    const deadline = performance.now() + patienceMs;
    await this.#options.store.workers.askForProof();
    while (!enough() && this.#live.some((worker) => !this.#isFresh(worker)) && performance.now() < deadline) {
      await this.#nextRefresh(deadline - performance.now());
      if (this.#stopped) return;
    }
  }

  #conclude(): Readiness {
    const ready = this.#live.filter((worker) => this.#isFresh(worker) && worker.readiness.ready);
    const seen = `${ready.length} of ${this.#live.length} have recently proven every control`;
    const shown = (ready[0] ?? this.#live[0])?.readiness;
    return {
      ready: ready.length > 0,
      cgroupBackend: ready[0]?.readiness.cgroupBackend ?? null,
      checks: [{ name: "workers", ok: ready.length > 0, detail: seen }, ...(shown?.checks ?? [])],
    };
  }

  #ready(): boolean {
    return this.#live.some((worker) => this.#isFresh(worker) && worker.readiness.ready);
  }

  #isFresh({ id }: SeenWorker): boolean {
    return !this.#stale.has(id);
  }

  /**
   * Reads the workers, and measures by the local clock how long each has been silent. The time in the row of a worker counts only until
   * a heartbeat of the worker has been observed.
   */
  async #observe(): Promise<void> {
    const { store, leaseMs, proofHoldsMs = PROOF_HOLDS_MS } = this.#options;
    const all = await store.workers.announced();
    const announced = new Map(all.map(({ id, untilMs }) => [id, untilMs]));
    const ago = (id: string) => Math.max(Date.now() - ((announced.get(id) ?? 0) - leaseMs), 0);
    const silent = this.#heartbeats.observe(announced, leaseMs, ago);
    this.#live = all.filter(({ id }) => !silent.has(id));
    const proofs = new Map(this.#live.map(({ id, provenAtMs }) => [id, provenAtMs]));
    this.#stale = this.#proofs.observe(proofs, proofHoldsMs, () => Number.POSITIVE_INFINITY);
  }

  /** Reads the workers, and reads them again periodically, because a dead worker sends no notification. */
  async #refresh(): Promise<void> {
    if (this.#stopped) return;
    clearTimeout(this.#nextTimer);
    try {
      await this.#observe();
    } catch (error) {
      this.#options.log.warn({ err: error }, "the workers could not be read");
    }
    clearTimeout(this.#nextTimer);
    const pauseMs = this.#options.leaseMs / REFRESHES_PER_LEASE;
    if (!this.#stopped) this.#nextTimer = setTimeout(() => void this.#refresh(), pauseMs);
    for (const wake of this.#onRefresh) wake();
  }

  #nextRefresh(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#onRefresh.delete(done);
        resolve();
      };
      const timer = setTimeout(done, withinMs);
      this.#onRefresh.add(done);
    });
  }
}
