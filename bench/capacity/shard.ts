export interface Submission {
  readonly account: number;
  readonly at: number;
  readonly workMs: number;
}

/** One database and its workers. */
export class Shard {
  /** The time at which each core of the database is free. */
  readonly databaseFree: number[];
  readonly waiting = new Map<number, Submission[]>();
  readonly running = new Map<number, number>();
  cores: number;
  busy = 0;
  pending = 0;
  awayUntil = 0;
  databaseMs = 0;
  workerMs = 0;

  constructor(cores: number, databaseCores: number) {
    this.cores = cores;
    this.databaseFree = Array.from({ length: databaseCores }, () => 0);
  }

  /** Runs on the core of the database that is free first. @returns the time of completion. */
  database(at: number, ms: number): number {
    let first = 0;
    for (const [core, free] of this.databaseFree.entries()) if (free < (this.databaseFree[first] ?? 0)) first = core;
    const done = Math.max(at, this.awayUntil, this.databaseFree[first] ?? 0) + ms;
    this.databaseFree[first] = done;
    this.databaseMs += ms;
    return done;
  }

  /** Chooses like src/store/submissions/claim.ts: the oldest submission of the account with the fewest running. */
  next(concurrency: number): Submission | undefined {
    let [chosen, fewest] = [-1, concurrency];
    for (const account of this.waiting.keys()) {
      const running = this.running.get(account) ?? 0;
      if (running < fewest) [chosen, fewest] = [account, running];
      if (fewest === 0) break; // the map has accounts in the order in which they started to wait
    }
    const queue = this.waiting.get(chosen);
    const submission = queue?.shift();
    if (!queue || !submission) return undefined;
    // The account goes to the end of the order.
    this.waiting.delete(chosen);
    if (queue.length > 0) this.waiting.set(chosen, queue);
    return submission;
  }
}
