import { type Marks, readMarks, readTotalsMark } from "../changes/change-marks.ts";
import type { AccountReads } from "../database/account-reads.ts";
import type { Database } from "../database/database.ts";
import type { Transactions } from "../database/transactions.ts";
import { countDeliveries, countEnds, hasUncountedDeliveries } from "./count.ts";
import { addLoad, readQueue } from "./load.ts";
import { mergeAndExpire } from "./merge-and-expire.ts";
import { readDeliveries, readEnds, readFailing, readGroups, readLoad } from "./read-history.ts";
import type {
  Counts,
  DeliveryCount,
  EndsOf,
  FailingEndpoint,
  GroupBy,
  GroupCounts,
  HistoryRange,
  LoadCount,
} from "./types.ts";

export type HistoryStore = ReturnType<typeof historyStore>;

/**
 * Aggregates over time: ended submissions and deliveries, the queue and the slots. They stay after the records are deleted.
 *
 * The transaction that ends a submission inserts a row into `uncounted`, and the transaction that counts this end deletes the row. Each end
 * is therefore counted once, regardless of crashes, delays and deleted records. If each end updated the aggregates itself, all processes
 * would wait for each other's commits at the row of the current minute. Ended deliveries are counted in the same way.
 */
export function historyStore(
  { db, abilities }: Database,
  transactions: Transactions,
  reads: AccountReads,
  now: () => number,
) {
  return {
    /**
     * Counts up to `max` ended submissions that no process has counted yet.
     * @returns the number of counted submissions; fewer than `max` if none are left.
     */
    count(max: number): Promise<number> {
      // A power failure that loses this commit loses both the counts and the deletion of the counted rows.
      return transactions.runUnflushed(async (trx) => {
        await abilities.lock(trx, "history");
        return await countEnds(trx, max);
      });
    },

    /** Counts up to `max` ended deliveries. @returns the number of counted deliveries; fewer than `max` if none are left. */
    async countDeliveries(max: number): Promise<number> {
      if (!(await hasUncountedDeliveries(db))) return 0;
      return await transactions.runUnflushed(async (trx) => {
        await abilities.lock(trx, "history");
        return await countDeliveries(trx, max);
      });
    },

    /** Records how many submissions are pending and running now, in total and of each account. @param slots the slots of all workers. */
    async sample(slots: number): Promise<void> {
      const loads = await readQueue(db);
      await transactions.runUnflushed(async (trx) => {
        await abilities.lock(trx, "history");
        await addLoad(trx, loads, slots, now());
      });
    },

    /** Merges the rows of minutes before `mergeBeforeMs` into rows of hours, and deletes all rows before `deleteBeforeMs`. */
    async mergeAndExpire(times: { readonly mergeBeforeMs: number; readonly deleteBeforeMs: number }): Promise<void> {
      await transactions.runUnflushed(async (trx) => {
        await abilities.lock(trx, "history");
        await mergeAndExpire(trx, times);
      });
    },

    /** The numbers of ended submissions, and their wait and run times. */
    read: (range: HistoryRange): Promise<Counts> => reads.run(range.accountIds, () => readEnds(db, range)),

    /** The `most` groups with the most ended submissions, the largest group first. */
    groups: (range: HistoryRange, by: GroupBy, most: number): Promise<readonly GroupCounts[]> =>
      reads.run(range.accountIds, () => readGroups(db, range, by, most)),

    /** The numbers of ended submissions of a key, or of the keys of a project. @param range.accountIds the account of the key or project. */
    readOf: (range: HistoryRange, of: EndsOf): Promise<Counts["ended"]> =>
      reads.run(range.accountIds, () => readEnds(db, range, of)).then(({ ended }) => ended),

    /** The numbers of ended deliveries. @param endpointId only deliveries to this endpoint; all endpoints by default. */
    deliveries: (range: HistoryRange, endpointId?: string): Promise<readonly DeliveryCount[]> =>
      reads.run(range.accountIds, () => readDeliveries(db, range, endpointId)),

    /** The `most` endpoints with the most failed deliveries, including removed endpoints. */
    failing: (range: HistoryRange, most: number): Promise<readonly FailingEndpoint[]> =>
      reads.run(range.accountIds, () => readFailing(db, range, most)),

    /** Texts that change when something of these accounts changes (`Marks`). @param accountIds null for all accounts. */
    marks: (accountIds: readonly string[] | null): Promise<Marks> => readMarks(db, accountIds),

    /** A text that changes when the aggregates of these accounts change. @param accountIds null for all accounts. */
    totalsMark: (accountIds: readonly string[] | null): Promise<string> => readTotalsMark(db, accountIds, now()),

    /** The highest load in each bucket. At times that have no bucket in the result, no service recorded the load. */
    load: (range: HistoryRange): Promise<readonly LoadCount[]> =>
      reads.run(range.accountIds, () => readLoad(db, range)),
  };
}
