import { type Marks, readMarks, readTotalsMark } from "../changes/change-marks.ts";
import type { AccountReads } from "../database/account-reads.ts";
import type { Database } from "../database/database.ts";
import type { Transactions } from "../database/transactions.ts";
import { countDeliveries, countEnds, hasUncountedDeliveries } from "./count.ts";
import { addLoad, readQueue } from "./load.ts";
import { mergeAndExpire } from "./merge-and-expire.ts";
import { readDeliveries, readEnds, readFailing, readGroups, readLoad } from "./read-history.ts";
import type { Counts, DeliveryCount, EndsOf, FailingEndpoint, Group, GroupBy, LoadCount, Range } from "./types.ts";

/** Aggregates of ended submissions and deliveries, queue and slots by time. They outlive the records. */
export type HistoryStore = ReturnType<typeof historyStore>;

/**
 * Aggregates of ended submissions. The transaction of an end inserts a row into `uncounted`, and the transaction that counts
 * it deletes that row. Each end is therefore counted once, regardless of crashes, delays and deleted records. If each end
 * updated the aggregate itself, all processes would wait for each other's commits at the row of the current minute.
 * Ended deliveries are counted in the same way.
 */
export function historyStore(
  { db, abilities }: Database,
  transactions: Transactions,
  reads: AccountReads,
  now: () => number,
) {
  return {
    /**
     * Counts up to `max` ended submissions. Each is counted once, over all processes.
     * @returns the number of counted submissions; fewer than `max` if all are counted.
     */
    count(max: number): Promise<number> {
      // A power failure that loses the aggregate also restores the uncounted rows.
      return transactions.runAsyncCommit(async (trx) => {
        await abilities.lock(trx, "history");
        return await countEnds(trx, max);
      });
    },

    /** Counts ended deliveries. @returns how many were counted; less than `max` means that none are left. */
    async countDeliveries(max: number): Promise<number> {
      if (!(await hasUncountedDeliveries(db))) return 0;
      return await transactions.runAsyncCommit(async (trx) => {
        await abilities.lock(trx, "history");
        return await countDeliveries(trx, max);
      });
    },

    /** Records what is pending and running now, of the whole service and of each account. @param slots of all workers. */
    async sample(slots: number): Promise<void> {
      const loads = await readQueue(db);
      await transactions.runAsyncCommit(async (trx) => {
        await abilities.lock(trx, "history");
        await addLoad(trx, loads, slots, now());
      });
    },

    /** Merges minutes before `mergeBeforeMs` into hours, and deletes everything before `deleteBeforeMs`. */
    async mergeAndExpire(times: { readonly mergeBeforeMs: number; readonly deleteBeforeMs: number }): Promise<void> {
      await transactions.runAsyncCommit(async (trx) => {
        await abilities.lock(trx, "history");
        await mergeAndExpire(trx, times);
      });
    },

    /** Ended submissions and their times. */
    read: (range: Range): Promise<Counts> => reads.run(range.accountIds, () => readEnds(db, range)),

    /** The `most` groups with the most ends, largest first. */
    groups: (range: Range, by: GroupBy, most: number): Promise<readonly Group[]> =>
      reads.run(range.accountIds, () => readGroups(db, range, by, most)),

    /** Ended submissions of a key or of the keys of a project. @param range.accountIds its account. */
    readOf: (range: Range, of: EndsOf): Promise<Counts["ended"]> =>
      reads.run(range.accountIds, () => readEnds(db, range, of)).then(({ ended }) => ended),

    /** Ended deliveries, by endpoint. */
    deliveries: (range: Range, endpointId?: string): Promise<readonly DeliveryCount[]> =>
      reads.run(range.accountIds, () => readDeliveries(db, range, endpointId)),

    /** The `most` endpoints with the most failed deliveries, removed ones included. */
    failing: (range: Range, most: number): Promise<readonly FailingEndpoint[]> =>
      reads.run(range.accountIds, () => readFailing(db, range, most)),

    /** Texts whose difference shows a change. @param accountIds null for all. */
    marks: (accountIds: readonly string[] | null): Promise<Marks> => readMarks(db, accountIds),

    /** A mark of the aggregates, which changes when they do. */
    totalsMark: (accountIds: readonly string[] | null): Promise<string> => readTotalsMark(db, accountIds, now()),

    /** Queue and slots. Times without a row were not recorded. */
    load: (range: Range): Promise<readonly LoadCount[]> => reads.run(range.accountIds, () => readLoad(db, range)),
  };
}
