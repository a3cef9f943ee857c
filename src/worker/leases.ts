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

/** A submission that this worker has claimed. */
export interface ActiveRun {
  readonly claim: Claim;
  /** Null before it has started. */
  slot: Slot | null;
  /** A time of the monotonic clock. */
  readonly heldSinceMs: number;
  /** Renewals since the last response. Counted instead of timed, because a process that was paused has not missed any. */
  unanswered: number;
  /** Set when the slot is closed on purpose: this worker no longer decides the state of the submission. */
  abandoned: boolean;
  /** Set when only its box is left to remove, so that another program can start. */
  removingBox: boolean;
  /** Set when only a comparison of its output is left: the slot may then run another submission. */
  comparing: boolean;
  /** Set at the end of the run: the slot may then run another submission, and a missing lease is finished, not lost. */
  ended: boolean;
  /** Aborted with it. */
  readonly abandoning: AbortController;
  /** Ends the subscription to the end of the submission. */
  forget: () => void;
}

/**
 * Renewals and sweeps per lease. Two renewals in a row may fail. After this many without a
 * response, the lease has expired.
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

  /** Number of runs whose programs have started and not ended. */
  get running(): number {
    return [...this.#active].filter(isRunning).length;
  }

  /** Number of runs of each account that has one whose program runs, or whose output is compared. */
  byAccount(): ReadonlyMap<string, number> {
    return this.#count((run) => isRunning(run) || isComparing(run));
  }

  /** The accounts that have at least this number of outputs that are compared or wait for it. */
  comparing(least: number): readonly string[] {
    return [...this.#count(isComparing)].flatMap(([accountId, amount]) => (amount >= least ? accountId : []));
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

  /** Renews the lease of a claim until `drop`. */
  hold(claim: Claim): ActiveRun {
    const run: ActiveRun = {
      claim,
      slot: null,
      heldSinceMs: performance.now(),
      unanswered: 0,
      abandoned: false,
      removingBox: false,
      comparing: false,
      ended: false,
      abandoning: new AbortController(),
      forget: () => {},
    };
    // A request may cancel it.
    run.forget = this.#options.store.submissions.onEnd(claim.submission.id, () => void this.#check(run));
    this.#active.add(run);
    return run;
  }

  drop(run: ActiveRun): void {
    run.forget();
    this.#active.delete(run);
    if (this.#active.size === 0) this.#onIdle();
  }

  /** Resolves when no run is active, or after this time. */
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

  /** Stops renewing. Abandons all active runs at once; resolves when their submissions are released. */
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

  /** Stops a run that could not be renewed for a whole lease, because another worker may run the submission. */
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

  /** After a notification that the submission may have ended. The notification may be spurious, and the store unavailable. */
  async #check(run: ActiveRun): Promise<void> {
    const { store, leaseMs } = this.#options;
    if (run.ended || run.abandoned) return;
    const held = await store.submissions.renew(run.claim.lease, leaseMs).catch(() => true);
    if (!held) await this.#ceded(run);
  }

  /** Stops a run whose submission has another holder or has ended. If a client ended it, no lease was lost. */
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
      if (!(await store.submissions.release(run.claim.lease, run.slot !== null))) return;
      meter.count("givenBack", {});
      log.info(logFields(run.claim), "released");
    } catch (error) {
      log.error({ err: error, ...logFields(run.claim) }, "the submission could not be released");
    }
  }
}

/** Whether a client has ended the submission: it was cancelled, is no longer needed by its judgement, or was deleted. */
function isUnwanted(found: Submission | undefined): boolean {
  return found === undefined || found.outcome?.result.cause === "cancelled";
}

/** Ends the run without deciding the state of its submission. */
function abandon(run: ActiveRun): void {
  run.abandoned = true;
  run.abandoning.abort();
  if (!run.comparing && !run.ended) run.slot?.close(); // else it may serve another run
}

/** Fields of every log line about a run. */
export function logFields({ submission }: Claim): { submission: string; key: string } {
  return { submission: submission.id, key: submission.keyId };
}
