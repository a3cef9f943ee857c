/** How long `takeInTime` waits, unless the budget says otherwise. */
const WAIT_MS = 5_000;

export interface BudgetLimits {
  /** What all owners together may hold; unlimited by default. */
  readonly total?: number;
  /**
   * What one owner may hold: an amount, or `shared` for the rule of `leavesAsMuch`. By default, only the total limits it.
   */
  readonly perOwner?: number | "shared";
  /**
   * What an owner may hold even if the total is exceeded. An owner that needs little can then work whatever others hold. 0 by default.
   */
  readonly inAnyCase?: number;
  /** Whether an owner that holds nothing may take all that is free, also if it would be more than `shared` permits. */
  readonly firstIfFree?: boolean;
  /** How long `takeInTime` waits; five seconds by default. */
  readonly waitMs?: number;
}

/** Gives back what was taken. A second call has no effect. */
export type Release = () => void;

interface WaitingOwner {
  readonly owner: string;
  readonly amount: number;
  /** Ends the wait. @param isTaken whether the amount is now taken. */
  readonly settle: (isTaken: boolean) => void;
}

/**
 * The rule of a shared budget: an owner may hold at most as much as stays free. The first owner can therefore hold one half of the budget,
 * and an owner that comes when one half is free can hold a quarter. Owners never use up the budget: if n owners hold equal parts, each
 * can hold 1/(n + 1).
 * @param held what the owner holds already. @param free what nobody holds, before the amount is taken.
 */
export function leavesAsMuch(held: number, amount: number, free: number): boolean {
  return held + amount <= free - amount;
}

/**
 * A budget limits how much of a resource each owner may hold, such as bytes of memory, connections, streams or work in progress. Owners
 * are accounts, persons or addresses.
 */
export class Budget {
  readonly #total: number;
  readonly #perOwner: number | "shared";
  readonly #inAnyCase: number;
  readonly #firstIfFree: boolean;
  readonly #waitMs: number;
  readonly #byOwner = new Map<string, number>();
  readonly #waiting = new Set<WaitingOwner>();
  #held = 0;

  constructor({
    total = Number.POSITIVE_INFINITY,
    perOwner = total,
    inAnyCase = 0,
    firstIfFree = false,
    waitMs = WAIT_MS,
  }: BudgetLimits) {
    this.#total = total;
    this.#perOwner = perOwner;
    this.#inAnyCase = inAnyCase;
    this.#firstIfFree = firstIfFree;
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
   * @param returned an amount that another owner would give back first.
   */
  fits(owner: string, amount: number, returned = 0): boolean {
    const free = this.#total - this.#held + returned;
    const held = this.heldBy(owner);
    if (held + amount <= this.#inAnyCase) return true;
    if (this.#firstIfFree && held === 0 && amount <= free) return true;
    if (this.#perOwner === "shared") return leavesAsMuch(held, amount, free);
    return amount <= free && held + amount <= this.#perOwner;
  }

  /** Takes the amount now. @returns undefined if it does not fit. */
  take(owner: string, amount: number): Release | undefined {
    if (!this.fits(owner, amount)) return undefined;
    this.#add(owner, amount);
    return this.#releaseOf(owner, amount);
  }

  /** Takes the amount, also if it does not fit: the owner has it already. */
  hold(owner: string, amount: number): Release {
    this.#add(owner, amount);
    return this.#releaseOf(owner, amount);
  }

  /**
   * Takes the amount as soon as it fits.
   * @param signal aborted when the amount is no longer needed.
   * @returns undefined if the amount did not fit in time.
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

  /** Gives what is free to waiting owners: first to those that hold least, and among equals to the one that has waited longest. */
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
    if (signal.aborted) return false; // its event will not come again
    return await new Promise((resolve) => {
      const settle = (isTaken: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
        this.#waiting.delete(waiting);
        // The amount must be taken before the next waiting owner is checked.
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
