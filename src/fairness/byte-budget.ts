/** How long a request waits for space before it is rejected. */
const WAIT_TIMEOUT_MS = 5_000;

/** @param admitted whether space was reserved in time. */
type Settle = (admitted: boolean) => void;

/**
 * A byte budget shared by owners. An owner may have as much as then remains free: the first one half, the next one a
 * quarter. One owner can therefore never fill it, and a new owner finds space.
 */
export class ByteBudget {
  readonly #totalBytes: number;
  readonly #waitTimeoutMs: number;
  readonly #taken = new Map<string, number>();
  readonly #waiting = new Set<{ readonly owner: string; readonly bytes: number; readonly settle: Settle }>();
  #takenBytes = 0;

  constructor(totalBytes: number, waitTimeoutMs: number = WAIT_TIMEOUT_MS) {
    this.#totalBytes = totalBytes;
    this.#waitTimeoutMs = waitTimeoutMs;
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  /**
   * Waits until there is space.
   * @param gone aborted when the request has ended.
   * @returns a function that releases the bytes, with no effect when called again; undefined if there was no space in
   * time.
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
    if (gone.aborted) return false; // the event has already fired
    return await new Promise((resolve) => {
      const settle = (admitted: boolean) => {
        clearTimeout(timer);
        gone.removeEventListener("abort", cancel);
        this.#waiting.delete(waiting);
        // Reserved before the next waiting request is checked.
        if (admitted) this.#add(owner, bytes);
        resolve(admitted);
      };
      const cancel = () => settle(false);
      const timer = setTimeout(cancel, this.#waitTimeoutMs);
      const waiting = { owner, bytes, settle };
      this.#waiting.add(waiting);
      gone.addEventListener("abort", cancel);
    });
  }
}
