export interface SimulatedSubmission {
  readonly account: number;
  readonly at: number;
  readonly workMs: number;
}

/** One database and its workers. */
export class Shard {
  /** For each core of the database, the time from which it is free. */
  readonly databaseFree: number[];
  /** Submissions that wait for a core of a worker, by account. */
  readonly waiting = new Map<number, SimulatedSubmission[]>();
  /** How many submissions run, by account. */
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

  /** Does work of `ms` milliseconds on the core of the database that is free first. @returns the time of completion. */
  database(at: number, ms: number): number {
    let first = 0;
    for (const [core, free] of this.databaseFree.entries()) if (free < (this.databaseFree[first] ?? 0)) first = core;
    const done = Math.max(at, this.awayUntil, this.databaseFree[first] ?? 0) + ms;
    this.databaseFree[first] = done;
    this.databaseMs += ms;
    return done;
  }

  /**
   * Takes the next submission, like src/store/submissions/claim.ts: the oldest one of the account with the fewest running submissions.
   * @returns undefined if none waits, or if every account that waits has `concurrency` running submissions.
   */
  next(concurrency: number): SimulatedSubmission | undefined {
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
