import { openSync, readSync } from "node:fs";
import { totalmem } from "node:os";
import type { Slot } from "../sandbox/slot.ts";
import type { Preparation } from "./preparations.ts";
import { SubmissionMix } from "./submission-mix.ts";

/** The memory that is assumed for a runtime of a kind that has not been parked yet. */
const ASSUMED_BYTES = 64 * 1_048_576;
/**
 * Additional weight of each kind with the profile `judge`, except those for cached artifacts. While nothing else needs the slots, a
 * runtime of each of these kinds therefore waits, even if the kind was not submitted recently.
 */
const PRIOR_WEIGHT = 0.01;
/** Additional weight of the first runtime of a kind that was submitted recently. A burst of other kinds does not replace it. */
const FIRST_WEIGHT = 1_000_000;
/** A kind was submitted recently if its recency (SubmissionMix.recency) is above this value: in the last five and a half minutes. */
const LEAST_RECENCY = 2 * PRIOR_WEIGHT;
/** The most runtimes of a kind that wait, if their start is costly. */
const MOST_COSTLY = 2;
/** A waiting runtime is replaced if the value of the new one is more than this many times as high. */
const REPLACE_FACTOR = 2;
/** Pause after a failed start of a kind, so that a broken runtime does not use up the CPUs. */
const RETRY_MS = 60_000;
/** If less than this part of the machine's memory is available, no runtime waits. */
const LEAST_AVAILABLE = 0.1;
/** How long a reading of the available memory is used, because each reading takes 0.1 ms. */
const MEMORY_READING_MS = 200;

/**
 * Stands for all kinds that no runtime serves. Their submissions need slots without a runtime, which count like waiting runtimes of this
 * kind.
 */
const PLAIN = "plain";

interface WaitingRuntime {
  readonly kind: string;
  readonly bytes: number;
}

/**
 * Decides which runtimes wait in the free slots, within a budget of memory. First comes one runtime of each kind that was submitted
 * recently. The numbers of further runtimes follow the recent mix of submissions (SubmissionMix) by the D'Hondt method: the next runtime is of
 * the kind whose weight, divided by the number of runtimes that it would then have, is highest. Slots without a runtime count as a kind
 * in this division, because to end a waiting runtime would waste its start and cost a new box.
 */
export class Runtimes {
  readonly #preparations: ReadonlyMap<string, Preparation>;
  readonly #budgetBytes: number;
  readonly #mix = new SubmissionMix();
  readonly #waiting = new Map<Slot, WaitingRuntime>();
  /** Slots whose runtime is being started, with its kind. */
  readonly #starting = new Map<Slot, string>();
  readonly #sizes = new Map<string, number>();
  /** When each kind last failed to start. */
  readonly #failedAtMs = new Map<string, number>();
  #memory = { atMs: Number.NEGATIVE_INFINITY, scarce: false };

  /** @param budgetBytes 0: no runtime waits. */
  constructor(preparations: ReadonlyMap<string, Preparation>, budgetBytes: number) {
    this.#preparations = preparations;
    this.#budgetBytes = budgetBytes;
  }

  /** Memory that the waiting runtimes use. */
  get bytes(): number {
    return [...this.#waiting.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Number of waiting runtimes. */
  get amount(): number {
    return this.#waiting.size;
  }

  /** The kind of the runtime that waits in the slot. */
  kindOf(slot: Slot): string | undefined {
    return this.#waiting.get(slot)?.kind;
  }

  /** Number of slots in which runtimes are being started. */
  get starting(): number {
    return this.#starting.size;
  }

  /** Chooses the slot in which a submission starts soonest, and at the least cost for others. Removes the slot from the list. */
  take(slots: Slot[], kind: string, account: string): Slot | undefined {
    this.#mix.add(account, this.#preparations.has(kind) ? kind : PLAIN, Date.now());
    const worth = (slot: Slot) => {
      const waits = this.#waiting.get(slot)?.kind;
      if (waits === kind) return -1;
      return waits === undefined ? 0 : this.#weight(waits);
    };
    const [best] = [...slots].sort((a, b) => worth(a) - worth(b));
    if (!best) return undefined;
    slots.splice(slots.indexOf(best), 1);
    this.#waiting.delete(best);
    return best;
  }

  lost(slot: Slot): void {
    this.#waiting.delete(slot);
  }

  /** The most useful runtime to start, and a free slot for it. @param idle whether runtimes whose start is costly may start. */
  next(free: readonly Slot[], idle: boolean): { readonly slot: Slot; readonly preparation: Preparation } | undefined {
    if (this.#budgetBytes === 0 || this.#isScarce()) return undefined;
    const candidates = [...this.#preparations.values()].filter(
      ({ kind, costly }) => (idle || !costly) && Date.now() - (this.#failedAtMs.get(kind) ?? 0) > RETRY_MS,
    );
    const [best] = candidates.sort((a, b) => this.#value(b.kind) - this.#value(a.kind));
    if (!best || this.#value(best.kind) === 0) return undefined;
    const value = this.#value(best.kind);
    const fits = (freed: number) => this.bytes - freed + this.#size(best.kind) <= this.#budgetBytes;
    const plain = free.filter((slot) => !this.#waiting.has(slot));
    if (plain[0] && value > this.#valueOfNumber(PLAIN, plain.length) && fits(0))
      return { slot: plain[0], preparation: best };
    const [least] = free
      .filter((slot) => this.#waiting.has(slot))
      .sort((a, b) => this.#valueOfWaiting(a) - this.#valueOfWaiting(b));
    if (!least || value <= REPLACE_FACTOR * this.#valueOfWaiting(least)) return undefined;
    return fits(this.#waiting.get(least)?.bytes ?? 0) ? { slot: least, preparation: best } : undefined;
  }

  /** Starts the runtimes in a slot. Resolves when they wait or could not be started; the slot can then be used, unless it is lost. */
  async start(slot: Slot, { kind, steps }: Preparation): Promise<void> {
    this.#waiting.delete(slot);
    this.#starting.set(slot, kind);
    try {
      let bytes = 0;
      let waiting = false;
      for (const step of steps) {
        const parked = await slot.park(step);
        if (step.command.park && !parked.waiting) {
          this.#failedAtMs.set(kind, Date.now());
          return;
        }
        waiting ||= parked.waiting;
        bytes += parked.bytes;
      }
      if (!waiting) return;
      this.#sizes.set(kind, bytes);
      this.#waiting.set(slot, { kind, bytes });
    } catch {
      // The slot is lost. It is replaced like any other lost slot.
    } finally {
      this.#starting.delete(slot);
    }
  }

  /** A free slot whose runtime must end, because memory is scarce. */
  toEnd(free: readonly Slot[]): Slot | undefined {
    return this.#isScarce() ? free.find((slot) => this.#waiting.has(slot)) : undefined;
  }

  /** Ends the waiting runtimes of a slot, by parking the same steps without a runtime. */
  async end(slot: Slot): Promise<void> {
    const preparation = this.#preparations.get(this.#waiting.get(slot)?.kind ?? "");
    this.#waiting.delete(slot);
    for (const step of preparation?.steps ?? []) {
      await slot.park({ ...step, command: { ...step.command, park: undefined } }).catch(() => {});
    }
  }

  #weight(kind: string): number {
    const unused = kind.endsWith(" judge") ? PRIOR_WEIGHT : 0;
    return this.#mix.of(kind, Date.now()) + unused;
  }

  #value(kind: string): number {
    return this.#valueOfNumber(kind, this.#count(kind) + 1);
  }

  #valueOfWaiting(slot: Slot): number {
    const { kind } = this.#waiting.get(slot) as WaitingRuntime;
    return this.#valueOfNumber(kind, this.#count(kind));
  }

  /** The value of one more runtime of a kind. @param number how many of them wait with it. */
  #valueOfNumber(kind: string, number: number): number {
    if (number > MOST_COSTLY && this.#preparations.get(kind)?.costly) return 0;
    const isRecent = this.#mix.recency(kind, Date.now()) > LEAST_RECENCY;
    return this.#weight(kind) / number + (number === 1 && isRecent ? FIRST_WEIGHT : 0);
  }

  #count(kind: string): number {
    const waiting = [...this.#waiting.values()].filter((one) => one.kind === kind).length;
    return waiting + [...this.#starting.values()].filter((one) => one === kind).length;
  }

  #isScarce(): boolean {
    const now = performance.now();
    if (now - this.#memory.atMs > MEMORY_READING_MS) this.#memory = { atMs: now, scarce: scarce() };
    return this.#memory.scarce;
  }

  #size(kind: string): number {
    return this.#sizes.get(kind) ?? ASSUMED_BYTES;
  }
}

/** The file stays open, because a process without free file descriptors must still read how much memory is free. */
const meminfo = openSync("/proc/meminfo", "r");
const text = Buffer.alloc(4096);

function scarce(): boolean {
  const bytes = readSync(meminfo, text, 0, text.length, 0);
  const available = /^MemAvailable:\s+(\d+) kB$/m.exec(text.toString("latin1", 0, bytes))?.[1];
  return Number(available) * 1024 < totalmem() * LEAST_AVAILABLE;
}
