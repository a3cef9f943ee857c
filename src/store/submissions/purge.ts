import { sql, type Transaction } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { Transactions } from "../database/transactions.ts";
import { purgeVersion } from "../judgements/versions.ts";
import type { Schema } from "../schema/schema.ts";

/** Deletes records; only terminal ones. */
export type RetentionStore = ReturnType<typeof retentionStore>;

/**
 * Deletes records. The record of a submission or judgement is deleted as a whole, with its program, output, deliveries and their log, because a terminal
 * record never changes: it is either complete or absent.
 * @param now milliseconds since the epoch.
 */
export function retentionStore({ db, abilities }: Database, transactions: Transactions, now: () => number) {
  return {
    /**
     * Deletes up to `max` records that ended at that time or before, oldest first, as many test messages, and some
     * judgements, whose runs are deleted by the following calls, and tests. A record with a pending delivery stays.
     * @returns the number of deleted records; fewer than `max` if no older ones are left.
     */
    purge(beforeMs: number, max: number): Promise<number> {
      return transactions.run(async (trx) => {
        const old = trx
          .selectFrom("submissions")
          .select("seq")
          .where("completed_at", "<=", beforeMs)
          .where("judgement_seq", "is", null) // deleted with its judgement
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
        const judgements = await trx
          .selectFrom("judgements")
          .select("seq")
          .where("completed_at", "<=", beforeMs)
          .where(({ not, exists, selectFrom }) =>
            not(
              exists(
                selectFrom("deliveries")
                  .select("deliveries.seq")
                  .whereRef("deliveries.judgement_seq", "=", "judgements.seq")
                  .where("state", "=", sql.lit("pending")),
              ),
            ),
          )
          .orderBy("completed_at")
          .limit(JUDGEMENTS_AT_ONCE)
          .execute();
        const judged = await removeJudgements(trx, judgements);
        const more = (await purgeVersion(trx, abilities, { beforeMs })) || judgements.length === JUDGEMENTS_AT_ONCE;
        const deleted = (await remove(trx, await old.execute())) + (await removeTests(trx, beforeMs, max)) + judged;
        return more ? Math.max(max, deleted) : deleted;
      });
    },

    /** Deletes up to `max` records of an account, including undelivered ones, and its problems. @returns their number; 0 if none is left. */
    erase(accountId: string, endedBeforeMs: number, max: number): Promise<number> {
      return transactions.run(async (trx) => {
        const theirs = trx
          .selectFrom("submissions")
          .select("seq")
          .where("account_id", "=", accountId)
          .where("completed_at", "<=", endedBeforeMs)
          .where("judgement_seq", "is", null)
          .limit(max);
        const judgements = trx
          .selectFrom("judgements")
          .select("seq")
          .where("account_id", "=", accountId)
          .where("completed_at", "<=", endedBeforeMs)
          .limit(JUDGEMENTS_AT_ONCE);
        const judged = await removeJudgements(trx, await judgements.execute());
        const problems = trx
          .selectFrom("problems")
          .select("seq")
          .where("account_id", "=", accountId)
          .where("updated_at", "<=", endedBeforeMs)
          .limit(max);
        const { numDeletedRows } = await trx.deleteFrom("problems").where("seq", "in", problems).executeTakeFirst();
        const tests = await purgeVersion(trx, abilities, { beforeMs: endedBeforeMs, accountId });
        const deleted = judged + Number(numDeletedRows) + (tests ? 1 : 0);
        return (await remove(trx, await theirs.execute())) + deleted;
      });
    },

    /** Adds an audit entry for the erasure of an account's records. @returns its time; records of later ends stay. */
    beginErase(accountId: string, actor: AuditActor): Promise<number> {
      return transactions.run(async (trx) => {
        const atMs = now();
        const detail = { endedBefore: new Date(atMs).toISOString() };
        await addAuditEntry(trx, { atMs, actor, action: "account.erase", subject: accountId, accountId, detail });
        return atMs;
      });
    },

    /** Number of submissions of an account that have not ended. */
    async unended(accountId: string): Promise<number> {
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

/** Each judgement has up to 500 runs. */
const JUDGEMENTS_AT_ONCE = 2;

/**
 * Deletes judgements, but not the submissions of their runs, which can have 1 GiB of output for each judgement: to delete so much
 * would hold the writer of SQLite for seconds. They become submissions like others, which the following steps delete.
 * @returns the number of deleted judgements.
 */
async function removeJudgements(
  trx: Transaction<Schema>,
  judgements: readonly { readonly seq: number }[],
): Promise<number> {
  if (judgements.length === 0) return 0;
  const seqs = judgements.map(({ seq }) => seq).sort((a, b) => a - b);
  await trx
    .updateTable("submissions")
    .set({ judgement_seq: null, test: null })
    .where("judgement_seq", "in", seqs)
    .execute();
  await trx.deleteFrom("judgements").where("seq", "in", seqs).execute();
  return judgements.length;
}

/** Test messages to endpoints belong to no submission. */
async function removeTests(trx: Transaction<Schema>, beforeMs: number, max: number): Promise<number> {
  const rows = await trx
    .selectFrom("deliveries")
    .select("seq")
    .where("submission_seq", "is", null)
    .where("judgement_seq", "is", null)
    .where("ended_at", "<=", beforeMs)
    .orderBy("ended_at")
    .limit(max)
    .execute();
  if (rows.length === 0) return 0;
  const seqs = rows.map(({ seq }) => seq);
  const { numDeletedRows } = await trx.deleteFrom("deliveries").where("seq", "in", seqs).executeTakeFirst();
  return Number(numDeletedRows);
}
