import { sql, type Transaction } from "kysely";
import { note } from "../access/audit.ts";
import type { Engine } from "../engine/engine.ts";
import type { Transactions } from "../engine/transactions.ts";
import type { Schema } from "../schema/schema.ts";
import type { RetentionStore } from "./port.ts";

/**
 * Deletes records. A record is deleted as a whole, with its program, output, deliveries and their log, because a terminal
 * record never changes: it is either complete or absent.
 * @param now milliseconds since the epoch.
 */
export function retentionStore({ db }: Engine, transactions: Transactions, now: () => number): RetentionStore {
  return {
    purge(beforeMs, max) {
      return transactions.run(async (trx) => {
        const old = trx
          .selectFrom("submissions")
          .select("seq")
          .where("completed_at", "<=", beforeMs)
          // Pending deliveries are sent first; a delivery ends within minutes.
          .where(({ not, exists, selectFrom }) =>
            not(
              exists(
                selectFrom("deliveries")
                  .select("deliveries.seq")
                  .whereRef("deliveries.submission_seq", "=", "submissions.seq")
                  .where("state", "=", sql.lit("pending")),
              ),
            ),
          )
          .orderBy("completed_at")
          .limit(max);
        return (await remove(trx, await old.execute())) + (await removeTests(trx, beforeMs, max));
      });
    },

    erase(accountId, endedBeforeMs, max) {
      return transactions.run(async (trx) => {
        const theirs = trx
          .selectFrom("submissions")
          .select("seq")
          .where("account_id", "=", accountId)
          .where("completed_at", "<=", endedBeforeMs)
          .limit(max);
        return await remove(trx, await theirs.execute());
      });
    },

    beginErase(accountId, actor) {
      return transactions.run(async (trx) => {
        const atMs = now();
        const detail = { endedBefore: new Date(atMs).toISOString() };
        await note(trx, { atMs, actor, action: "account.erase", subject: accountId, accountId, detail });
        return atMs;
      });
    },

    async unended(accountId) {
      const { count } = await db
        .selectFrom("submissions")
        .select((eb) => eb.fn.countAll<number | string>().as("count"))
        .where("account_id", "=", accountId)
        .where("completed_at", "is", null)
        .executeTakeFirstOrThrow();
      return Number(count);
    },
  };
}

/** Deletes submissions with all dependent rows. */
async function remove(trx: Transaction<Schema>, rows: readonly { readonly seq: number }[]): Promise<number> {
  if (rows.length === 0) return 0;
  const seqs = rows.map(({ seq }) => seq).sort((a, b) => a - b); // in a fixed order, to avoid deadlocks between purges
  const { numDeletedRows } = await trx.deleteFrom("submissions").where("seq", "in", seqs).executeTakeFirst();
  return Number(numDeletedRows);
}

/** Test messages to endpoints belong to no submission. */
async function removeTests(trx: Transaction<Schema>, beforeMs: number, max: number): Promise<number> {
  const rows = await trx
    .selectFrom("deliveries")
    .select("seq")
    .where("submission_seq", "is", null)
    .where("ended_at", "<=", beforeMs)
    .orderBy("ended_at")
    .limit(max)
    .execute();
  if (rows.length === 0) return 0;
  const seqs = rows.map(({ seq }) => seq);
  const { numDeletedRows } = await trx.deleteFrom("deliveries").where("seq", "in", seqs).executeTakeFirst();
  return Number(numDeletedRows);
}
