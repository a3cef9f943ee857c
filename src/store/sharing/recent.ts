/** Maximum difference between the clocks of machines; a time further ahead means that a clock was set back. */
export const SKEW_MS = 5_000;
export const WINDOW_MS = 60_000;

/** Requests that this process admitted in the last minute, by key, in memory, with the clock and rules of the database. */
export class Recent {
  /** Times in milliseconds since the epoch, oldest first. */
  readonly #times = new Map<string, number[]>();

  /** @returns 0, or the seconds until one more request is admitted. */
  waitSecs(keyId: string, limit: number, nowMs: number): number {
    const times = this.#times.get(keyId);
    if (!times || limit <= 0) return 0;
    // The clock was set back: the database moves its times back as well, and decides alone until then.
    if ((times.at(-1) ?? 0) > nowMs + SKEW_MS) {
      this.#times.delete(keyId);
      return 0;
    }
    const oldest = times[times.length - limit];
    return oldest === undefined ? 0 : Math.max(0, Math.ceil((oldest + WINDOW_MS - nowMs) / 1000));
  }

  /** The requests in the window, and the seconds until the oldest one leaves it. */
  window(keyId: string, nowMs: number): { readonly used: number; readonly resetSecs: number } {
    const times = this.#times.get(keyId) ?? [];
    const first = times.findLastIndex((ms) => ms <= nowMs - WINDOW_MS) + 1;
    const oldest = times[first];
    return {
      used: times.length - first,
      resetSecs: oldest === undefined ? 0 : Math.max(0, Math.ceil((oldest + WINDOW_MS - nowMs) / 1000)),
    };
  }

  add(keyId: string, nowMs: number): void {
    const times = this.#times.get(keyId) ?? [];
    times.push(Math.max(nowMs, times.at(-1) ?? 0));
    this.#times.set(keyId, times);
  }

  forget(nowMs: number): void {
    for (const [keyId, times] of this.#times) {
      const counts = times.findIndex((ms) => ms > nowMs - WINDOW_MS);
      if (counts < 0) this.#times.delete(keyId);
      else times.splice(0, counts);
    }
  }
}
