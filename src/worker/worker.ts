import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { type Meter, NO_METER, secondsSince } from "../domain/meter.ts";
import { internalError, type Outcome } from "../domain/outcome.ts";
import type { Check, Engine } from "../domain/readiness.ts";
import type { StepReports } from "../domain/report.ts";
import type { SlotCounts } from "../domain/status.ts";
import { NO_TRACER, type Tracer } from "../domain/tracer.ts";
import type { Languages } from "../languages/load.ts";
import type { Slot } from "../sandbox/slot.ts";
import { StoreUnavailable } from "../store/errors.ts";
import type { Claim, Store } from "../store/port.ts";
import { conclude } from "../verdict/conclude.ts";
import { course } from "./course.ts";
import { countLeftovers } from "./leftovers.ts";
import { LiveOutput } from "./live.ts";
import { type Plan, plan } from "./plan.ts";
import { Prover } from "./readiness.ts";
import { run } from "./run.ts";
import { Slots } from "./slots.ts";

export interface WorkerOptions {
  readonly store: Store;
  readonly languages: Languages;
  readonly launcherSocket: string;
  /** Submissions that run at once; the launcher needs one slot more, for proofs. */
  readonly workers: number;
  readonly leaseMs: number;
  /** How long running submissions may go on once stopping. */
  readonly drainMs: number;
  readonly log: Logger;
  /** Told of every run. */
  readonly meter?: Meter;
  readonly tracer?: Tracer;
  /** Between two languages that are tried again while the worker runs, where that is not the usual time. */
  readonly proveNextMs?: number;
}

/** Renewals, and looks at those of others, within one lease: two may fail. Where so many were not answered, it is over. */
const LOOKS_PER_LEASE = 3;

const FINISH_AGAIN_MS = 250;

/** Nobody says again what a claim that failed did not get to see. */
const CLAIM_AGAIN_MS = 1_000;

/** A launcher that is restarted meanwhile must not cost languages; one whose hello loses its slot each time must not cost all. */
const ROUNDS_OF_PROOF = 3;
/** Between the tries to prove what such a launcher left unproven, once there is work to do meanwhile. */
const PROVE_REST_MS = 10_000;
/** Eight languages, one after another: each once in a quarter of an hour, for half a percent of a core. */
const PROVE_NEXT_MS = 120_000;

/** A submission that runs here. */
interface Active {
  readonly claim: Claim;
  readonly slot: Slot;
  /** Renewals since one was answered. Counted, because a process that was stopped for a while has missed none. */
  unanswered: number;
  /** Set when the slot was closed on purpose and somebody else decides what becomes of the submission. */
  abandoned: boolean;
  /** Set when the run is over: from then on the slot may be another submission's, and a lease that is gone is finished. */
  ended: boolean;
}

/**
 * Claims submissions and runs them: one at a time on each slot. Woken by the store and by
 * slots that become free; it never polls for work.
 */
export class Worker implements Engine {
  readonly #options: WorkerOptions;
  readonly #meter: Meter;
  readonly #tracer: Tracer;
  /** Who holds its leases. */
  readonly id = randomUUID();
  readonly #slots: Slots;
  readonly #prover: Prover;
  readonly #active = new Set<Active>();
  readonly #unsubscribe: () => void;
  readonly #timers: readonly NodeJS.Timeout[];
  #claiming: Promise<void> | null = null;
  #claimAgain = false;
  #later: NodeJS.Timeout | undefined;
  #provingRest: NodeJS.Timeout | undefined;
  #provingNext: NodeJS.Timeout | undefined;
  #stopping = false;
  #onIdle: () => void = () => {};
  /** Resolves once the languages are proven and the slots are open. */
  readonly begun: Promise<void>;

  private constructor(options: WorkerOptions) {
    this.#options = options;
    this.#meter = options.meter ?? NO_METER;
    this.#tracer = options.tracer ?? NO_TRACER;
    this.#slots = new Slots(options.launcherSocket, options.log, this.#meter, () => this.#wake());
    this.#prover = new Prover(options.launcherSocket, options.languages, ({ ok, detail, fault }) => {
      this.#meter.count("proofs", { result: ok ? "ok" : "failed" });
      if (!ok) options.log.error({ detail: fault ?? detail }, "not ready");
    });
    this.#unsubscribe = options.store.onWork(() => this.#wake());
    this.#timers = [
      setInterval(() => this.#renewAll(), options.leaseMs / LOOKS_PER_LEASE),
      setInterval(() => void this.#sweep(), options.leaseMs / LOOKS_PER_LEASE),
    ];
    this.begun = this.#begin();
  }

  /** Starts in the background: languages are proven first, then work is taken. */
  static start(options: WorkerOptions): Worker {
    return new Worker(options);
  }

  workers(): number {
    return Math.min(this.#slots.alive, this.#options.workers);
  }

  slots(): SlotCounts {
    return { wanted: this.#options.workers, alive: this.#slots.alive, busy: this.#active.size };
  }

  languages(): readonly string[] {
    return this.#prover.working();
  }

  readiness() {
    return this.#prover.readiness();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#unsubscribe();
    clearTimeout(this.#later);
    clearTimeout(this.#provingRest);
    clearTimeout(this.#provingNext);
    this.#prover.close();
    await this.#claiming;
    if (this.#active.size > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.#options.drainMs);
        this.#onIdle = () => {
          clearTimeout(timer); // or it would keep the process
          resolve();
        };
      });
    }
    for (const timer of this.#timers) clearInterval(timer);
    const givenBack = [...this.#active].map((active) => this.#giveBack(active));
    // Before they are stored: a slot that is closed on purpose meanwhile is not a slot that was lost.
    this.#slots.close();
    await Promise.all(givenBack);
  }

  async #begin(): Promise<void> {
    const { store, log, workers } = this.#options;
    try {
      for (let round = 1; !this.#stopping; round++) {
        const checks = await this.#prover.proveAll();
        this.#tellMissing(checks);
        const again = this.#prover.interrupted && round < ROUNDS_OF_PROOF;
        if (checks.some(({ ok }) => ok) && !again) break;
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
      if (this.#stopping) return;
      log.info({ languages: this.languages() }, "languages proven");
      // Where there is one process, whoever held a lease is dead: nobody has to wait until it runs out.
      await this.#sweep(!store.manyProcesses);
      await this.#slots.open(workers);
      this.#proveRestLater();
      this.#proveNextLater();
    } catch (error) {
      log.error({ err: error }, "the worker could not start");
    }
  }

  #tellMissing(checks: readonly Check[]): void {
    for (const { name, ok, detail, fault } of checks)
      if (!ok) this.#options.log.error({ language: name, detail: fault ?? detail }, "not offered");
  }

  /** A language that was not tried to the end is missing only until it can be. */
  #proveRestLater(): void {
    if (this.#stopping || !this.#prover.interrupted) return;
    this.#provingRest = setTimeout(async () => {
      this.#tellMissing(await this.#prover.proveRest());
      this.#proveRestLater();
    }, PROVE_REST_MS);
  }

  /** Long ago is no proof: each language is tried again in its turn, however long the service runs. */
  #proveNextLater(): void {
    if (this.#stopping) return;
    this.#provingNext = setTimeout(async () => {
      const changed = await this.#prover.proveNext();
      if (changed?.ok) this.#options.log.info({ language: changed.name }, "offered again");
      else if (changed) this.#tellMissing([changed]);
      this.#proveNextLater();
    }, this.#options.proveNextMs ?? PROVE_NEXT_MS);
  }

  /** At most one claim at a time; what woke us meanwhile is looked at after it. */
  #wake(): void {
    this.#claimAgain = true;
    this.#claiming ??= this.#claimAll().finally(() => {
      this.#claiming = null;
      if (this.#claimAgain && !this.#stopping) this.#wake(); // it came between the last look and here
    });
  }

  async #claimAll(): Promise<void> {
    while (this.#claimAgain && !this.#stopping) {
      this.#claimAgain = false;
      const slots = this.#takeSlots();
      if (slots.length === 0) return;
      let claims: Claim[] = [];
      try {
        claims = await this.#options.store.submissions.claim(this.id, this.#options.leaseMs, slots.length);
      } catch (error) {
        this.#options.log.error({ err: error }, "claim failed");
        clearTimeout(this.#later);
        if (!this.#stopping) this.#later = setTimeout(() => this.#wake(), CLAIM_AGAIN_MS);
      }
      for (const slot of slots) {
        const claim = claims.shift();
        if (claim) void this.#serve({ claim, slot, unanswered: 0, abandoned: false, ended: false });
        else this.#putBack(slot);
      }
    }
  }

  #takeSlots(): Slot[] {
    const slots: Slot[] = [];
    for (let slot = this.#slots.take(); slot; slot = this.#slots.take()) slots.push(slot);
    return slots;
  }

  /** Unlike a slot that ran something, one that found no work is no reason to look again. */
  #putBack(slot: Slot): void {
    const again = this.#claimAgain;
    this.#slots.give(slot);
    this.#claimAgain = again;
  }

  async #serve(active: Active): Promise<void> {
    const { claim, slot } = active;
    this.#active.add(active);
    const { language, profile, createdAtMs, startedAtMs } = claim.submission;
    const [started, startMs] = [performance.now(), Date.now()];
    this.#meter.time("waited", { language, profile }, Math.max((startedAtMs ?? 0) - createdAtMs, 0) / 1000);
    try {
      const outcome = await this.#outcome(claim, slot);
      active.ended = true;
      this.#meter.time("ran", { language, profile }, secondsSince(started));
      const ran = { outcome, workerId: this.id, attempt: claim.lease.attempt, startMs, endMs: Date.now() };
      this.#tracer.ran(claim.submission, ran);
      if (!active.abandoned) await this.#end(claim, outcome);
    } catch (error) {
      // The lease runs out by itself, and the sweep decides what becomes of it.
      this.#options.log.error({ err: error, ...about(claim) }, "the result could not be stored");
    } finally {
      this.#active.delete(active);
      this.#slots.give(slot);
      if (this.#active.size === 0) this.#onIdle();
    }
  }

  /**
   * A result is not thrown away because the database restarts: while the lease may still be ours,
   * it is offered again. Should it be ours no more by then, nothing is changed.
   */
  async #end(claim: Claim, outcome: Outcome): Promise<void> {
    const giveUpAt = performance.now() + this.#options.leaseMs;
    for (;;) {
      try {
        await this.#endOnce(claim, outcome);
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || performance.now() > giveUpAt) throw error;
        await new Promise((resolve) => setTimeout(resolve, FINISH_AGAIN_MS));
      }
    }
  }

  /** An internal error is ours and says nothing about the program: while there are attempts, it is run again. */
  async #endOnce(claim: Claim, outcome: Outcome): Promise<void> {
    const { store, log } = this.#options;
    const { lease } = claim;
    const { language } = claim.submission;
    const { verdict } = outcome.judgement;
    if (outcome.status === "error" && (await store.submissions.repeat(lease))) {
      this.#meter.count("repeated", { language });
      log.warn({ ...about(claim), attempt: lease.attempt }, "the platform failed this run; it will be run again");
    } else if (await store.submissions.finish(lease, outcome)) {
      this.#meter.count("ended", { language, verdict });
      this.#tracer.ended(claim.submission, outcome, Date.now());
      log.info({ ...about(claim), language, verdict, attempt: lease.attempt }, "ended");
    }
  }

  /** The one place where a throw becomes an internal error of this submission. */
  async #outcome(claim: Claim, slot: Slot): Promise<Outcome> {
    const { languages, log } = this.#options;
    const { submission, program } = claim;
    try {
      const language = languages.resolve(submission.language);
      if (!language) return internalError(`the language ${submission.language} is not available any more`);
      const steps = plan(language, languages.limitsFor(language, submission.profile), program);
      const reports = await this.#run(claim, slot, steps);
      const outcome = conclude(reports);
      countLeftovers(outcome, this.#meter);
      if (outcome.status === "completed") return { ...outcome, course: course(reports, steps) };
      log.error({ ...about(claim), reason: outcome.judgement.errorMessage }, "IE");
      return outcome;
    } catch (error) {
      this.#meter.count("sandboxesLost", {});
      log.error({ err: error, ...about(claim) }, "the sandbox was lost");
      return internalError("the sandbox was lost before the run ended");
    }
  }

  async #run(claim: Claim, slot: Slot, steps: Plan): Promise<StepReports> {
    if (!claim.live) return await run(slot, steps);
    const live = new LiveOutput(this.#options.store, claim, this.#options.log);
    try {
      return await run(slot, steps, (stream, bytes) => live.push(stream, bytes));
    } finally {
      await live.stop();
    }
  }

  #renewAll(): void {
    for (const active of this.#active) void this.#renew(active);
  }

  /** What nobody could renew for a whole lease is somebody else's by now, or will be: it is not run here as well. */
  async #renew(active: Active): Promise<void> {
    const { store, leaseMs, log } = this.#options;
    if (active.ended || active.abandoned) return;
    if (active.unanswered === LOOKS_PER_LEASE) {
      log.error(about(active.claim), "the lease has run out; the run is given up");
      return this.#lose(active);
    }
    active.unanswered++;
    try {
      const held = await store.submissions.renew(active.claim.lease, leaseMs);
      active.unanswered = 0;
      if (held || active.ended) return;
      log.warn(about(active.claim), "the lease is another worker's; the run is ended");
      this.#lose(active);
    } catch (error) {
      log.error({ err: error, ...about(active.claim) }, "the lease could not be renewed");
    }
  }

  #lose(active: Active): void {
    abandon(active);
    this.#meter.count("leasesLost", {});
  }

  async #sweep(all = false): Promise<void> {
    const { store, leaseMs, log } = this.#options;
    try {
      const { requeued, failed } = await (all ? store.submissions.sweepAll() : store.submissions.sweep(leaseMs));
      this.#meter.count("leasesExpired", { became: "pending" }, requeued.length);
      this.#meter.count("leasesExpired", { became: "error" }, failed.length);
      if (requeued.length + failed.length > 0) log.warn({ requeued, failed }, "taken back from who held it");
    } catch (error) {
      log.error({ err: error }, "sweep failed");
    }
  }

  async #giveBack(active: Active): Promise<void> {
    abandon(active);
    try {
      if (!(await this.#options.store.submissions.release(active.claim.lease, true))) return;
      this.#meter.count("givenBack", {});
      this.#options.log.info(about(active.claim), "given back");
    } catch (error) {
      this.#options.log.error({ err: error, ...about(active.claim) }, "could not be given back");
    }
  }
}

/** Ends the run; what becomes of the submission is not for us to say any more. */
function abandon(active: Active): void {
  active.abandoned = true;
  active.slot.close();
}

/** What every line about a run carries. */
function about({ submission }: Claim): { submission: string; key: string } {
  return { submission: submission.id, key: submission.keyId };
}
