import type { Logger } from "pino";
import type { Meter } from "../domain/meter.ts";
import { Slot } from "../sandbox/slot.ts";

const RETRY_MS = 1_000;

/** Keeps a number of launcher slots open and replaces lost ones. */
export class Slots {
  readonly #socketPath: string;
  readonly #log: Logger;
  readonly #onFree: () => void;
  readonly #meter: Meter;
  readonly #free: Slot[] = [];
  readonly #all = new Set<Slot>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #closed = false;

  /** @param onFree called when a slot can be taken. */
  constructor(socketPath: string, log: Logger, meter: Meter, onFree: () => void) {
    this.#socketPath = socketPath;
    this.#log = log;
    this.#meter = meter;
    this.#onFree = onFree;
  }

  /** Resolves when each first attempt has succeeded or failed; failed ones are retried in the background. */
  async open(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#openOne()));
  }

  /** Number of slots that are alive, idle or busy. */
  get alive(): number {
    return [...this.#all].filter((slot) => slot.alive).length;
  }

  take(): Slot | undefined {
    for (let slot = this.#free.shift(); slot; slot = this.#free.shift()) {
      if (slot.alive) return slot;
      this.#replace(slot);
    }
    return undefined;
  }

  /** Gives a taken slot back; a lost one is replaced. */
  give(slot: Slot): void {
    if (this.#closed) {
      slot.close();
    } else if (slot.alive) {
      this.#free.push(slot);
      this.#onFree();
    } else {
      this.#replace(slot);
    }
  }

  /** Closes all slots and kills their programs. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const slot of this.#all) slot.close();
  }

  #replace(slot: Slot): void {
    this.#all.delete(slot);
    this.#later();
  }

  #later(): void {
    if (this.#closed) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.#openOne();
    }, RETRY_MS);
    this.#timers.add(timer);
  }

  async #openOne(): Promise<void> {
    try {
      const slot = await Slot.open(this.#socketPath);
      this.#meter.count("slotsOpened", {});
      this.#all.add(slot);
      slot.onLost(() => this.#lost(slot));
      this.give(slot);
    } catch (error) {
      this.#meter.count("slotFailures", {});
      this.#log.warn({ err: error }, "no slot; trying again");
      this.#later();
    }
  }

  /** Replaces a slot that is lost while idle; a busy one is replaced when it is released. */
  #lost(slot: Slot): void {
    if (this.#closed) return;
    this.#meter.count("slotsLost", {});
    const at = this.#free.indexOf(slot);
    if (at < 0) return;
    this.#free.splice(at, 1);
    this.#replace(slot);
  }
}
