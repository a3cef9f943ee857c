import type { Logger } from "pino";
import type { Slot } from "../sandbox/slot.ts";
import type { Store } from "../store/store.ts";
import type { Claim } from "../store/submissions/types.ts";
import type { ActiveRun, Leases } from "./leases.ts";
import { type HeldSubmission, HOLD_MS, nextAction, RECENT_RUNS, type ScheduleState } from "./schedule.ts";
import type { Slots } from "./slots.ts";

export interface ClaimLoopOptions {
  readonly store: Store;
  readonly workerId: string;
  readonly leaseMs: number;
  /** How many submissions may run at the same time. */
  readonly workers: number;
  readonly slots: Slots;
  readonly leases: Leases;
  /** Decides how many submissions are claimed ahead, and how long they may wait, if not the default. */
  readonly ahead?: { readonly amount: number; readonly holdMs: number } | undefined;
  /** Whether submissions with a network are claimed as well. */
  readonly givesNetworks: () => boolean;
  /** Chooses one of the slots for the claim, and removes it from the list. */
  readonly choose: (claim: Claim, slots: Slot[]) => Slot | undefined;
  readonly log: Logger;
  /** Runs a claimed submission on the slot. When it returns, `run.slot` is set, but the submission has not ended. */
  readonly serve: (run: ActiveRun, slot: Slot) => void;
}

/** Pause before a failed claim is tried again. The notification that caused the claim does not come again. */
const RETRY_MS = 1_000;
/** How many accounts have a known service: more than can have claimed submissions in this worker at once. */
const MOST_SERVICES = 4_096;

interface Held extends HeldSubmission {
  readonly run: ActiveRun;
}

/**
 * Carries out the schedule of a worker (schedule.ts): claims submissions and starts them on slots. Notifications of the store, slots that
 * become free and the times of the schedule wake it; it does not poll.
 */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions;
  readonly #unsubscribe: () => void;
  /** Runs that have not started, in the order in which they were claimed. */
  #held: ActiveRun[] = [];
  readonly #services = new Map<string, number>();
  #service = 0;
  #recentMs: readonly number[] = [];
  #hasGivenBack = false;
  #maySubmissionsWait = false;
  #claiming: Promise<void> | null = null;
  #retry: NodeJS.Timeout | undefined;
  #alarm: { readonly timer: NodeJS.Timeout; readonly untilMs: number } | null = null;
  #isStopping = false;

  constructor(options: ClaimLoopOptions) {
    this.#options = options;
    this.#unsubscribe = options.store.onWork(() => this.wake());
  }

  /** Goes on with the schedule when submissions may be pending. If a claim is under way, another one follows it. */
  wake(): void {
    this.#maySubmissionsWait = true;
    this.advance();
  }

  /** Goes on with the schedule when a slot can run another submission, or a run has changed. */
  advance(): void {
    while (!this.#isStopping) {
      const action = nextAction(this.#state());
      if (action.kind === "start" && !this.#start(action.held.run)) return;
      else if (action.kind === "drop") this.#drop(action.held.run);
      else if (action.kind === "claim") this.#claim(action);
      else if (action.kind === "giveBack") {
        this.#hasGivenBack = true;
        void this.#giveBack();
      } else if (action.kind === "wait") {
        if (!this.#claiming) this.#maySubmissionsWait = false;
        this.#wakeAt(action.untilMs);
        return;
      }
    }
  }

  /** Records how long a run has occupied its slot. */
  ran(ms: number): void {
    this.#hasGivenBack = false;
    this.#recentMs = [...this.#recentMs.slice(1 - RECENT_RUNS), ms];
  }

  /** Number of claimed submissions that wait for a slot. */
  get held(): number {
    return this.#held.length;
  }

  /**
   * Claims nothing more. Resolves when the claim under way has ended and the claimed submissions that have not started were given back.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#unsubscribe();
    clearTimeout(this.#retry);
    this.#wakeAt(null);
    await this.#claiming;
    await this.#giveBack();
  }

  #state(): ScheduleState<Held> {
    const { workers, slots, leases, ahead } = this.#options;
    return {
      nowMs: performance.now(),
      workers,
      slots: { headroom: slots.headroom, free: slots.freeCount, alive: slots.alive },
      held: this.#held.map((run) => ({
        run,
        accountId: run.claim.submission.accountId,
        claimedMs: run.heldSinceMs,
        isAbandoned: run.abandoned,
      })),
      running: leases.runningByAccount(),
      comparing: leases.comparingByAccount(),
      ending: slots.endingByAccount(),
      services: this.#services,
      recentMs: this.#recentMs,
      holdMs: ahead?.holdMs ?? HOLD_MS,
      ahead: ahead?.amount ?? null,
      hasGivenBack: this.#hasGivenBack,
      mayClaim: this.#maySubmissionsWait && !this.#claiming,
    };
  }

  /** @returns false if the slot that was free is lost; its replacement wakes the loop. */
  #start(run: ActiveRun): boolean {
    const { slots, choose, serve } = this.#options;
    const slot = slots.take((free) => choose(run.claim, free));
    if (!slot) return false;
    this.#held.splice(this.#held.indexOf(run), 1);
    serve(run, slot);
    const { accountId } = run.claim.submission;
    this.#services.delete(accountId); // the map keeps the order of its entries
    this.#services.set(accountId, ++this.#service);
    const [oldest] = this.#services.keys();
    if (this.#services.size > MOST_SERVICES && oldest !== undefined) this.#services.delete(oldest);
    return true;
  }

  #drop(run: ActiveRun): void {
    this.#held.splice(this.#held.indexOf(run), 1);
    this.#options.leases.drop(run);
  }

  #claim({ startable, ahead, barred }: { startable: number; ahead: number; barred: readonly string[] }): void {
    const { store, workerId, leaseMs, leases, givesNetworks, log } = this.#options;
    this.#maySubmissionsWait = false;
    const claiming = async () => {
      try {
        const claims = await store.submissions.claim(workerId, leaseMs, startable, ahead, barred, givesNetworks());
        this.#held.push(...claims.map((claim) => leases.hold(claim)));
      } catch (error) {
        log.error({ err: error }, "claim failed");
        clearTimeout(this.#retry);
        if (!this.#isStopping) this.#retry = setTimeout(() => this.wake(), RETRY_MS);
      }
    };
    this.#claiming = claiming().finally(() => {
      this.#claiming = null;
      this.advance();
    });
  }

  /** Goes on with the schedule at this time; null: at no time. */
  #wakeAt(untilMs: number | null): void {
    if (this.#alarm?.untilMs === untilMs) return;
    if (this.#alarm) clearTimeout(this.#alarm.timer);
    this.#alarm = null;
    if (untilMs === null) return;
    const timer = setTimeout(
      () => {
        this.#alarm = null;
        this.advance();
      },
      Math.max(untilMs - performance.now(), 0),
    );
    this.#alarm = { timer, untilMs };
  }

  async #giveBack(): Promise<void> {
    const given = this.#held;
    this.#held = [];
    // In the reverse order of the claims: the key and the account of the first claim then get the earliest turn again.
    await Promise.all(given.reverse().map((run) => this.#options.leases.giveBack(run)));
  }
}
