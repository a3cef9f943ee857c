/** Sum of the expected times of the submissions that are claimed ahead for one slot. */
const AHEAD_MS = 60;
/** The most submissions that are claimed ahead for one slot. */
const MAX_AHEAD = 16;
/** Time that a claimed submission may wait for a slot. */
const HOLD_MS = 100;
/** The number of last runs. Their median is expected of the next ones, so that a longer run after a compilation changes nothing. */
const RECENT = 7;

/**
 * How many submissions a worker claims before it has slots for them. Between short runs, a slot would wait for the database
 * nearly as long as it works. While runs are long, none is claimed ahead: other workers and later submissions would wait.
 */
export class Ahead {
  readonly #slots: number;
  readonly #recentMs: number[] = [];
  #paused = false;
  readonly holdMs: number = HOLD_MS;

  constructor(slots: number) {
    this.#slots = slots;
  }

  /** Counts a run that took a slot for this time. */
  ran(ms: number): void {
    this.#paused = false;
    this.#recentMs.push(ms);
    if (this.#recentMs.length > RECENT) this.#recentMs.shift();
  }

  /** Claims none until a run has ended: the slots are busy for longer than expected. */
  pause(): void {
    this.#paused = true;
  }

  get amount(): number {
    if (this.#paused) return 0;
    const sorted = this.#recentMs.toSorted((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)] ?? Number.POSITIVE_INFINITY;
    return this.#slots * Math.min(Math.floor(AHEAD_MS / median), MAX_AHEAD);
  }
}
