import { clientError, type ErrorCode } from "../domain/error.ts";
import { Budget, type BudgetLimits, type Release } from "./budget.ts";

/*
 * A turn decides which owner is served next: `nextQueue` for work in the store, which all processes share, and `Turns` for queues in this
 * process. `WorkTurns` and `EventLoopTurns` are based on `Turns`.
 */

/** An owner of queues, as the store counts it over all processes. */
export interface QueueOwner {
  readonly id: string;
  /** A number that becomes the highest one when the owner is served: the owner with the lowest number was served least recently. */
  readonly turn: number;
  /** How many pieces of work are in progress for the owner. */
  underWay: number;
}

/** A queue, such as that of a key or of a webhook endpoint. */
export interface OwnedQueue {
  /** How many pieces of work are in progress from this queue. */
  underWay: number;
  /** The owner. All queues of an owner have the same object. */
  readonly owner: QueueOwner;
}

/**
 * Chooses the queue whose turn it is. It belongs to the owner with the least work in progress, and of several, to the one that was served
 * least recently. Of the queues of this owner, it is the one with the least work in progress, and of several, the first by `order`. An
 * owner without work in progress is therefore next, however long the queues of others are, and more queues do not give an owner more turns.
 * @returns undefined if there is no queue.
 */
export function nextQueue<One extends OwnedQueue>(
  queues: Iterable<One>,
  order: (a: One, b: One) => number,
): One | undefined {
  let next: One | undefined;
  for (const queue of queues) {
    if (!next || (compareTurns(queue, next) || order(queue, next)) < 0) next = queue;
  }
  return next;
}

function compareTurns(a: OwnedQueue, b: OwnedQueue): number {
  return a.owner.underWay - b.owner.underWay || a.owner.turn - b.owner.turn || a.underWay - b.underWay;
}

interface Entry<Item> {
  readonly items: { readonly item: Item; readonly expected: number }[];
  /** What it has cost to serve the owner so far. */
  cost: number;
}

/**
 * Queues of owners within a process, which take turns. Next is the owner whose service has cost least, including what its next item is
 * expected to cost, and of several, the one that was served least recently. Without costs, this is round robin.
 *
 * A new owner begins with the cost that each waiting owner would have if all had been served equally, but with no more cost than the
 * waiting owner with the least. Its short work can therefore come before long work that has waited for longer. An owner whose service has
 * cost more than a new owner would begin with keeps its cost while its queue is empty.
 */
export class Turns<Item> {
  /** The owners, the least recently served one first. Owners that do not differ from new ones are absent. */
  readonly #owners = new Map<string, Entry<Item>>();
  /** What the service of each waiting owner would have cost if all had been served equally since the last time that nobody waited. */
  #share = 0;

  /** Adds an item to the queue of the owner. @param expected what serving the item will cost at least, in the unit of `charge`. */
  add(owner: string, item: Item, expected = 0): void {
    const entry = this.#owners.get(owner) ?? { items: [], cost: 0 };
    if (entry.items.length === 0) {
      entry.cost = Math.max(entry.cost, this.#costOfNew());
      this.#moveToEnd(owner, entry);
    }
    entry.items.push({ item, expected });
  }

  /** Removes an item that is no longer needed. */
  remove(owner: string, item: Item): void {
    const entry = this.#owners.get(owner);
    const at = entry?.items.findIndex((one) => one.item === item) ?? -1;
    if (!entry || at < 0) return;
    entry.items.splice(at, 1);
    this.#forgetIfNew(owner, entry);
  }

  /** The number of items of an owner that wait. */
  waiting(owner: string): number {
    return this.#owners.get(owner)?.items.length ?? 0;
  }

  /**
   * Removes and returns the item whose turn it is.
   * @param mayServe whether an owner may be served now. Owners that may not keep their turns.
   * @returns undefined if no item waits, or no owner of a waiting item may be served.
   */
  take(mayServe: (owner: string) => boolean = () => true): Item | undefined {
    let [next, least, isAnyWaiting] = [undefined as string | undefined, Number.POSITIVE_INFINITY, false];
    const costOfNew = this.#costOfNew();
    let idle = 0;
    for (const [owner, entry] of this.#owners) {
      const [first] = entry.items;
      if (!first) {
        if (entry.cost <= costOfNew || ++idle > MOST_IDLE) this.#owners.delete(owner);
      } else {
        isAnyWaiting = true;
        const cost = entry.cost + first.expected;
        if (cost < least && mayServe(owner)) [next, least] = [owner, cost];
        if (least === 0 && this.#share === 0) break; // none has less, and there is nothing to forget
      }
    }
    if (!isAnyWaiting) {
      this.#owners.clear();
      this.#share = 0;
    }
    const entry = next === undefined ? undefined : this.#owners.get(next);
    if (next === undefined || !entry) return undefined;
    const served = entry.items.shift();
    this.#moveToEnd(next, entry);
    this.#forgetIfNew(next, entry);
    return served?.item;
  }

  /** Adds what it has cost to serve an owner, in any unit. */
  charge(owner: string, cost: number): void {
    const entry = this.#owners.get(owner) ?? { items: [], cost: this.#costOfNew() };
    const waiting = [...this.#owners.values()].filter((one) => one.items.length > 0 && one !== entry).length;
    this.#share += cost / (waiting + 1);
    entry.cost += cost;
    this.#owners.set(owner, entry);
  }

  #costOfNew(): number {
    let least = this.#share;
    if (least === 0) return 0;
    for (const { items, cost } of this.#owners.values()) if (items.length > 0 && cost < least) least = cost;
    return least;
  }

  #moveToEnd(owner: string, entry: Entry<Item>): void {
    this.#owners.delete(owner);
    this.#owners.set(owner, entry);
  }

  /** Forgets an owner whose queue is empty and whose cost is no higher than that of a new owner. This bounds the memory. */
  #forgetIfNew(owner: string, { items, cost }: Entry<Item>): void {
    if (items.length === 0 && (cost === 0 || cost <= this.#costOfNew())) this.#owners.delete(owner);
  }
}

/** The most owners whose cost is kept while their queue is empty. This bounds the memory, and the time to find the next owner. */
const MOST_IDLE = 1_000;

export interface WorkLimits {
  /** How much work may be in progress, of all owners together and of each owner; unlimited by default. */
  readonly atOnce?: Pick<BudgetLimits, "total" | "perOwner">;
  /** How much work of one owner may wait for its turn, and the error for further work; unlimited by default. */
  readonly queue?: { readonly perOwner: number; readonly full: ErrorCode };
}

/** How work waits for its turn. */
interface Waiting {
  /** How long the work takes at least, as far as that is known; 0 by default. */
  readonly expectedMs?: number;
  /** Aborted when the work is no longer needed. */
  readonly signal?: AbortSignal;
}

/**
 * Limits work that needs a core, much memory or the database. Work beyond the budget waits in the queue of its owner. Owners without work
 * in progress come first; among them, the owner whose work has taken the least time (`Turns`). An owner with a full queue therefore
 * delays an owner that sends little work by at most the work that is in progress. Owners that began to wait earlier come before it,
 * unless their work is expected to take longer.
 */
export class WorkTurns {
  readonly #inProgress: Budget;
  readonly #turns = new Turns<() => void>();
  readonly #queue: WorkLimits["queue"];
  readonly #now: () => number;

  /** @param now milliseconds on a monotonic clock. */
  constructor({ atOnce = {}, queue }: WorkLimits, now: () => number = () => performance.now()) {
    this.#inProgress = new Budget(atOnce);
    this.#queue = queue;
    this.#now = now;
  }

  /**
   * Runs `work` when it is the owner's turn. The work of one owner runs in the order of these calls.
   * @throws ClientError if the queue of the owner is full; the reason of the signal if it ends the waiting.
   */
  async run<T>(owner: string, work: () => Promise<T>, waiting: Waiting = {}): Promise<T> {
    const release = this.#inProgress.take(owner, 1) ?? (await this.#turn(owner, waiting));
    const began = this.#now();
    try {
      return await work();
    } finally {
      release();
      this.#turns.charge(owner, this.#now() - began);
      this.#next()?.();
    }
  }

  #next(): (() => void) | undefined {
    const fits = (owner: string) => this.#inProgress.fits(owner, 1);
    return this.#turns.take((owner) => this.#inProgress.heldBy(owner) === 0 && fits(owner)) ?? this.#turns.take(fits);
  }

  #turn(owner: string, { expectedMs = 0, signal }: Waiting): Promise<Release> {
    if (this.#queue && this.#turns.waiting(owner) >= this.#queue.perOwner) {
      throw clientError(this.#queue.full, [], { headers: { "retry-after": "2" } });
    }
    return new Promise((resolve, reject) => {
      const abandon = () => {
        this.#turns.remove(owner, begin);
        reject(signal?.reason);
      };
      const begin = () => {
        signal?.removeEventListener("abort", abandon);
        const release = this.#inProgress.take(owner, 1);
        if (release) resolve(release);
        else reject(new Error("it was the turn of an owner that may have no more"));
      };
      this.#turns.add(owner, begin, expectedMs);
      if (signal?.aborted) abandon();
      else signal?.addEventListener("abort", abandon, { once: true });
    });
  }
}

/**
 * Shares the event loop: permits one piece of work in each iteration of the loop, so that other events are handled in between. Owners take
 * turns, so that an owner with a hundred responses does not slow down an owner with one response.
 */
export class EventLoopTurns {
  readonly #turns = new Turns<() => void>();
  #isRunning = false;

  /** Resolves when the caller may do one piece of work. */
  turn(owner: string): Promise<void> {
    return new Promise((resolve) => {
      this.#turns.add(owner, resolve);
      if (this.#isRunning) return;
      this.#isRunning = true;
      setImmediate(() => this.#next());
    });
  }

  #next(): void {
    const begin = this.#turns.take();
    if (!begin) {
      this.#isRunning = false;
      return;
    }
    setImmediate(() => this.#next());
    begin();
  }
}
