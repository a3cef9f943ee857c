import { clientError, type ErrorCode } from "../domain/error.ts";
import { Budget, type BudgetLimits, type Release } from "./budget.ts";

/*
 * A turn: who is served next. `nextQueue` decides it for work in the store, which all processes share. `Turns` decides it for
 * queues in this process, on which `WorkTurns` and `EventLoopTurns` build.
 */

/** An owner of queues, as the store counts it over all processes. */
export interface QueueOwner {
  readonly id: string;
  /** Increases with each service: the owner with the lowest turn was served least recently. */
  readonly turn: number;
  /** What is in progress for it. */
  underWay: number;
}

/** A queue, such as that of a key or of a webhook endpoint. */
export interface OwnedQueue {
  /** What is in progress from this queue. */
  underWay: number;
  /** The same object for all queues of the owner. */
  readonly owner: QueueOwner;
}

/**
 * Chooses the queue whose turn it is: of the owner with the fewest under way, then of the least recently served one; within the
 * owner, the queue with the fewest under way, then the first by `order`. An owner with nothing under way is next, regardless of
 * the queues of others, and more queues do not give an owner more turns.
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
  /** What it cost to serve the owner. */
  cost: number;
}

/**
 * Queues of owners within a process, which take turns: next is the owner whose service has cost least, including what its next item
 * is expected to cost, and of several, the one served least recently. Without costs, this is one item of each owner in a circle.
 *
 * An owner that comes anew begins with an equal share of what the service has cost so far, as if it had been served like the
 * others, but with no more than an owner that waits: short work comes before long work that has waited for its turn. An owner whose
 * service has cost more than that does not become a new one by waiting for nothing.
 */
export class Turns<Item> {
  /** In the order of service, the least recently served first. Owners that would begin anew anyway are absent. */
  readonly #owners = new Map<string, Entry<Item>>();
  /** What the service would have cost of each owner that wants to be served, had all been served alike since nobody waited. */
  #share = 0;

  /** @param expected what serving the item costs at least, in the unit of `charge`. */
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
   * @param mayServe whether an owner may be served now; the others keep their turns.
   * @returns undefined if there is none.
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

  /** Adds what it cost to serve an owner, in any unit. */
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

  /** Bounds the memory: an owner that waits for nothing, and whose service has cost no more than that of a new one, is like it. */
  #forgetIfNew(owner: string, { items, cost }: Entry<Item>): void {
    if (items.length === 0 && (cost === 0 || cost <= this.#costOfNew())) this.#owners.delete(owner);
  }
}

/** Owners that wait for nothing, but whose costs are remembered: it bounds the time of a turn and the memory. */
const MOST_IDLE = 1_000;

export interface WorkLimits {
  /** Work in progress, of all owners together and of each; unlimited by default. */
  readonly atOnce?: Pick<BudgetLimits, "total" | "perOwner">;
  /** Work of one owner that may wait for its turn, and the error of more; unlimited by default. */
  readonly queue?: { readonly perOwner: number; readonly full: ErrorCode };
}

/** How work waits for its turn. */
interface Waiting {
  /** What the work takes at least, as far as it is known. */
  readonly expectedMs?: number;
  /** Aborted when the work is no longer needed. */
  readonly signal?: AbortSignal;
}

/**
 * Limits work that needs a core, much memory or the database. Work beyond the budget waits in a queue of its owner. Next is an owner
 * with nothing in progress, and of several, the one whose work has taken least time. So an owner with a full queue delays another one
 * by at most the work that is in progress, and so do several owners that send work again and again. Owners that have begun to wait
 * earlier, and have not been served since, come first, unless their work is expected to take longer.
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
   * Runs `work` when it is the owner's turn, in order of arrival.
   * @throws ClientError when the owner's queue is full; the reason of the signal if it ends the waiting.
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
 * Shares the event loop: runs one piece of work in each iteration, so that other events are served in between. Owners take
 * turns, so that an owner with a hundred responses does not slow down an owner with one.
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
