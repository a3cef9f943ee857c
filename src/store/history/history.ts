import { type RawBuilder, sql, type Transaction } from "kysely";
import { binOf } from "../../domain/history.ts";
import type { Engine } from "../engine/engine.ts";
import type { Transactions } from "../engine/transactions.ts";
import type { Schema, UncountedRow } from "../schema/schema.ts";
import type { Counts } from "./types.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Aggregates of ended submissions by time. They outlive the records. */
export type HistoryStore = ReturnType<typeof historyStore>;

/**
 * Aggregates of ended submissions. The transaction of an end inserts a row into `uncounted`, and the transaction that counts
 * it deletes that row. Each end is therefore counted once, regardless of crashes, delays and deleted records. If each end
 * updated the aggregate itself, all processes would wait for each other's commits at the row of the current minute.
 */
export function historyStore({ db, capabilities: abilities }: Engine, transactions: Transactions) {
  return {
    /**
     * Counts up to `max` ended submissions. Each is counted once, over all processes.
     * @returns the number of counted submissions; fewer than `max` if all are counted.
     */
    count(max: number): Promise<number> {
      // A power failure that loses the aggregate also restores the uncounted rows.
      return transactions.runAsyncCommit(async (trx) => {
        await abilities.lock(trx, "history");
        const ended = await takeUncounted(trx, max);
        if (ended.length > 0) await addUp(trx, ended);
        return ended.length;
      });
    },

    /** Merges minutes before `hoursBeforeMs` into hours, and deletes everything before `forgetBeforeMs`. */
    async shrink({
      hoursBeforeMs,
      forgetBeforeMs,
    }: {
      readonly hoursBeforeMs: number;
      readonly forgetBeforeMs: number;
    }): Promise<void> {
      await transactions.runAsyncCommit(async (trx) => {
        await abilities.lock(trx, "history");
        for (const table of ["history", "history_times"] as const) {
          await trx.deleteFrom(table).where("at", "<", forgetBeforeMs).execute();
          await joinHours(trx, table, hoursBeforeMs);
        }
      });
    },

    /** Counts since `fromMs`, in buckets of `bucketMs`. @param which.accountIds null for all. */
    async read({
      fromMs,
      bucketMs,
      accountIds,
    }: {
      readonly fromMs: number;
      readonly bucketMs: number;
      readonly accountIds: readonly string[] | null;
    }): Promise<Counts> {
      if (accountIds?.length === 0) return { ended: [], times: [] };
      const among = accountIds ? sql`and account_id in (${sql.join(accountIds)})` : sql``;
      const ended = await sql<{ at: number; verdict: string; amount: number | string }>`
        select at - at % ${sql.lit(bucketMs)} as at, verdict, sum(amount) as amount from history
        where at >= ${fromMs} ${among} group by 1, 2`.execute(db);
      const times = await sql<{ at: number; kind: "wait" | "run"; bin: number; amount: number | string }>`
        select at - at % ${sql.lit(bucketMs)} as at, kind, bin, sum(amount) as amount from history_times
        where at >= ${fromMs} ${among} group by 1, 2, 3`.execute(db);
      return { ended: ended.rows.map(counted), times: times.rows.map(counted) };
    },
  };
}

/** PostgreSQL returns sums as text, because they can be larger than a 64-bit integer. */
function counted<Row extends { amount: number | string }>(row: Row): Row & { amount: number } {
  return { ...row, amount: Number(row.amount) };
}

/** Oldest first. */
async function takeUncounted(trx: Transaction<Schema>, max: number): Promise<UncountedRow[]> {
  const oldest = trx.selectFrom("uncounted").select("submission_seq").orderBy("submission_seq").limit(max);
  return await trx
    .deleteFrom("uncounted")
    .where("submission_seq", "in", oldest)
    .returning(["submission_seq", "account_id", "language", "verdict", "completed_at", "wait_ms", "run_ms"])
    .execute();
}

async function addUp(trx: Transaction<Schema>, ended: readonly UncountedRow[]): Promise<void> {
  const sums = new Map<string, { at: number; account_id: string; language: string; verdict: string; amount: number }>();
  const times = new Map<string, { at: number; account_id: string; kind: string; bin: number; amount: number }>();
  for (const { account_id, language, verdict, completed_at, wait_ms, run_ms } of ended) {
    const at = completed_at - (completed_at % MINUTE_MS);
    addTo(sums, { at, account_id, language, verdict });
    addTo(times, { at, account_id, kind: "wait", bin: binOf(wait_ms) });
    addTo(times, { at, account_id, kind: "run", bin: binOf(run_ms) });
  }
  await trx
    .insertInto("history")
    .values([...sums.values()])
    .onConflict((conflict) =>
      conflict
        .columns(["at", "account_id", "language", "verdict"])
        .doUpdateSet({ amount: sql`history.amount + excluded.amount` }),
    )
    .execute();
  await trx
    .insertInto("history_times")
    .values([...times.values()])
    .onConflict((conflict) =>
      conflict
        .columns(["at", "account_id", "kind", "bin"])
        .doUpdateSet({ amount: sql`history_times.amount + excluded.amount` }),
    )
    .execute();
}

function addTo<Key extends object>(sums: Map<string, Key & { amount: number }>, key: Key): void {
  const name = JSON.stringify(key);
  sums.set(name, { ...key, amount: (sums.get(name)?.amount ?? 0) + 1 });
}

const KEYS = { history: ["account_id", "language", "verdict"], history_times: ["account_id", "kind", "bin"] } as const;

/** Merges minutes before that time into hours. */
async function joinHours(trx: Transaction<Schema>, table: keyof typeof KEYS, beforeMs: number): Promise<void> {
  const name = sql.table(table);
  const keys: RawBuilder<unknown> = sql.join(KEYS[table].map((key) => sql.ref(key)));
  const minutes = sql`at < ${beforeMs} and at % ${sql.lit(HOUR_MS)} <> 0`;
  await sql`
    insert into ${name} (at, ${keys}, amount)
    select at - at % ${sql.lit(HOUR_MS)}, ${keys}, sum(amount) from ${name} where ${minutes} group by 1, ${keys}
    on conflict (at, ${keys}) do update set amount = ${name}.amount + excluded.amount`.execute(trx);
  await sql`delete from ${name} where ${minutes}`.execute(trx);
}
