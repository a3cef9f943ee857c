/** Whatever changes each time somebody says that he lives. */
type Sign = string | number;

/**
 * How long others have been silent, by the steady clock of whoever looks. So clocks of machines are never
 * compared with one another, and one that is set changes nothing.
 */
export class Silence {
  readonly #steadyMs: () => number;
  #seen = new Map<string, { readonly sign: Sign; readonly sinceMs: number }>();
  #lookedMs = Number.NEGATIVE_INFINITY;

  /** @param steadyMs milliseconds since whenever; never set, never back. */
  constructor(steadyMs: () => number = () => performance.now()) {
    this.#steadyMs = steadyMs;
  }

  /**
   * Whoever could not look for a whole lease, could see nobody live: everybody is as new then.
   * @param signs of all who are there, by name. @param leaseMs how long somebody may be silent.
   * @param atFirstMs for how long somebody has been silent who is seen for the first time.
   * @returns names of those who have been silent for a lease or longer.
   */
  look(
    signs: ReadonlyMap<string, Sign>,
    leaseMs: number,
    atFirstMs: (name: string) => number = () => 0,
  ): ReadonlySet<string> {
    const nowMs = this.#steadyMs();
    const before = nowMs - this.#lookedMs > leaseMs ? new Map<string, never>() : this.#seen;
    this.#lookedMs = nowMs;
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
