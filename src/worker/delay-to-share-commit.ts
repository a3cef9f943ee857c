/** The most callers that are released together. */
const MAX_CALLERS = 24;
/** How long the first caller waits at most. */
const MOST_MS = 60;

/** Releases several callers together, so that their work can share a transaction. */
export class CommitDelay {
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Resolves when 24 callers wait, when `release` is called, or 60 ms after the first caller began to wait. */
  join(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length >= MAX_CALLERS) this.release();
      else this.#timer ??= setTimeout(() => this.release(), MOST_MS);
    });
  }

  /** Releases all callers that wait. */
  release(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
