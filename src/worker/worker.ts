import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { Conversations } from "../conversation/conversations.ts";
import type { ForeignApis } from "../domain/foreign-api.ts";
import { type Meter, NO_METER } from "../domain/meter.ts";
import type { Check, WorkerPool } from "../domain/readiness.ts";
import type { SlotCounts } from "../domain/status.ts";
import { NO_TRACER, type Tracer } from "../domain/tracer.ts";
import type { Languages } from "../languages/load.ts";
import type { Slot } from "../sandbox/slot.ts";
import type { Store } from "../store/store.ts";
import { ClaimLoop, type ClaimLoopOptions } from "./claim-loop.ts";
import { type ActiveRun, Leases } from "./leases.ts";
import { preparations } from "./preparations.ts";
import { ProofSchedule } from "./proof-schedule.ts";
import { Runner, runsOf } from "./runner.ts";
import { Runtimes } from "./runtimes.ts";
import { hasNetwork, type NetworkRuns } from "./sandboxes/network-runs.ts";
import { SelfTest } from "./self-test.ts";
import { Slots } from "./slots.ts";

export interface WorkerOptions {
  readonly store: Store;
  /** The conversations of this process, which the service shares if it is in this process; otherwise, they go through the database. */
  readonly conversations?: Conversations;
  readonly languages: Languages;
  /** What judges the outcomes of submissions that came through other services' APIs (src/compat/apis.ts). */
  readonly foreignApis: ForeignApis;
  readonly launcherSocket: string;
  /** How many submissions may run at the same time. The launcher needs at least one more slot, for proofs. */
  readonly workers: number;
  readonly leaseMs: number;
  /** Time for running submissions to finish after `stop`. */
  readonly drainMs: number;
  readonly log: Logger;
  readonly meter?: Meter;
  readonly tracer?: Tracer;
  /** Memory for compiled programs of earlier submissions; 0: none. */
  readonly artifactBytes?: number;
  /** Memory for runtimes that wait for submissions; 0: none. */
  readonly parkBytes?: number;
  /** How many submissions the worker claims ahead, and how long they may wait, if not the default. */
  readonly ahead?: ClaimLoopOptions["ahead"];
  /** Pause between two smoke tests while the worker runs, if not the default. */
  readonly proveNextMs?: number;
}

/** Up to this peak of memory, the box of an ended program is removed so quickly that the next program may already start. */
const QUICKLY_REMOVED_BYTES = 64 * 1_048_576;

/** While this many claimed runs wait for each slot, no slot runs out of work before the next runs are claimed. */
const LEAST_HELD = 2;

/** How many outcomes may wait for the database even in a small worker. Each has at most 2 MiB of output. */
const LEAST_ENDED = 32;

/**
 * The number of additional slots, in which runtimes can wait while submissions run. Set-up gives the launcher the same number of them
 * (slots_for in setup/instance.sh).
 */
function waitingSlots(workers: number): number {
  return Math.min(workers + 4, 64);
}

/** Claims submissions and runs them, one at a time on each slot. */
export class Worker implements WorkerPool {
  /** Identifies the worker in its leases. */
  readonly id = randomUUID();
  readonly #options: WorkerOptions;
  readonly #slots: Slots;
  readonly #runtimes: Runtimes;
  readonly #wanted: number;
  readonly #selfTest: SelfTest;
  readonly #proofs: ProofSchedule;
  readonly #leases: Leases;
  readonly #runner: Runner;
  readonly #claims: ClaimLoop;
  readonly #stopping = new AbortController();
  /** What runs submissions with a network; null if this machine gives programs none. */
  #networks: NetworkRuns | null = null;
  /** Outcomes that may wait for the database. If more of them wait, fewer runs start. */
  readonly #mostEnded: number;
  /** Resolves when the languages are proven and the slots are open; also if the worker could not start or was stopped before. */
  readonly begun: Promise<void>;

  private constructor(options: WorkerOptions) {
    const {
      store,
      languages,
      foreignApis,
      launcherSocket,
      leaseMs,
      log,
      meter = NO_METER,
      tracer = NO_TRACER,
    } = options;
    this.#options = options;
    const { workers, parkBytes = 0 } = options;
    this.#wanted = workers + (parkBytes > 0 ? waitingSlots(workers) : 0);
    const runtimes = new Runtimes(preparations(languages), parkBytes);
    this.#runtimes = runtimes;
    this.#mostEnded = Math.max(workers, LEAST_ENDED);
    const running = () => Math.max(this.#leases.running, this.#leases.ended - this.#mostEnded);
    const onFree = () => this.#claims.wake();
    this.#slots = new Slots({ socketPath: launcherSocket, log, meter, runtimes, running, most: workers, onFree });
    const onProof = ({ ok, detail, fault }: Check) => {
      meter.count("proofs", { result: ok ? "ok" : "failed" });
      if (!ok) log.error({ detail: fault ?? detail }, "not ready");
    };
    this.#selfTest = new SelfTest(launcherSocket, languages, onProof, workers);
    this.#proofs = new ProofSchedule(this.#selfTest, log, options.proveNextMs);
    this.#leases = new Leases({ store, leaseMs, log, meter });
    const { artifactBytes = 0, conversations = new Conversations({ store, log, inProcess: false }) } = options;
    this.#runner = new Runner({
      store,
      conversations,
      languages,
      foreignApis,
      workerId: this.id,
      leaseMs,
      log,
      meter,
      tracer,
      artifactBytes,
      givesNetworks: () => this.#networks !== null,
      stopping: this.#stopping.signal,
    });
    this.#claims = new ClaimLoop({
      store,
      workerId: this.id,
      leaseMs,
      log,
      slots: this.#slots,
      leases: this.#leases,
      workers,
      ahead: options.ahead,
      givesNetworks: () => this.#networks !== null,
      choose: (claim, slots) => runtimes.take(slots, this.#runner.kindOf(claim), claim.submission.accountId),
      serve: (run, slot) => void this.#serve(run, slot),
    });
    this.begun = this.#begin();
  }

  /** Starts in the background: proves the languages, then claims work. */
  static start(options: WorkerOptions): Worker {
    return new Worker(options);
  }

  /** From now on, the worker also claims submissions with a network. */
  runNetworks(networks: NetworkRuns): void {
    this.#networks = networks;
    this.#claims.wake();
  }

  capacity(): number {
    return Math.min(this.#slots.alive, this.#options.workers);
  }

  slots(): SlotCounts {
    const { amount: waiting, bytes } = this.#runtimes;
    const runtimes = { waiting, bytes, budgetBytes: this.#options.parkBytes ?? 0 };
    return { wanted: this.#wanted, alive: this.#slots.alive, busy: this.#slots.busy, runtimes };
  }

  languages(): readonly string[] {
    return this.#selfTest.working();
  }

  readiness() {
    return this.#selfTest.readiness();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    const claimed = this.#claims.stop();
    this.#proofs.stop();
    await claimed;
    await this.#leases.idle(this.#options.drainMs);
    const released = this.#leases.release();
    // The runs are abandoned, but not yet released: a slot closed now does not count as lost.
    this.#slots.close();
    await released;
  }

  async #begin(): Promise<void> {
    const { store, log } = this.#options;
    try {
      if (!(await this.#proofs.first())) return;
      log.info({ languages: this.languages() }, "languages proven");
      // If only one process can use the database, all leases are those of dead processes, and need not expire first.
      await this.#leases.sweep(!store.manyProcesses);
      await this.#slots.open(this.#wanted, this.#selfTest.takeHelpers());
      this.#proofs.start();
    } catch (error) {
      log.error({ err: error }, "the worker could not start");
    }
  }

  async #serve(run: ActiveRun, slot: Slot): Promise<void> {
    run.slot = slot;
    const { claim } = run;
    if (!hasNetwork(claim)) return await this.#runOn(slot, run, null);
    // While it waits, it counts as running, so that an account without room gets no more slots than with programs that sleep.
    run.waiting = true;
    const networks = this.#networks;
    const over = AbortSignal.any([run.abandoning.signal, this.#stopping.signal]);
    const release = await networks?.place(claim, over);
    if (networks && release) {
      run.waiting = false;
      return await this.#runOn(slot, run, networks).finally(release);
    }
    run.slot = null; // it is given back, or has been cancelled
    this.#slots.give(slot);
    if (run.abandoned) this.#leases.drop(run);
    else await this.#leases.giveBack(run);
    this.#claims.advance();
  }

  /** @param networks runs a submission with a network, while the slot stays idle. */
  async #runOn(slot: Slot, run: ActiveRun, networks: NetworkRuns | null): Promise<void> {
    slot.onEnded(({ memoryPeakBytes, processes }) => {
      // A checker, a run of the grader for another group, or another run of the submission, may follow in this slot.
      const { test, grading } = run.claim;
      const continues = test?.checker.type === "program" || grading != null || runsOf(run.claim) > 1;
      run.removingBox = !continues && processes === 0 && memoryPeakBytes < QUICKLY_REMOVED_BYTES;
      this.#claims.advance();
    });
    const startedMs = performance.now();
    const free = () => {
      this.#claims.ran(performance.now() - startedMs);
      this.#slots.give(slot, run.claim.submission.accountId, run.comparing);
      this.#claims.advance();
    };
    const result = await this.#runner.run(
      run,
      slot,
      () => {
        run.comparing = true;
        free();
      },
      networks,
    );
    if (!run.comparing) free();
    // While many runs are held, the end of a run may wait for the ends of others, which are stored together. No slot waits meanwhile.
    const mayWait = run.claim.test !== null && this.#claims.held > LEAST_HELD * this.#options.workers;
    // Storing the result wakes the loop, so that the next claim can share the transaction.
    const stored = await this.#runner.store(run, result, { mayWait });
    this.#leases.drop(run);
    if (!stored || this.#leases.ended >= this.#mostEnded) this.#claims.wake();
  }
}
