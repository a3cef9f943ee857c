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
  /** Takes the slot for a claim out of the list. */
  readonly choose: (claim: Claim, slots: Slot[]) => Slot | undefined;
  readonly log: Logger;
  /** Runs a claimed submission. Sets the slot of the run before it returns. */
  readonly serve: (run: ActiveRun, slot: Slot) => void;
}

/** A notification is not repeated, so a failed claim needs a retry of its own. */
const RETRY_MS = 1_000;
/** Accounts whose turns are known: more than can have claimed submissions at once. */
const MOST_TURNS = 4_096;

/**
 * Outputs of one account that may wait for their comparison without a slot. With more of them, its submissions wait in the queue:
 * otherwise their outputs would fill the memory of the worker, because comparisons can take much longer than runs.
 */
const MOST_COMPARING = 4;

/** Claims submissions for free slots, and some ahead. The store and free slots wake it; it never polls. */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions;
  readonly #unsubscribe: () => void;
  /** Claimed and not started, in the order of service. */
  #held: ActiveRun[] = [];
  /** When each account was last served, of the recent ones. */
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

  /** Starts a claim. During a claim, it causes one more claim after it. */
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
    // Submissions of barred accounts are still held, and are pending again when their time is over.
    if (this.#held.length > 0) return;
    clearTimeout(this.#late);
    this.#late = undefined;
  }

  /**
   * The next to start, or to drop: of the account with the fewest that run here, then of the one that was served least recently, in the
   * order of their claims. Runs that were claimed ahead for one account therefore delay no other account that comes after them. Accounts
   * that have enough outputs to compare are left out.
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

  #barred(): readonly string[] {
    return this.#options.leases.comparing(MOST_COMPARING);
  }

  #served(accountId: string): void {
    this.#turns.delete(accountId); // the map keeps the order of its entries
    this.#turns.set(accountId, ++this.#turn);
    if (this.#turns.size <= MOST_TURNS) return;
    const [oldest] = this.#turns.keys();
    if (oldest !== undefined) this.#turns.delete(oldest);
  }

  /** Claimed submissions that wait for a slot. */
  get held(): number {
    return this.#held.length;
  }

  /** Claims nothing more; resolves after the claim under way, when those that have not started are pending again. */
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

  /** Numbers of submissions to claim: several ahead at once, because a claim costs about the same for all of them. */
  #wanted(): { readonly startable: number; readonly more: number } {
    const { slots, ahead } = this.#options;
    const startable = Math.max(Math.min(slots.capacity, slots.freeCount), 0);
    const missing = slots.alive > 0 ? Math.max(ahead.amount - this.#held.length, 0) : 0;
    return { startable, more: startable > 0 || missing > ahead.amount / 2 ? missing : 0 };
  }

  /** Another worker may have a free slot for a submission that does not start here soon. */
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
    // The last one first: each is then the next to be served.
    await Promise.all(given.reverse().map((run) => this.#options.leases.giveBack(run)));
  }
}
