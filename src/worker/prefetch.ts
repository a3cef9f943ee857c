/** So many submissions are claimed ahead for one slot that their expected times add up to at most this time. */
const AHEAD_MS = 60;
/** The most submissions that are claimed ahead for one slot. */
const MAX_AHEAD = 16;
/** Time that a claimed submission may wait for a slot. */
const HOLD_MS = 100;
/**
 * How many of the last runs are known. The next runs are expected to take their median, so that a single long run, such as one with a
 * compile step, changes nothing.
 */
const RECENT = 7;

/**
 * How many submissions a worker claims ahead: before it has slots for them. Between short runs, a slot would otherwise wait for the
 * database nearly as long as it works. While runs are long, none is claimed ahead, because a claimed submission waits for this worker
 * even if another one has a free slot.
 */
export class Ahead {
  readonly #slots: number;
  readonly #recentMs: number[] = [];
  #paused = false;
  readonly holdMs: number = HOLD_MS;

  constructor(slots: number) {
    this.#slots = slots;
  }

  /** Records how long a run occupied its slot. */
  ran(ms: number): void {
    this.#paused = false;
    this.#recentMs.push(ms);
    if (this.#recentMs.length > RECENT) this.#recentMs.shift();
  }

  /** Makes `amount` 0 until a run has ended, because the slots are busy for longer than expected. */
  pause(): void {
    this.#paused = true;
  }

  /** How many submissions to claim ahead now, for all slots together. */
  get amount(): number {
    if (this.#paused) return 0;
    const sorted = this.#recentMs.toSorted((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)] ?? Number.POSITIVE_INFINITY;
    return this.#slots * Math.min(Math.floor(AHEAD_MS / median), MAX_AHEAD);
  }
}
