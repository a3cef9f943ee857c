/** Callers in a group. */
const MAX_CALLERS = 24;
const MOST_MS = 60;

/** Releases several callers together, so that their work can share a transaction. */
export class CommitDelay {
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Resolves with the last caller of a full group, with `release`, or 60 ms after the first one. */
  join(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length >= MAX_CALLERS) this.release();
      else this.#timer ??= setTimeout(() => this.release(), MOST_MS);
    });
  }

  /** Releases those that wait. */
  release(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
