import type { Logger } from "pino";
import type { Meter } from "../domain/meter.ts";
import type { Submission } from "../domain/submission.ts";
import type { Slot } from "../sandbox/slot.ts";
import type { Store } from "../store/store.ts";
import type { Claim } from "../store/submissions/types.ts";

export interface LeasesOptions {
  readonly store: Store;
  readonly leaseMs: number;
  readonly log: Logger;
  readonly meter: Meter;
}

/** A run of a submission that this worker has claimed. */
export interface ActiveRun {
  readonly claim: Claim;
  /** Null until the run starts. */
  slot: Slot | null;
  /** When the submission was claimed, by the monotonic clock. */
  readonly heldSinceMs: number;
  /**
   * Renewals of the lease since the store last responded. They are counted instead of timed, because a process that was paused has sent
   * no renewals in that time.
   */
  unanswered: number;
  /** Set when this worker gives up the run: it no longer decides the state of the submission. */
  abandoned: boolean;
  /** Set while a submission with a network waits for room for its sandbox. It has a slot, and nothing of it has run. */
  waiting: boolean;
  /** Set while only the removal of the box is left to do on the slot, so that another program can start on another slot. */
  removingBox: boolean;
  /** Set when only a comparison of the output is left. The slot may then run another submission. */
  comparing: boolean;
  /**
   * Set at the end of the run. The slot may then run another submission. If the lease is missing, storing the outcome has ended it, so
   * it does not count as lost.
   */
  ended: boolean;
  /** Aborted when `abandoned` is set. */
  readonly abandoning: AbortController;
  /** Ends the subscription by which the run learns that its submission has ended. */
  forget: () => void;
}

/**
 * Renewals and sweeps in the duration of a lease. Two renewals in a row may fail. When three have had no response and the next one is
 * due, the lease has expired.
 */
const RENEWALS_PER_LEASE = 3;

const isRunning = ({ slot, removingBox, comparing, ended }: ActiveRun) =>
  slot !== null && !removingBox && !comparing && !ended;
const isComparing = ({ comparing, ended }: ActiveRun) => comparing && !ended;

/** Holds the leases of active runs, and ends expired leases of other workers. */
export class Leases {
  readonly #options: LeasesOptions;
  readonly #active = new Set<ActiveRun>();
  readonly #timers: readonly NodeJS.Timeout[];
  #onIdle: () => void = () => {};

  constructor(options: LeasesOptions) {
    this.#options = options;
    this.#timers = [
      setInterval(() => this.#renewAll(), options.leaseMs / RENEWALS_PER_LEASE),
      setInterval(() => void this.sweep(), options.leaseMs / RENEWALS_PER_LEASE),
    ];
  }

  /** Number of runs that occupy a slot, without those whose box is only being removed. */
  get running(): number {
    return [...this.#active].filter(isRunning).length;
  }

  /** For each account, the number of its runs that are running or whose output is compared. Accounts without any are absent. */
  runningByAccount(): ReadonlyMap<string, number> {
    return this.#count((run) => isRunning(run) || isComparing(run));
  }

  /** For each account, the number of its outputs that are being compared or wait for their comparison. Accounts without any are absent. */
  comparingByAccount(): ReadonlyMap<string, number> {
    return this.#count(isComparing);
  }

  #count(counts: (run: ActiveRun) => boolean): ReadonlyMap<string, number> {
    const amounts = new Map<string, number>();
    for (const run of this.#active) {
      const { accountId } = run.claim.submission;
      if (counts(run)) amounts.set(accountId, (amounts.get(accountId) ?? 0) + 1);
    }
    return amounts;
  }

  /** Number of ended runs whose outcomes are not stored yet. */
  get ended(): number {
    return [...this.#active].filter(({ ended }) => ended).length;
  }

  /** Begins to renew the lease of a claim, until `drop`. */
  hold(claim: Claim): ActiveRun {
    const run: ActiveRun = {
      claim,
      slot: null,
      heldSinceMs: performance.now(),
      unanswered: 0,
      abandoned: false,
      waiting: false,
      removingBox: false,
      comparing: false,
      ended: false,
      abandoning: new AbortController(),
      forget: () => {},
    };
    // A request may cancel the submission.
    run.forget = this.#options.store.submissions.onEnd(claim.submission.id, () => void this.#check(run));
    this.#active.add(run);
    return run;
  }

  drop(run: ActiveRun): void {
    run.forget();
    this.#active.delete(run);
    if (this.#active.size === 0) this.#onIdle();
  }

  /** Resolves when no run is active, or after `withinMs`. */
  async idle(withinMs: number): Promise<void> {
    if (this.#active.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#onIdle = () => {
        clearTimeout(timer); // it would keep the process alive
        resolve();
      };
    });
  }

  /** Releases the submission of a run that has not started. */
  async giveBack(run: ActiveRun): Promise<void> {
    await this.#release(run);
    this.drop(run);
  }

  /** Stops renewing, and abandons all active runs immediately. Resolves when the store has been asked to release their submissions. */
  async release(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all([...this.#active].map((run) => this.#release(run)));
  }

  /** Requeues or fails submissions whose lease has expired. @param all whether to include valid leases. */
  async sweep(all = false): Promise<void> {
    const { store, leaseMs, log, meter } = this.#options;
    try {
      const { requeued, failed } = await (all ? store.submissions.sweepAll() : store.submissions.sweep(leaseMs));
      meter.count("leasesExpired", { became: "pending" }, requeued.length);
      meter.count("leasesExpired", { became: "error" }, failed.length);
      if (requeued.length + failed.length > 0) log.warn({ requeued, failed }, "leases expired");
    } catch (error) {
      log.error({ err: error }, "sweep failed");
    }
  }

  #renewAll(): void {
    for (const run of this.#active) void this.#renew(run);
  }

  /** Renews a lease. If the store has not responded for a whole lease, the run is stopped: another worker may run the submission. */
  async #renew(run: ActiveRun): Promise<void> {
    const { store, leaseMs, log } = this.#options;
    if (run.ended || run.abandoned) return;
    if (run.unanswered === RENEWALS_PER_LEASE) {
      log.error(logFields(run.claim), "the lease expired; the run is stopped");
      return this.#lose(run);
    }
    run.unanswered++;
    try {
      const held = await store.submissions.renew(run.claim.lease, leaseMs);
      run.unanswered = 0;
      if (!held) await this.#ceded(run);
    } catch (error) {
      log.error({ err: error, ...logFields(run.claim) }, "the lease could not be renewed");
    }
  }

  /**
   * Checks the lease after a notification that the submission may have ended. The notification may be spurious. While the store is
   * unavailable, the run continues.
   */
  async #check(run: ActiveRun): Promise<void> {
    const { store, leaseMs } = this.#options;
    if (run.ended || run.abandoned) return;
    const held = await store.submissions.renew(run.claim.lease, leaseMs).catch(() => true);
    if (!held) await this.#ceded(run);
  }

  /** Stops a run whose lease is no longer valid. It does not count as a lost lease if a request has ended the submission. */
  async #ceded(run: ActiveRun): Promise<void> {
    if (run.ended || run.abandoned) return;
    abandon(run);
    const { store, log, meter } = this.#options;
    const { id, accountId } = run.claim.submission;
    const found = await store.submissions.get(id, accountId).catch(() => null);
    if (found !== null && isUnwanted(found)) return;
    log.warn(logFields(run.claim), "the lease was lost; the run is stopped");
    meter.count("leasesLost", {});
  }

  #lose(run: ActiveRun): void {
    abandon(run);
    this.#options.meter.count("leasesLost", {});
  }

  async #release(run: ActiveRun): Promise<void> {
    const { store, log, meter } = this.#options;
    abandon(run);
    try {
      if (!(await store.submissions.release(run.claim.lease, run.slot !== null && !run.waiting))) return;
      meter.count("givenBack", {});
      log.info(logFields(run.claim), "released");
    } catch (error) {
      log.error({ err: error, ...logFields(run.claim) }, "the submission could not be released");
    }
  }
}

/** Whether nobody needs the result: the submission was cancelled or deleted, or its judgement does not need it any more. */
function isUnwanted(found: Submission | undefined): boolean {
  return found === undefined || found.outcome?.result.cause === "cancelled";
}

/** Ends the run without deciding the state of its submission. */
function abandon(run: ActiveRun): void {
  run.abandoned = true;
  run.abandoning.abort();
  if (!run.comparing && !run.ended) run.slot?.cancel(); // otherwise, the slot may already run another submission
}

/** Fields of every log line about a run. */
export function logFields({ submission }: Claim): { submission: string; key: string } {
  return { submission: submission.id, key: submission.keyId };
}
