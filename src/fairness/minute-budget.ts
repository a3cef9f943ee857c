const WINDOW_MS = 60_000;
/** The most names whose requests are counted. This bounds the memory that clients without a key can use. */
const MAX_NAMES = 100_000;

/**
 * Limits the requests of each name in a minute. Each request counts for exactly one minute, so no minute has more requests than the
 * limit. The time is monotonic, so setting the clock has no effect. The counts are local to this process. They serve for addresses;
 * requests of keys are counted in the store.
 */
export class MinuteBudget {
  /** The times of the accepted requests of each name, the oldest first. The least recently used name is the first entry. */
  readonly #times = new Map<string, number[]>();
  readonly #now: () => number;

  /** @param now milliseconds on a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Accepts or rejects one request.
   * @returns 0 if the request is accepted; otherwise the seconds until one would be accepted, rounded up.
   */
  take(name: string, limit: number): number {
    const now = this.#now();
    const times = this.#recent(name, now);
    const oldest = times[times.length - limit];
    if (oldest !== undefined) return Math.max(1, Math.ceil((oldest + WINDOW_MS - now) / 1000));
    times.push(now);
    return 0;
  }

  /** Whether another request would be rejected now. */
  isFull(name: string, limit: number): boolean {
    const recent = this.#times.get(name)?.filter((time) => time > this.#now() - WINDOW_MS) ?? [];
    return recent.length >= limit;
  }

  #recent(name: string, now: number): number[] {
    const times = this.#times.get(name) ?? [];
    const firstRecent = times.findIndex((time) => time > now - WINDOW_MS);
    times.splice(0, firstRecent === -1 ? times.length : firstRecent);
    this.#times.delete(name);
    this.#times.set(name, times);
    if (this.#times.size > MAX_NAMES) this.#forgetLeastRecent();
    return times;
  }

  #forgetLeastRecent(): void {
    const [name] = this.#times.keys();
    if (name !== undefined) this.#times.delete(name);
  }
}
