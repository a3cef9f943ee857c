import { clientError, type ErrorCode } from "../domain/error.ts";

/**
 * Limits work that needs a core and much memory. Each lane has its own bounded queue, and lanes with waiting work take
 * turns. A full lane therefore delays another lane by at most one piece of work per round.
 */
export class Semaphore {
  readonly #atOnce: number;
  readonly #waitingAtMost: number;
  readonly #full: ErrorCode;
  readonly #perLane: number;
  /** Lanes with waiting work; the lane whose turn is next comes first. */
  readonly #lanes = new Map<string, (() => void)[]>();
  /** Running work by lane. */
  readonly #running = new Map<string, number>();

  /** @param waitingAtMost in each lane. @param full the error of a full lane. @param perLane running at once in each lane. */
  constructor(atOnce: number, waitingAtMost: number, full: ErrorCode = "tooManySignIns", perLane: number = atOnce) {
    this.#atOnce = atOnce;
    this.#waitingAtMost = waitingAtMost;
    this.#full = full;
    this.#perLane = perLane;
  }

  /** @throws ClientError when the lane is full. */
  async run<T>(lane: string, work: () => Promise<T>): Promise<T> {
    const running = [...this.#running.values()].reduce((sum, one) => sum + one, 0);
    if (running < this.#atOnce && this.#isOpen(lane)) this.#add(lane, 1);
    else await this.#turn(lane);
    try {
      return await work();
    } finally {
      this.#add(lane, -1);
      this.#startNext();
    }
  }

  #isOpen(lane: string): boolean {
    return (this.#running.get(lane) ?? 0) < this.#perLane;
  }

  #add(lane: string, change: 1 | -1): void {
    const running = (this.#running.get(lane) ?? 0) + change;
    if (running > 0) this.#running.set(lane, running);
    else this.#running.delete(lane);
  }

  #turn(lane: string): Promise<void> {
    const waiting = this.#lanes.get(lane) ?? [];
    if (waiting.length >= this.#waitingAtMost) {
      throw clientError(this.#full, [], { headers: { "retry-after": "2" } });
    }
    this.#lanes.set(lane, waiting);
    return new Promise((resolve) => waiting.push(resolve));
  }

  #startNext(): void {
    for (const [lane, waiting] of this.#lanes) {
      if (!this.#isOpen(lane)) continue;
      const next = waiting.shift();
      this.#lanes.delete(lane);
      if (waiting.length > 0) this.#lanes.set(lane, waiting);
      this.#add(lane, 1);
      next?.();
      return;
    }
  }
}
