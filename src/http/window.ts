const WINDOW_MS = 60_000;
/** Names remembered at most: bounds the memory that strangers can take. */
const MAX_NAMES = 100_000;

/**
 * An exact sliding window of one minute: whatever minute one looks at, no more than the limit
 * were let through in it. Times are monotonic, so a step of the wall clock changes nothing. In
 * memory, so of this process alone: for addresses; a key is counted in the store.
 */
export class MinuteWindow {
  /** Times of what was let through, oldest first; the least recently used name first. */
  readonly #times = new Map<string, number[]>();
  readonly #now: () => number;

  /** @param now milliseconds on a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Lets one more through, or not.
   * @returns 0 when it went through; otherwise the whole seconds after which it will.
   */
  take(name: string, limit: number): number {
    const now = this.#now();
    const times = this.#recent(name, now);
    const oldest = times[times.length - limit];
    if (oldest !== undefined) return Math.max(1, Math.ceil((oldest + WINDOW_MS - now) / 1000));
    times.push(now);
    return 0;
  }

  /** Whether one more would not be let through now. */
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
