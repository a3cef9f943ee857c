import { StoreUnavailable } from "./errors.ts";

interface Waiting<A, R> {
  readonly request: A;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** Requests of one group at most: bounds how long it holds its locks. */
const MAX_GROUP = 64;

/**
 * Requests of the same kind, one group at a time: those that come while a group is under way make up the next one. So each
 * statement, each lock and each commit is paid for once for many requests when there are many, and a request that comes alone waits for
 * nobody. It also keeps a process to one connection for each kind: when every request had its own, all of them waited
 * for the one that held the lock, and nobody was left to end what it had begun.
 */
export class Gathered<A, R> {
  readonly #run: (requests: readonly A[]) => Promise<readonly R[]>;
  #waiting: Waiting<A, R>[] = [];
  #running = false;

  /** @param run all or nothing of a group; one result for each request, in their order. */
  constructor(run: (requests: readonly A[]) => Promise<readonly R[]>) {
    this.#run = run;
  }

  add(request: A): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      // In the next turn, so that everything that this turn brings is in the group.
      setImmediate(() => void this.#runAll());
    });
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#runGroup(this.#waiting.splice(0, MAX_GROUP));
    this.#running = false;
  }

  async #runGroup(group: readonly Waiting<A, R>[]): Promise<void> {
    try {
      const results = await this.#run(group.map(({ request }) => request));
      for (const [at, { resolve }] of group.entries()) resolve(results[at] as R);
    } catch (error) {
      // Of a lost connection nobody knows whether the commit arrived: what was in it is not done again.
      if (group.length === 1 || error instanceof StoreUnavailable) for (const { reject } of group) reject(error);
      // One that fails takes no other along.
      else for (const one of group) await this.#runGroup([one]);
    }
  }
}
