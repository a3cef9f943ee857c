import type { Database } from "../database/database.ts";
import { inTime, READ_PATIENCE_MS } from "../database/in-time.ts";
import type { Transactions } from "../database/transactions.ts";
import { OPERATIONS } from "../operations.ts";
import { RecentRequests, WINDOW_MS } from "./recent-requests.ts";
import type { NumberedRequest, Take, Taken } from "./take.ts";

export type QuotaStore = ReturnType<typeof quotaStore>;

/**
 * Counts the requests of each key in the last minute, over all processes and restarts. Each admitted request is a row with the next
 * number of its key. A further request is admitted if the row `limit` numbers before it is a minute old or does not exist, so one row is
 * read by its number, and none is counted. The primary key, not a lock, prevents two processes from taking the same number.
 * Concurrent requests of a process share an operation: otherwise, requests of one key would take the same number, and all but one would
 * wait for the other commit and start again.
 *
 * On a database with one writer, one process serves all requests. It also keeps the last minute in memory, so that a request that only
 * reads does not wait for a lock of another process: memory decides, and the database is updated when the lock is free.
 * @param now milliseconds since the epoch.
 */
export function quotaStore({ abilities }: Database, transactions: Transactions, now: () => number) {
  // A power failure may lose the counts of the last requests; in return, requests do not wait for the disk.
  const add = transactions.group({
    operation: OPERATIONS.takeQuota,
    asked: (takes: readonly Take[]) => ({ takes, nowMs: now() }),
    answers: (taken) => taken,
    isUnflushed: true,
  });
  const takeOne = async (take: Take): Promise<Taken> => {
    for (;;) {
      const taken = await add(take);
      if (taken !== undefined) return taken;
    }
  };
  const oldest = new Map<string, NumberedRequest>();
  const recent = abilities.oneWriter ? new RecentRequests() : null;
  /** The number of requests that wait to be counted in the database; while there are any, further requests that only read do not wait. */
  let uncounted = 0;
  const count = async (
    keyId: string,
    limit: number,
    { onlyReads = false, amount = 1, counted = 0 }: CountOptions = {},
  ): Promise<AdmittedRequests> => {
    const inMemory = (waitSecs: number) => ({ waitSecs, ...recent?.window(keyId, now()) }) as AdmittedRequests;
    const wait = () => recent?.waitSecs(keyId, { limit, amount, counted }, now()) ?? 0;
    const spent = wait();
    if (spent > 0) return inMemory(spent);
    const taken = takeOne({ keyId, limit, amount, counted, from: oldest.get(keyId)?.n ?? 0 });
    const answer = recent && onlyReads ? await inTime(taken, uncounted > 0 ? 0 : READ_PATIENCE_MS) : await taken;
    if (answer === undefined) {
      uncounted++;
      taken.catch(() => {}).finally(() => uncounted--);
    }
    const waitSecs = answer?.waitSecs ?? wait();
    if (waitSecs === 0) recent?.add(keyId, amount, now());
    if (!answer) return inMemory(waitSecs);
    const { newest, first } = answer;
    if (first) oldest.set(keyId, first);
    const resetSecs = first ? Math.max(0, Math.ceil((first.at + WINDOW_MS - now()) / 1000)) : 0;
    return { waitSecs, used: first ? newest - first.n + 1 : 0, resetSecs };
  };
  return {
    /**
     * Admits one more request of a key, or refuses it. The sliding limit is exact over all processes, and refused requests do not count.
     * A changed limit applies from the next request on; earlier requests count against it.
     * @param limit the most requests in any 60 s; it may differ between calls.
     * @returns 0 if the request is admitted, otherwise the whole seconds until it would be.
     */
    async take(keyId: string, limit: number, options: CountOptions = {}): Promise<number> {
      return (await count(keyId, limit, options)).waitSecs;
    },

    /** Does what `take` does, and also returns the state of the window after it. */
    count,

    /** Removes requests that have left the window. To be called periodically. */
    async forget(): Promise<void> {
      recent?.forget(now());
      const cutoff = now() - WINDOW_MS;
      for (const [keyId, { at }] of oldest) if (at <= cutoff) oldest.delete(keyId);
      await transactions.runUnflushed((trx) =>
        trx
          .deleteFrom("quota")
          .where("at", "<=", cutoff)
          // The newest row of each key stays, because the next number continues from it.
          .where(({ exists, selectFrom }) =>
            exists(
              selectFrom("quota as newer")
                .select("newer.n")
                .whereRef("newer.key_id", "=", "quota.key_id")
                .whereRef("newer.n", ">", "quota.n"),
            ),
          )
          .execute(),
      );
    },
  };
}

export interface CountOptions {
  /**
   * Whether the request only reads. On a database with one writer, such a request waits only briefly if another process, such as a command,
   * keeps the database locked: this process then decides by the requests that it admitted itself, and counts the request in the database
   * when the lock is free. The request counts there for a minute from that time on, and not at all if this process ends before that time.
   */
  readonly onlyReads?: boolean;
  /** As how many requests this one counts; 1 by default. It is admitted as a whole or not at all: never with an amount above the limit. */
  readonly amount?: number;
  /**
   * As how many requests this one has been counted already, for example because its size was unknown when it arrived. This count stays. If
   * the request is refused, the returned wait is the time until the whole request would be admitted if it were sent again.
   */
  readonly counted?: number;
}

/** The requests of a key in the window. */
export interface AdmittedRequests {
  /** 0 if the request was admitted, otherwise the seconds until it would be. */
  readonly waitSecs: number;
  /** The number of requests in the window, including this one if it was admitted. */
  readonly used: number;
  /** The seconds until the oldest request leaves the window; 0 if there is none. */
  readonly resetSecs: number;
}
