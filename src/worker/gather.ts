const MOST = 4;
const MOST_MS = 30;

/** Releases several callers together, so that their work can share a transaction. */
export class Gather {
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Resolves with the fourth caller, or 30 ms after the first one. */
  join(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length >= MOST) this.#go();
      else this.#timer ??= setTimeout(() => this.#go(), MOST_MS);
    });
  }

  #go(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
