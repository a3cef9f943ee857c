import type { Logger } from "pino";
import { type Engine, notReady, type Readiness } from "../domain/readiness.ts";
import { Silence } from "../domain/silence.ts";
import type { AnnouncedWorker, SeenWorker, Store } from "../store/port.ts";

export interface FleetOptions {
  readonly store: Store;
  /** How long an announcement holds. */
  readonly leaseMs: number;
  readonly log: Logger;
  /** How old an announced proof may be before a new one is asked for. */
  readonly proofHoldsMs?: number;
}

const PROOF_HOLDS_MS = 5_000;
/** How long workers may take for a proof: a whole run, behind nobody. */
const PATIENCE_MS = 10_000;
/** The same for one who asks of each worker by itself: one that is dead, or stuck, is not waited for so long. */
const NODES_PATIENCE_MS = 3_000;
/** Looks within one lease, should nobody say anything. */
const LOOKS_PER_LEASE = 3;

/**
 * All workers of the database as one engine: what services ask that share it. Knows only what
 * workers announce, in this process as in any other.
 */
export class Fleet implements Engine {
  readonly #options: FleetOptions;
  readonly #unsubscribe: () => void;
  readonly #voices = new Silence();
  readonly #proofs = new Silence();
  #live: readonly SeenWorker[] = [];
  /** Whose proof is not one that we have just seen change. */
  #stale: ReadonlySet<string> = new Set();
  #nextTimer: NodeJS.Timeout | undefined;
  #underWay: Promise<Readiness> | null = null;
  #asked: Promise<readonly AnnouncedWorker[]> | null = null;
  #onLook = new Set<() => void>();
  #stopped = false;

  private constructor(options: FleetOptions) {
    this.#options = options;
    this.#unsubscribe = options.store.workers.onChange(() => void this.#look());
  }

  static async start(options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(options);
    await fleet.#look();
    return fleet;
  }

  workers(): number {
    return this.#live.reduce((sum, { slots }) => sum + slots, 0);
  }

  /** What every worker has proven: any of them may be the one that gets a submission. */
  languages(): readonly string[] {
    const proven = this.#live.map(({ languages }) => languages).filter(({ length }) => length > 0);
    return (proven[0] ?? []).filter((name) => proven.every((languages) => languages.includes(name)));
  }

  readiness(): Promise<Readiness> {
    this.#underWay ??= this.#proven()
      .catch((error: unknown) => {
        this.#options.log.error({ err: error }, "the workers could not be asked");
        return notReady("the database does not answer");
      })
      .finally(() => {
        this.#underWay = null;
      });
    return this.#underWay;
  }

  /** Each worker by itself, longest there first; one without a new proof is not ready. @throws while the database is away. */
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
    for (const wake of this.#onLook) wake();
  }

  async #proven(): Promise<Readiness> {
    await this.#see();
    if (this.#live.length === 0) return notReady("no worker is there");
    if (!this.#ready()) {
      await this.#prove(PATIENCE_MS, () => this.#ready());
      if (this.#stopped) return notReady("the service is stopping");
    }
    return this.#conclude();
  }

  async #eachProven(): Promise<readonly AnnouncedWorker[]> {
    await this.#see();
    if (this.#stale.size > 0) await this.#prove(NODES_PATIENCE_MS, () => false);
    return this.#live.map((worker) => {
      if (this.#isFresh(worker)) return worker;
      return { ...worker, readiness: notReady(`no proof within ${NODES_PATIENCE_MS / 1000} s`) };
    });
  }

  /** Has all workers prove their controls, until that is enough, all have, or the time is over. */
  async #prove(patienceMs: number, enough: () => boolean): Promise<void> {
    const deadline = performance.now() + patienceMs;
    await this.#options.store.workers.askForProof();
    while (!enough() && this.#live.some((worker) => !this.#isFresh(worker)) && performance.now() < deadline) {
      await this.#nextLook(deadline - performance.now());
      if (this.#stopped) return;
    }
  }

  #conclude(): Readiness {
    const ready = this.#live.filter((worker) => this.#isFresh(worker) && worker.readiness.ready);
    const seen = `${ready.length} of ${this.#live.length} have just proven every control`;
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

  /** By our own clock: how long ago a worker spoke is only believed to its row until we have seen it speak ourselves. */
  async #see(): Promise<void> {
    const { store, leaseMs, proofHoldsMs = PROOF_HOLDS_MS } = this.#options;
    const all = await store.workers.announced();
    const said = new Map(all.map(({ id, untilMs }) => [id, untilMs]));
    const ago = (id: string) => Math.max(Date.now() - ((said.get(id) ?? 0) - leaseMs), 0);
    const silent = this.#voices.look(said, leaseMs, ago);
    this.#live = all.filter(({ id }) => !silent.has(id));
    const proofs = new Map(this.#live.map(({ id, provenAtMs }) => [id, provenAtMs]));
    this.#stale = this.#proofs.look(proofs, proofHoldsMs, () => Number.POSITIVE_INFINITY);
  }

  /** Looks who is there. Workers that die say nothing, so silence is a reason to look, too. */
  async #look(): Promise<void> {
    if (this.#stopped) return;
    clearTimeout(this.#nextTimer);
    try {
      await this.#see();
    } catch (error) {
      this.#options.log.warn({ err: error }, "the workers could not be seen");
    }
    clearTimeout(this.#nextTimer);
    const pauseMs = this.#options.leaseMs / LOOKS_PER_LEASE;
    if (!this.#stopped) this.#nextTimer = setTimeout(() => void this.#look(), pauseMs);
    for (const wake of this.#onLook) wake();
  }

  #nextLook(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#onLook.delete(done);
        resolve();
      };
      const timer = setTimeout(done, withinMs);
      this.#onLook.add(done);
    });
  }
}
