/** Lets bytes pass at a rate on average, and after a pause more of them at once. */
export class Pace {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #now: () => number;
  #left: number;
  #atMs: number;

  /** @param now milliseconds on a monotonic clock. */
  constructor(perSecond: number, burst: number, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#now = now;
    this.#left = burst;
    this.#atMs = now();
  }

  /** Counts bytes that have passed. @returns how many milliseconds nothing more may pass; often 0. */
  take(bytes: number): number {
    const nowMs = this.#now();
    this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#atMs) * this.#perSecond) / 1_000) - bytes;
    this.#atMs = nowMs;
    return Math.max(0, (-this.#left * 1_000) / this.#perSecond);
  }
}
