/**
 * Shares the event loop: one piece of work in each turn of it, so that everything else is served in between. Owners take turns, so
 * that one with a hundred answers does not slow down another with one.
 */
export class Pace {
  /** Work that waits, by owner; the owner that is served next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #running = false;

  /** Resolves when the caller may go on with one piece of work. */
  turn(owner: string): Promise<void> {
    return new Promise((resolve) => {
      const mine = this.#waiting.get(owner);
      if (mine) mine.push(resolve);
      else this.#waiting.set(owner, [resolve]);
      if (this.#running) return;
      this.#running = true;
      setImmediate(() => this.#next());
    });
  }

  #next(): void {
    const [first] = this.#waiting;
    if (!first) {
      this.#running = false;
      return;
    }
    const [owner, waiting] = first;
    this.#waiting.delete(owner);
    const resolve = waiting.shift();
    if (waiting.length > 0) this.#waiting.set(owner, waiting);
    setImmediate(() => this.#next());
    resolve?.();
  }
}
