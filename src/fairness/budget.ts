/** How long `takeInTime` waits, unless the budget says otherwise. */
const WAIT_MS = 5_000;

export interface BudgetLimits {
  /** What all owners together may hold; unlimited by default. */
  readonly total?: number;
  /**
   * What one owner may hold: an amount, or `shared`, which follows `leavesAsMuch`. Unlimited by default.
   */
  readonly perOwner?: number | "shared";
  /** What an owner may hold in any case, besides the total: many owners together cannot keep another one from working with little. */
  readonly inAnyCase?: number;
  /** How long `takeInTime` waits. */
  readonly waitMs?: number;
}

/** Gives back what was taken. A second call has no effect. */
export type Release = () => void;

interface WaitingOwner {
  readonly owner: string;
  readonly amount: number;
  /** @param isTaken whether the amount is now taken; otherwise, the wait is over. */
  readonly settle: (isTaken: boolean) => void;
}

/**
 * The rule of a shared budget: an owner may hold as much as stays free for all others. A first owner gets one half at most, and one
 * that comes when half is free a quarter. Owners therefore never use up the budget, and n that hold equal parts get 1/(n + 1) each.
 * @param held what the owner holds already. @param free what nobody holds, before the amount is taken.
 */
export function leavesAsMuch(held: number, amount: number, free: number): boolean {
  return held + amount <= free - amount;
}

/**
 * A budget: who may hold how much of a resource, such as bytes of memory, connections, streams or work in progress. Owners are
 * accounts, persons or addresses.
 */
export class Budget {
  readonly #total: number;
  readonly #perOwner: number | "shared";
  readonly #inAnyCase: number;
  readonly #waitMs: number;
  readonly #byOwner = new Map<string, number>();
  readonly #waiting = new Set<WaitingOwner>();
  #held = 0;

  constructor({ total = Number.POSITIVE_INFINITY, perOwner = total, inAnyCase = 0, waitMs = WAIT_MS }: BudgetLimits) {
    this.#total = total;
    this.#perOwner = perOwner;
    this.#inAnyCase = inAnyCase;
    this.#waitMs = waitMs;
  }

  /** What all owners hold together. */
  get held(): number {
    return this.#held;
  }

  /** What the owner holds. */
  heldBy(owner: string): number {
    return this.#byOwner.get(owner) ?? 0;
  }

  /**
   * Whether the owner may take the amount now.
   * @param returned what another owner gives back for it.
   */
  fits(owner: string, amount: number, returned = 0): boolean {
    const free = this.#total - this.#held + returned;
    const held = this.heldBy(owner);
    if (held + amount <= this.#inAnyCase) return true;
    if (this.#perOwner === "shared") return leavesAsMuch(held, amount, free);
    return amount <= free && held + amount <= this.#perOwner;
  }

  /** Takes the amount now. @returns undefined if it does not fit. */
  take(owner: string, amount: number): Release | undefined {
    if (!this.fits(owner, amount)) return undefined;
    this.#add(owner, amount);
    return this.#releaseOf(owner, amount);
  }

  /**
   * Takes the amount as soon as it fits.
   * @param signal aborted when it is no longer needed.
   * @returns undefined if it did not fit in time.
   */
  async takeInTime(owner: string, amount: number, signal: AbortSignal): Promise<Release | undefined> {
    const release = this.take(owner, amount);
    if (release) return release;
    return (await this.#wait(owner, amount, signal)) ? this.#releaseOf(owner, amount) : undefined;
  }

  #releaseOf(owner: string, amount: number): Release {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#add(owner, -amount);
      this.#serveWaiting();
    };
  }

  /** Gives what is free to owners that wait: first to those that hold least, and of several, to the one that has waited longest. */
  #serveWaiting(): void {
    const inOrder = [...this.#waiting].sort((a, b) => this.heldBy(a.owner) - this.heldBy(b.owner));
    for (const waiting of inOrder) if (this.fits(waiting.owner, waiting.amount)) waiting.settle(true);
  }

  #add(owner: string, amount: number): void {
    this.#held += amount;
    const held = (this.#byOwner.get(owner) ?? 0) + amount;
    if (held > 0) this.#byOwner.set(owner, held);
    else this.#byOwner.delete(owner);
  }

  async #wait(owner: string, amount: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false; // the event has already fired
    return await new Promise((resolve) => {
      const settle = (isTaken: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
        this.#waiting.delete(waiting);
        // Before the next waiting owner is checked.
        if (isTaken) this.#add(owner, amount);
        resolve(isTaken);
      };
      const cancel = () => settle(false);
      const timer = setTimeout(cancel, this.#waitMs);
      const waiting = { owner, amount, settle };
      this.#waiting.add(waiting);
      signal.addEventListener("abort", cancel);
    });
  }
}
