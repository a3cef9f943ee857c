/** How long a request waits for room before it is refused. */
const PATIENCE_MS = 5_000;

/** @returns whether it was waiting still. */
type Settle = (admitted: boolean) => void;

/**
 * A number of bytes that owners share. An owner may have as much as then remains free: the first one half, the next one a
 * quarter. So one owner alone can never fill it, and a newcomer finds room.
 */
export class Room {
  readonly #totalBytes: number;
  readonly #patienceMs: number;
  readonly #taken = new Map<string, number>();
  readonly #waiting = new Set<{ readonly owner: string; readonly bytes: number; readonly settle: Settle }>();
  #takenBytes = 0;

  constructor(totalBytes: number, patienceMs: number = PATIENCE_MS) {
    this.#totalBytes = totalBytes;
    this.#patienceMs = patienceMs;
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  /**
   * Waits until there is room.
   * @param gone the request is over: it waits no longer.
   * @returns a function that gives the bytes back, once, however often it is called; undefined when no room came in time.
   */
  async take(owner: string, bytes: number, gone: AbortSignal): Promise<(() => void) | undefined> {
    if (this.#fits(owner, bytes)) this.#add(owner, bytes);
    else if (!(await this.#wait(owner, bytes, gone))) return undefined;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#add(owner, -bytes);
      for (const waiting of this.#waiting) if (this.#fits(waiting.owner, waiting.bytes)) waiting.settle(true);
    };
  }

  #fits(owner: string, bytes: number): boolean {
    return (this.#taken.get(owner) ?? 0) + bytes <= this.#totalBytes - this.#takenBytes;
  }

  #add(owner: string, bytes: number): void {
    this.#takenBytes += bytes;
    const taken = (this.#taken.get(owner) ?? 0) + bytes;
    if (taken > 0) this.#taken.set(owner, taken);
    else this.#taken.delete(owner);
  }

  async #wait(owner: string, bytes: number, gone: AbortSignal): Promise<boolean> {
    if (gone.aborted) return false; // its event is over
    return await new Promise((resolve) => {
      const settle = (admitted: boolean) => {
        clearTimeout(timer);
        gone.removeEventListener("abort", giveUp);
        this.#waiting.delete(waiting);
        // At once, so that the next one that waits is judged by what is left.
        if (admitted) this.#add(owner, bytes);
        resolve(admitted);
      };
      const giveUp = () => settle(false);
      const timer = setTimeout(giveUp, this.#patienceMs);
      const waiting = { owner, bytes, settle };
      this.#waiting.add(waiting);
      gone.addEventListener("abort", giveUp);
    });
  }
}
