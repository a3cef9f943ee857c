import { sql, type Transaction } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import { dayOf } from "../../domain/egress/bound.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { purgeVersion } from "../judgements/versions.ts";

export type RetentionStore = ReturnType<typeof retentionStore>;

/**
 * Deletes ended submissions, judgements and sandboxes. Each submission and judgement is deleted with its program, output and deliveries in one transaction, because the
 * record of an ended submission or judgement never changes: it is either complete or absent.
 * @param now milliseconds since the epoch.
 */
export function retentionStore({ db, abilities }: Database, transactions: Transactions, now: () => number) {
  return {
    /**
     * Deletes what ended at `beforeMs` or earlier, oldest first: up to `max` submissions, up to `max` deliveries of test messages, a few
     * judgements, whose runs the following calls delete, and a part of a version that nothing uses. A submission or judgement with a
     * pending delivery stays.
     * @returns the number of deleted records, or at least `max` if more may be left: the caller repeats the call until the number is lower.
     */
    purge(beforeMs: number, max: number): Promise<number> {
      return transactions.run(async (trx) => {
        const old = trx
          .selectFrom("submissions")
          .select("seq")
          .where("completed_at", "<=", beforeMs)
          .where("judgement_seq", "is", null) // a run stays as long as its judgement
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
        const sandboxes = await removeSandboxes(trx, { beforeMs, max });
        const tests = await removeTests(trx, beforeMs, max);
        const deleted = (await remove(trx, await old.execute())) + tests + judged + sandboxes;
        return more ? Math.max(max, deleted) : deleted;
      });
    },

    /**
     * Deletes what an account has, unless it ended or was changed after `endedBeforeMs`: up to `max` ended submissions, sandboxes, snapshots and
     * problems, a few judgements, whose runs the following calls delete, a part of a version that nothing uses, and counts of hosts that sandboxes
     * have reached. Results with pending deliveries are deleted too.
     * @returns the number of deleted records; 0 if nothing is left to delete.
     */
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
        const sandboxes = await removeSandboxes(trx, { beforeMs: endedBeforeMs, max, accountId });
        // The machine that has their archives removes those (SnapshotSweeper).
        const snapshots = trx
          .selectFrom("snapshots")
          .select("seq")
          .where("account_id", "=", accountId)
          .where("created_at", "<=", endedBeforeMs)
          .where("written_until", "is", null)
          .limit(max);
        const taken = await trx.deleteFrom("snapshots").where("seq", "in", snapshots).executeTakeFirst();
        const hosts = await removeHosts(trx, { accountId, beforeMs: endedBeforeMs, max });
        const removed = (await remove(trx, await theirs.execute())) + deleted + sandboxes + hosts;
        return removed + Number(taken.numDeletedRows);
      });
    },

    /** Adds an audit entry for the erasure of an account. @returns the time of the entry, which is `endedBeforeMs` for `erase`. */
    beginErase(accountId: string, actor: AuditActor): Promise<number> {
      return transactions.run(async (trx) => {
        const atMs = now();
        const detail = { endedBefore: new Date(atMs).toISOString() };
        await addAuditEntry(trx, { atMs, actor, action: "account.erase", subject: accountId, accountId, detail });
        return atMs;
      });
    },

    /** The number of submissions and sandboxes of an account that have not ended. */
    async unended(accountId: string): Promise<number> {
      const { count } = await db
        .selectFrom("submissions")
        .select((eb) => eb.fn.countAll<number | string>().as("count"))
        .where("account_id", "=", accountId)
        .where("completed_at", "is", null)
        .executeTakeFirstOrThrow();
      const { sandboxes } = await db
        .selectFrom("sandboxes")
        .select((eb) => eb.fn.countAll<number | string>().as("sandboxes"))
        .where("account_id", "=", accountId)
        .where("ended_at", "is", null)
        .executeTakeFirstOrThrow();
      return Number(count) + Number(sandboxes);
    },
  };
}

/** Deletes submissions with all dependent rows. @returns the number of deleted submissions. */
async function remove(trx: Transaction<Schema>, rows: readonly { readonly seq: number }[]): Promise<number> {
  if (rows.length === 0) return 0;
  const seqs = rows.map(({ seq }) => seq).sort((a, b) => a - b); // in a fixed order, to avoid deadlocks between purges
  const { numDeletedRows } = await trx.deleteFrom("submissions").where("seq", "in", seqs).executeTakeFirst();
  return Number(numDeletedRows);
}

/** The most judgements that one transaction deletes: each has up to 500 runs, which it changes. */
const JUDGEMENTS_AT_ONCE = 2;

/**
 * Deletes judgements, but not the submissions of their runs. The runs of one judgement can have 1 GiB of output, and to delete so much in
 * one transaction would block all writers of SQLite for seconds. They become single submissions, which later transactions delete.
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

/**
 * Deletes sandboxes that ended at `beforeMs` or earlier: first up to `max` of their executions, which can have several MiB each, then
 * sandboxes without executions. @returns the number of deleted rows.
 */
async function removeSandboxes(
  trx: Transaction<Schema>,
  { beforeMs, max, accountId }: { readonly beforeMs: number; readonly max: number; readonly accountId?: string },
): Promise<number> {
  let old = trx.selectFrom("sandboxes").select("sandboxes.seq").where("ended_at", "<=", beforeMs);
  if (accountId !== undefined) old = old.where("account_id", "=", accountId);
  const sandboxes = await old.orderBy("ended_at").limit(max).execute();
  let deleted = 0;
  for (const { seq } of sandboxes) {
    if (deleted >= max) break;
    const numbers = trx
      .selectFrom("executions")
      .select("number")
      .where("sandbox_seq", "=", seq)
      .orderBy("number")
      .limit(max - deleted);
    const removed = await trx
      .deleteFrom("executions")
      .where("sandbox_seq", "=", seq)
      .where("number", "in", numbers)
      .executeTakeFirst();
    deleted += Number(removed.numDeletedRows);
    if (deleted >= max) break; // the sandbox can have more, which the following calls delete
    await trx.deleteFrom("sandboxes").where("seq", "=", seq).execute();
    deleted++;
  }
  return deleted;
}

/** Deletes up to `max` counts of the hosts that sandboxes of an account have reached until this day. @returns their number. */
async function removeHosts(
  trx: Transaction<Schema>,
  { accountId, beforeMs, max }: { readonly accountId: string; readonly beforeMs: number; readonly max: number },
): Promise<number> {
  const key = sql.join(["account_id", "day", "project_id", "name", "decision"].map((column) => sql.ref(column)));
  const { numAffectedRows = 0n } = await sql`
    delete from egress_hosts where (${key}) in (
      select ${key} from egress_hosts where account_id = ${accountId} and day <= ${dayOf(beforeMs)} limit ${max}
    )`.execute(trx);
  return Number(numAffectedRows);
}

/** Deletes ended deliveries of messages that belong to no submission or judgement: tests, and those of sandboxes. @returns their number. */
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
