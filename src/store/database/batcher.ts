import { StoreUnavailable } from "./errors.ts";

interface WaitingCall<A, R> {
  readonly request: A;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** The most requests in a group: bounds how long the group holds its locks. */
const MAX_GROUP = 64;

/**
 * Batches requests of one kind: requests that arrive while a group runs form the next group. Under load, many requests share each
 * statement, lock and commit; a single request does not wait for others. A batcher also uses only one connection at a time. Otherwise,
 * requests that wait for a lock of the database could take all connections of the pool, and the holder of the lock would get no connection
 * for its next transaction.
 */
export class Batcher<A, R> {
  readonly #run: (requests: readonly A[]) => Promise<readonly R[]>;
  #waiting: WaitingCall<A, R>[] = [];
  #running = false;

  /** @param run runs a group atomically, and returns one result for each request, in order. */
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
      // After the loss of a connection, it is unknown whether the group was committed, so its requests are not repeated.
      if (group.length === 1 || error instanceof StoreUnavailable) for (const { reject } of group) reject(error);
      // A failing request must not fail the others.
      else for (const one of group) await this.#runGroup([one]);
    }
  }
}
