import type { Logger } from "pino";
import type { Meter } from "../domain/meter.ts";
import { Slot } from "../sandbox/slot.ts";
import type { Runtimes } from "./runtimes.ts";

/** Pause before a lost slot is replaced, and the longest pause between two attempts. */
const RETRY_MS = 1_000;
/** Pause before a slot that this process has closed is replaced. It doubles with each failed attempt. */
const FIRST_RETRY_MS = 4;
/** After this time without a running submission, the worker is idle, and runtimes whose start is costly may start. */
const IDLE_MS = 300;
/** Time between two checks whether memory is scarce. */
const CHECK_MS = 5_000;

export interface SlotsOptions {
  readonly socketPath: string;
  readonly log: Logger;
  readonly meter: Meter;
  readonly runtimes: Runtimes;
  /** The number of submissions that count as running: also ended ones, as far as too many of them wait for the database. */
  readonly running: () => number;
  /** How many submissions may run at the same time. */
  readonly most: number;
  /** Called when a slot can be taken. */
  readonly onFree: () => void;
}

/**
 * Keeps a number of launcher slots open and replaces lost ones. If runtimes may wait, there are more slots than submissions that may
 * run: runtimes wait in the others.
 */
export class Slots {
  readonly #options: SlotsOptions;
  readonly #free: Slot[] = [];
  readonly #all = new Set<Slot>();
  /** Cancelled slots whose boxes have not been removed yet, with the account of the run. Their programs may still use CPU time and memory. */
  readonly #ending = new Map<Slot, string | null>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #check: NodeJS.Timeout;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: SlotsOptions) {
    this.#options = options;
    this.#check = setInterval(() => void this.#endRuntimes(), CHECK_MS).unref();
  }

  /**
   * Opens slots. Resolves when the first attempt for each slot has succeeded or failed. Failed attempts are repeated in the background.
   * @param opened slots that are already open; they are the first of the `count` slots.
   */
  async open(count: number, opened: readonly Slot[] = []): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, n) => this.#openOne(opened[n])));
  }

  /** Number of slots that are alive, idle or busy. */
  get alive(): number {
    return [...this.#all].filter((slot) => slot.alive).length;
  }

  /** How many submissions may run in addition to those that are running. */
  get headroom(): number {
    return this.#options.most - this.busy;
  }

  /** Submissions that run, and cancelled ones whose boxes are still being removed. */
  get busy(): number {
    return this.#options.running() + this.#ending.size;
  }

  /** Number of slots that can be taken. */
  get freeCount(): number {
    return this.#free.filter((slot) => slot.alive).length;
  }

  /** Takes a free slot. @param choose chooses one of the list and removes it from the list. */
  take(choose: (free: Slot[]) => Slot | undefined): Slot | undefined {
    for (const slot of this.#free.filter(({ alive }) => !alive)) {
      this.#free.splice(this.#free.indexOf(slot), 1);
      this.#replace(slot);
    }
    return choose(this.#free);
  }

  /**
   * Gives a taken slot back; a lost one is replaced.
   * @param accountId the account of the run; null if there was none. @param notifies whether to call `onFree`.
   */
  give(slot: Slot, accountId: string | null = null, notifies = true): void {
    if (this.#closed) {
      slot.close();
    } else if (slot.alive) {
      this.#free.push(slot);
      if (notifies) this.#options.onFree();
      this.#startRuntime();
    } else {
      this.#replace(slot, accountId);
    }
  }

  /** For each account, the number of its cancelled runs whose boxes have not been removed yet. Accounts without any are absent. */
  endingByAccount(): ReadonlyMap<string, number> {
    const amounts = new Map<string, number>();
    for (const accountId of this.#ending.values())
      if (accountId !== null) amounts.set(accountId, (amounts.get(accountId) ?? 0) + 1);
    return amounts;
  }

  /** Closes all slots and kills their programs. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#check);
    clearTimeout(this.#idle);
    for (const timer of this.#timers) clearTimeout(timer);
    for (const slot of [...this.#all, ...this.#ending.keys()]) slot.close();
  }

  /**
   * Starts the next runtimes, unless this would take CPU time from a running submission, or the slot of one that may start.
   * @param idle whether the worker has been idle for a while.
   */
  #startRuntime(idle = false): void {
    const { runtimes, most } = this.#options;
    clearTimeout(this.#idle);
    if (this.#closed) return;
    this.#idle = setTimeout(() => this.busy === 0 && this.#startRuntime(true), IDLE_MS).unref();
    while (this.busy + runtimes.starting < most && this.#free.length > this.headroom) {
      const next = runtimes.next(this.#free, idle);
      if (!next) return;
      this.#free.splice(this.#free.indexOf(next.slot), 1);
      void runtimes.start(next.slot, next.preparation).then(() => this.#putBack(next.slot));
    }
  }

  /** Puts back a slot without a call of `onFree`: enough other slots stayed free, so no submission waits for this one. */
  #putBack(slot: Slot): void {
    if (this.#closed || !slot.alive) {
      this.give(slot);
    } else {
      this.#free.push(slot);
      this.#startRuntime();
    }
  }

  /** Ends waiting runtimes while memory is scarce. */
  async #endRuntimes(): Promise<void> {
    while (!this.#closed) {
      const slot = this.#options.runtimes.toEnd(this.#free);
      if (!slot) return;
      this.#free.splice(this.#free.indexOf(slot), 1);
      await this.#options.runtimes.end(slot);
      this.#putBack(slot);
    }
  }

  /**
   * Replaces a slot. One whose run was cancelled is replaced when its box has been removed. Until then it counts as busy: otherwise an
   * account could start and cancel programs that end late, and have more of them on the CPUs than submissions may run.
   */
  #replace(slot: Slot, accountId: string | null = null): void {
    this.#options.runtimes.lost(slot);
    this.#all.delete(slot);
    if (!slot.isClosed) {
      this.#later(RETRY_MS);
      return;
    }
    this.#ending.set(slot, accountId);
    void slot.gone.then(() => {
      this.#ending.delete(slot);
      this.#later(FIRST_RETRY_MS);
      if (!this.#closed) this.#options.onFree();
    });
  }

  #later(delayMs: number): void {
    if (this.#closed) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.#openOne(undefined, delayMs);
    }, delayMs);
    this.#timers.add(timer);
  }

  /** @param waitedMs the pause before this attempt. */
  async #openOne(opened?: Slot, waitedMs = RETRY_MS): Promise<void> {
    try {
      const slot = opened ?? (await Slot.open(this.#options.socketPath));
      this.#options.meter.count("slotsOpened", {});
      this.#all.add(slot);
      slot.onLost(() => this.#lost(slot));
      this.give(slot);
    } catch (error) {
      // Right after a slot was closed, the launcher may have no other slot until it has removed the box. That is no failure.
      if (waitedMs >= RETRY_MS) {
        this.#options.meter.count("slotFailures", {});
        this.#options.log.warn({ err: error }, "no slot; trying again");
      }
      this.#later(Math.min(2 * waitedMs, RETRY_MS));
    }
  }

  /** Replaces a slot that is lost while it is free. A slot in use is replaced when it is given back. */
  #lost(slot: Slot): void {
    if (this.#closed || slot.isClosed) return;
    this.#options.meter.count("slotsLost", {});
    const at = this.#free.indexOf(slot);
    if (at < 0) return;
    this.#free.splice(at, 1);
    this.#replace(slot);
  }
}
