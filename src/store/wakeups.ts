/**
 * Who is woken by a change. In this process only; an engine that can notify across
 * processes calls the same two methods when a notification arrives.
 */
export class Wakeups {
  readonly #workers = new Set<() => void>();
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #deliverers = new Set<() => void>();
  #workPending = false;
  #deliveriesPending = false;

  onWork(listener: () => void): () => void {
    this.#workers.add(listener);
    return () => this.#workers.delete(listener);
  }

  /** Work may be available. Many calls in one turn of the event loop are one wake-up. */
  work(): void {
    if (this.#workPending) return;
    this.#workPending = true;
    setImmediate(() => {
      this.#workPending = false;
      for (const listener of [...this.#workers]) listener();
    });
  }

  onDeliveries(listener: () => void): () => void {
    this.#deliverers.add(listener);
    return () => this.#deliverers.delete(listener);
  }

  /** A delivery may be due; coalesced as work is. */
  deliveries(): void {
    if (this.#deliveriesPending) return;
    this.#deliveriesPending = true;
    setImmediate(() => {
      this.#deliveriesPending = false;
      for (const listener of [...this.#deliverers]) listener();
    });
  }

  /** Subscribes to the end of one submission. @returns a function that ends the subscription. */
  onEnd(submissionId: string, listener: () => void): () => void {
    const waiters = this.#waiters.get(submissionId) ?? new Set();
    this.#waiters.set(submissionId, waiters.add(listener));
    return () => {
      waiters.delete(listener);
      if (waiters.size === 0) this.#waiters.delete(submissionId);
    };
  }

  ended(submissionId: string): void {
    for (const listener of [...(this.#waiters.get(submissionId) ?? [])]) listener();
  }

  /** Wakes every waiter, whether or not its submission has ended. */
  wakeAll(): void {
    for (const id of [...this.#waiters.keys()]) this.ended(id);
  }
}
