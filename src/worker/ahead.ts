/** Sum of the expected times of the submissions that are claimed ahead for one slot. */
const AHEAD_MS = 60;
/** Most of them for one slot. */
const MOST = 8;
/** Time that a claimed submission may wait for a slot. */
const HOLD_MS = 100;
/** After one has waited longer. */
const PAUSE_MS = 1_000;
/** Weight of the newest run in the mean. */
const NEWEST = 0.2;

/**
 * How many submissions a worker claims before it has slots for them. Between short runs, a slot would wait for the database
 * nearly as long as it works. While runs are long, none is claimed ahead: other workers and later submissions would wait.
 */
export class Ahead {
  readonly #slots: number;
  readonly #now: () => number;
  #meanMs = Number.POSITIVE_INFINITY;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  readonly holdMs: number = HOLD_MS;

  /** @param now monotonic milliseconds. */
  constructor(slots: number, now = () => performance.now()) {
    this.#slots = slots;
    this.#now = now;
  }

  /** Counts a run that took a slot for this time. */
  ran(ms: number): void {
    this.#meanMs = Number.isFinite(this.#meanMs) ? this.#meanMs + (ms - this.#meanMs) * NEWEST : ms;
  }

  /** Claims none for a while: the slots are busy for longer than expected. */
  pause(): void {
    this.#pausedUntilMs = this.#now() + PAUSE_MS;
  }

  get amount(): number {
    if (this.#now() < this.#pausedUntilMs) return 0;
    return this.#slots * Math.min(Math.floor(AHEAD_MS / this.#meanMs), MOST);
  }
}
