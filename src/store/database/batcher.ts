import { StoreUnavailable } from "./errors.ts";

interface WaitingCall<A, R> {
  readonly request: A;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** The most requests in a group: bounds how long a statement takes. */
const MAX_GROUP = 64;

/**
 * Batches reads of one kind: reads that arrive while a group is read form the next group. Under load, many reads share each statement; a
 * single one does not wait for others. A batcher also uses only one connection at a time. (Work that writes is grouped by Transactions.)
 */
export class Batcher<A, R> {
  readonly #run: (requests: readonly A[]) => Promise<readonly R[]>;
  #waiting: WaitingCall<A, R>[] = [];
  #running = false;

  /** @param run reads for a group, and returns one result for each request, in order. */
  constructor(run: (requests: readonly A[]) => Promise<readonly R[]>) {
    this.#run = run;
  }

  add(request: A): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      // The group begins in the next iteration of the event loop, so that it has all requests of this iteration.
      setImmediate(() => void this.#runAll());
    });
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#runGroup(this.#waiting.splice(0, MAX_GROUP));
    this.#running = false;
  }

  async #runGroup(group: readonly WaitingCall<A, R>[]): Promise<void> {
    try {
      const results = await this.#run(group.map(({ request }) => request));
      for (const [at, { resolve }] of group.entries()) resolve(results[at] as R);
    } catch (error) {
      // After the loss of a connection, the others would fail as well.
      if (group.length === 1 || error instanceof StoreUnavailable) for (const { reject } of group) reject(error);
      // A failing request must not fail the others.
      else for (const one of group) await this.#runGroup([one]);
    }
  }
}
