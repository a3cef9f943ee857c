/** A value that changes with every heartbeat. */
type Sign = string | number;

/**
 * Measures, by the monotonic clock of the observer, how long each of several processes has made no heartbeat. Clocks of different
 * machines are never compared, and setting a clock has no effect.
 */
export class HeartbeatMonitor {
  readonly #steadyMs: () => number;
  #seen = new Map<string, { readonly sign: Sign; readonly sinceMs: number }>();
  #observedMs = Number.NEGATIVE_INFINITY;

  /** @param steadyMs a monotonic clock in milliseconds, with any origin. */
  constructor(steadyMs: () => number = () => performance.now()) {
    this.#steadyMs = steadyMs;
  }

  /**
   * Observes the present heartbeats. If the last call is more than `leaseMs` ago, all names count as new, because heartbeats in between
   * were not observed.
   * @param signs the present value of each heartbeat, by name. @param leaseMs the permitted silence.
   * @param atFirstMs how long a new name counts as silent already.
   * @returns the names that have been silent for `leaseMs` or longer.
   */
  observe(
    signs: ReadonlyMap<string, Sign>,
    leaseMs: number,
    atFirstMs: (name: string) => number = () => 0,
  ): ReadonlySet<string> {
    const nowMs = this.#steadyMs();
    const before = nowMs - this.#observedMs > leaseMs ? new Map<string, never>() : this.#seen;
    this.#observedMs = nowMs;
    this.#seen = new Map();
    const silent = new Set<string>();
    for (const [name, sign] of signs) {
      const known = before.get(name);
      const sinceMs = known ? (known.sign === sign ? known.sinceMs : nowMs) : nowMs - atFirstMs(name);
      this.#seen.set(name, { sign, sinceMs });
      if (nowMs - sinceMs >= leaseMs) silent.add(name);
    }
    return silent;
  }
}
