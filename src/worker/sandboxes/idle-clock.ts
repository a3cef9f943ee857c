/** In how many parts of its idle time a sandbox is measured. */
const PARTS = 10;
/** The least time between two measurements. */
const LEAST_PART_MS = 1_000;
/** Programs that use less than this share of one CPU do nothing. */
const BUSY_SHARE = 0.01;

/** How long nobody has used a sandbox: no request, no reader, and hardly any CPU time. Times are those of performance.now(). */
export class IdleClock {
  #users = 0;
  /** Since when nobody uses it. */
  #sinceMs: number;
  #measured: { readonly atMs: number; readonly cpuUsec: number } | null = null;
  #isStopped = false;
  #isMeasuring = false;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** A request or a reader begins to use the sandbox. @returns ends that. */
  use(): () => void {
    let isUsing = true;
    this.#users++;
    return () => {
      if (!isUsing) return;
      isUsing = false;
      this.#users--;
      this.#sinceMs = performance.now();
      this.#measured = null; // the CPU time of the use does not count
    };
  }

  /** Stands still until `start`. */
  stop(nowMs: number): void {
    this.#isStopped = true;
    this.#sinceMs = nowMs;
  }

  start(nowMs: number): void {
    this.#isStopped = false;
    this.#sinceMs = nowMs;
    this.#measured = null;
  }

  /**
   * Whether the sandbox was idle for so long. It measures at most once in a tenth of that time, so the answer comes up to a tenth late.
   * @param measure reads the CPU time of all programs, in µs.
   */
  async isOver(idleMs: number, nowMs: number, measure: () => Promise<number>): Promise<boolean> {
    if (this.#users > 0 || this.#isStopped || this.#isMeasuring) return false;
    const before = this.#measured;
    if (before && nowMs - before.atMs < Math.max(idleMs / PARTS, LEAST_PART_MS)) return false;
    this.#isMeasuring = true;
    try {
      const cpuUsec = await measure();
      this.#measured = { atMs: nowMs, cpuUsec };
      if (!before) return false;
      const share = (cpuUsec - before.cpuUsec) / 1000 / (nowMs - before.atMs);
      if (share >= BUSY_SHARE) this.#sinceMs = nowMs;
    } finally {
      this.#isMeasuring = false;
    }
    return this.#users === 0 && !this.#isStopped && nowMs - this.#sinceMs >= idleMs;
  }
}
