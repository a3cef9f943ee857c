/**
 * Shares the event loop: runs one piece of work in each iteration, so that other events are served in between. Owners
 * take turns, so that an owner with a hundred responses does not slow down an owner with one.
 */
export class EventLoopTurns {
  /** Waiting work by owner; the next owner comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #running = false;

  /** Resolves when the caller may do one piece of work. */
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
