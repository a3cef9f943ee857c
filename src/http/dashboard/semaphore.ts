import { clientError, type ErrorCode } from "../../domain/error.ts";

/**
 * Limits work that needs a core and much memory. Each lane has its own bounded queue, and lanes with waiting work take
 * turns. A full lane therefore delays another lane by at most one piece of work per round.
 */
export class Semaphore {
  readonly #atOnce: number;
  readonly #waitingAtMost: number;
  readonly #full: ErrorCode;
  /** Lanes with waiting work; the lane whose turn is next comes first. */
  readonly #lanes = new Map<string, (() => void)[]>();
  #running = 0;

  /** @param waitingAtMost in each lane. @param full the error of a full lane. */
  constructor(atOnce: number, waitingAtMost: number, full: ErrorCode = "tooManySignIns") {
    this.#atOnce = atOnce;
    this.#waitingAtMost = waitingAtMost;
    this.#full = full;
  }

  /** @throws ClientError when the lane is full. */
  async run<T>(lane: string, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnce) this.#running++;
    else await this.#turn(lane);
    try {
      return await work();
    } finally {
      const next = this.#next();
      if (next) next();
      else this.#running--;
    }
  }

  #turn(lane: string): Promise<void> {
    const waiting = this.#lanes.get(lane) ?? [];
    if (waiting.length >= this.#waitingAtMost) {
      throw clientError(this.#full, [], { headers: { "retry-after": "2" } });
    }
    this.#lanes.set(lane, waiting);
    return new Promise((resolve) => waiting.push(resolve));
  }

  #next(): (() => void) | undefined {
    for (const [lane, waiting] of this.#lanes) {
      const next = waiting.shift();
      this.#lanes.delete(lane);
      if (waiting.length > 0) this.#lanes.set(lane, waiting);
      return next;
    }
    return undefined;
  }
}
