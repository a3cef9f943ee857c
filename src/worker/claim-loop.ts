import type { Logger } from "pino";
import type { Slot } from "../sandbox/slot.ts";
import type { Store } from "../store/store.ts";
import type { Claim } from "../store/submissions/types.ts";
import type { ActiveRun, Leases } from "./leases.ts";
import type { Ahead } from "./prefetch.ts";
import type { Slots } from "./slots.ts";

export interface ClaimLoopOptions {
  readonly store: Store;
  readonly workerId: string;
  readonly leaseMs: number;
  readonly slots: Slots;
  readonly leases: Leases;
  readonly ahead: Pick<Ahead, "amount" | "holdMs" | "pause">;
  /** Chooses one of the slots for the claim, and removes it from the list. */
  readonly choose: (claim: Claim, slots: Slot[]) => Slot | undefined;
  readonly log: Logger;
  /** Runs a claimed submission on the slot. When it returns, `run.slot` is set, but the submission has not ended. */
  readonly serve: (run: ActiveRun, slot: Slot) => void;
}

/** Pause before a failed claim is tried again. The notification that caused the claim does not come again. */
const RETRY_MS = 1_000;
/** How many accounts have a known turn: more than can have claimed submissions in this worker at once. */
const MOST_TURNS = 4_096;

/**
 * How many outputs of one account may wait for their comparison without a slot. While an account has this many, no submission of it
 * starts. Otherwise, outputs would fill the memory of the worker, because a comparison can take much longer than a run.
 */
const MOST_COMPARING = 4;

/**
 * How many boxes of cancelled runs of one account may still have to be removed. While an account has this many, no submission of it
 * starts: a cancelled run no longer counts for the concurrency of its key, so that one key could otherwise occupy all slots with programs
 * that end late.
 */
const MOST_ENDING = 4;

/**
 * Claims submissions for free slots, and some more in advance. Notifications of the store and slots that become free wake it; it does
 * not poll.
 */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions;
  readonly #unsubscribe: () => void;
  /** Runs that have not started, in the order in which they were claimed. */
  #held: ActiveRun[] = [];
  /** The number of the last service of each account that was recently served. */
  readonly #turns = new Map<string, number>();
  #turn = 0;
  #claiming: Promise<void> | null = null;
  #again = false;
  #retry: NodeJS.Timeout | undefined;
  #late: NodeJS.Timeout | undefined;
  #stopping = false;

  constructor(options: ClaimLoopOptions) {
    this.#options = options;
    this.#unsubscribe = options.store.onWork(() => this.wake());
  }

  /** Starts a claim. If one is under way, another one follows it. */
  wake(): void {
    this.#again = true;
    this.#claiming ??= this.#claimAll().finally(() => {
      this.#claiming = null;
      if (this.#again && !this.#stopping) this.wake(); // woken after the last check in the loop
    });
  }

  /** Starts claimed submissions on free slots. */
  startHeld(): void {
    if (this.#stopping) return;
    const { slots, leases, choose, serve } = this.#options;
    for (let next = this.#next(); next; next = this.#next()) {
      const { claim, abandoned } = next;
      const isFree = slots.capacity > 0 && slots.freeCount > 0;
      const slot = isFree && !abandoned ? slots.take((free) => choose(claim, free)) : undefined;
      if (!slot && !abandoned) return;
      this.#held.splice(this.#held.indexOf(next), 1);
      if (slot) {
        serve(next, slot);
        this.#served(claim.submission.accountId);
      } else leases.drop(next);
    }
    // Submissions of barred accounts are still held. #limitHold gives them back after `holdMs`.
    if (this.#held.length > 0) return;
    clearTimeout(this.#late);
    this.#late = undefined;
  }

  /**
   * The run to start next, or an abandoned run to drop. It is a run of the account with the fewest runs in this worker, and of several,
   * of the account that was served least recently; of the runs of one account, it is the one that was claimed first. Runs that were
   * claimed in advance for one account therefore delay no account whose runs were claimed later. Barred accounts are left out.
   */
  #next(): ActiveRun | undefined {
    const running = this.#options.leases.byAccount();
    const barred = this.#barred();
    const rank = ({ claim: { submission } }: ActiveRun) =>
      [running.get(submission.accountId) ?? 0, this.#turns.get(submission.accountId) ?? 0] as const;
    let first: ActiveRun | undefined;
    let [least, earliest] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (const run of this.#held) {
      if (run.abandoned) return run;
      if (barred.includes(run.claim.submission.accountId)) continue;
      const [amount, turn] = rank(run);
      if (amount > least || (amount === least && turn >= earliest)) continue;
      [first, least, earliest] = [run, amount, turn];
    }
    return first;
  }

  /** Accounts of which no submission starts, because many of their outputs wait for a comparison, or many of their boxes for the end. */
  #barred(): readonly string[] {
    const { leases, slots } = this.#options;
    return [...leases.comparing(MOST_COMPARING), ...slots.endingOf(MOST_ENDING)];
  }

  #served(accountId: string): void {
    this.#turns.delete(accountId); // the map keeps the order of its entries
    this.#turns.set(accountId, ++this.#turn);
    if (this.#turns.size <= MOST_TURNS) return;
    const [oldest] = this.#turns.keys();
    if (oldest !== undefined) this.#turns.delete(oldest);
  }

  /** Number of claimed submissions that wait for a slot. */
  get held(): number {
    return this.#held.length;
  }

  /**
   * Claims nothing more. Resolves when the claim under way has ended and the claimed submissions that have not started were given back.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#unsubscribe();
    clearTimeout(this.#retry);
    await this.#claiming;
    await this.#giveBack();
  }

  async #claimAll(): Promise<void> {
    const { store, workerId, leaseMs, leases, log } = this.#options;
    while (this.#again && !this.#stopping) {
      this.#again = false;
      this.startHeld();
      const { startable, more } = this.#wanted();
      if (startable + more === 0) return;
      let claims: Claim[] = [];
      try {
        claims = await store.submissions.claim(workerId, leaseMs, startable, more, this.#barred());
      } catch (error) {
        log.error({ err: error }, "claim failed");
        clearTimeout(this.#retry);
        if (!this.#stopping) this.#retry = setTimeout(() => this.wake(), RETRY_MS);
      }
      this.#held.push(...claims.map((claim) => leases.hold(claim)));
      this.startHeld();
      this.#limitHold();
    }
  }

  /**
   * How many submissions to claim: `startable` for free slots, and `more` in advance. Those in advance are claimed several at a time,
   * because a claim of many costs about as much as a claim of one.
   */
  #wanted(): { readonly startable: number; readonly more: number } {
    const { slots, ahead } = this.#options;
    const startable = Math.max(Math.min(slots.capacity, slots.freeCount), 0);
    const missing = slots.alive > 0 ? Math.max(ahead.amount - this.#held.length, 0) : 0;
    return { startable, more: startable > 0 || missing > ahead.amount / 2 ? missing : 0 };
  }

  /**
   * Gives back all held submissions when the oldest one has waited for `holdMs`: another worker may have a free slot for them.
   */
  #limitHold(): void {
    const [oldest] = this.#held;
    if (!oldest || this.#late) return;
    const { ahead } = this.#options;
    const leftMs = Math.max(oldest.heldSinceMs + ahead.holdMs - performance.now(), 0);
    this.#late = setTimeout(() => {
      this.#late = undefined;
      if (this.#held[0] !== oldest) return this.#limitHold();
      ahead.pause();
      void this.#giveBack();
    }, leftMs);
  }

  async #giveBack(): Promise<void> {
    clearTimeout(this.#late);
    this.#late = undefined;
    const given = this.#held;
    this.#held = [];
    // In the reverse order of the claims: the key and the account of the first claim then get the earliest turn again.
    await Promise.all(given.reverse().map((run) => this.#options.leases.giveBack(run)));
  }
}
