const WINDOW_MS = 60_000;
/** Maximum number of names; bounds the memory that anonymous clients can use. */
const MAX_NAMES = 100_000;

/**
 * A budget of requests, of which each is given back after a minute: an exact sliding window, so that no minute has more requests
 * than the limit. It uses monotonic time, so clock steps have no effect. It is local to this process, so it serves for
 * addresses; requests of keys are counted in the store.
 */
export class MinuteBudget {
  /** Times of accepted requests, oldest first; the least recently used name first. */
  readonly #times = new Map<string, number[]>();
  readonly #now: () => number;

  /** @param now milliseconds on a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Accepts or rejects one request.
   * @returns 0 if accepted; otherwise the seconds to wait, rounded up.
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
