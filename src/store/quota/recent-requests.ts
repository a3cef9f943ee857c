/** The most by which clocks of machines differ; a time that is further ahead means that a clock was set back. */
export const SKEW_MS = 5_000;
export const WINDOW_MS = 60_000;

/** The requests of each key that this process admitted in the last minute, in memory, by the rules of takeQuota (quota.ts). */
export class RecentRequests {
  /** Times in milliseconds since the epoch, oldest first. */
  readonly #times = new Map<string, number[]>();

  /** @returns 0 if `amount` further requests are admitted, otherwise the seconds as `QuotaStore.take` returns them. */
  waitSecs(
    keyId: string,
    { limit, amount, counted }: { readonly limit: number; readonly amount: number; readonly counted: number },
    nowMs: number,
  ): number {
    const times = this.#times.get(keyId);
    if (!times || limit <= 0) return 0;
    // The clock was set back: these times are forgotten, and only the database decides, which moves its times back.
    if ((times.at(-1) ?? 0) > nowMs + SKEW_MS) {
      this.#times.delete(keyId);
      return 0;
    }
    const waitMs = (more: number): number => {
      const place = times.length + more - 1 - limit;
      if (place >= times.length) return WINDOW_MS;
      return Math.max(0, (times[place] ?? Number.NEGATIVE_INFINITY) + WINDOW_MS - nowMs);
    };
    return waitMs(amount) > 0 ? Math.ceil(waitMs(amount + counted) / 1000) : 0;
  }

  /** The number of requests in the window, and the seconds until the oldest one leaves the window. */
  window(keyId: string, nowMs: number): { readonly used: number; readonly resetSecs: number } {
    const times = this.#times.get(keyId) ?? [];
    const first = times.findLastIndex((ms) => ms <= nowMs - WINDOW_MS) + 1;
    const oldest = times[first];
    return {
      used: times.length - first,
      resetSecs: oldest === undefined ? 0 : Math.max(0, Math.ceil((oldest + WINDOW_MS - nowMs) / 1000)),
    };
  }

  add(keyId: string, amount: number, nowMs: number): void {
    const times = this.#times.get(keyId) ?? [];
    const at = Math.max(nowMs, times.at(-1) ?? 0);
    for (let one = 0; one < amount; one++) times.push(at);
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
