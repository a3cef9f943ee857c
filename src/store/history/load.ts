import { type Kysely, sql, type Transaction } from "kysely";
import type { Schema } from "../database/schema.ts";
import { minuteOf } from "./count.ts";
import { highest } from "./merge-and-expire.ts";

/** The value of `account_id` in rows of the whole service. */
export const WHOLE = "";

/**
 * Counts by key, in the indexes of the queue, and then by account, so the number of records does not matter. The status is a literal, for
 * the reason in backlog.ts.
 */
const queued = (status: "pending" | "running") => sql<{ account_id: string; amount: number | string }>`
  select api_keys.account_id, sum(of_key.amount) as amount
  from (select key_id, count(*) as amount from submissions where status = ${sql.lit(status)} group by key_id) as of_key
  join api_keys on api_keys.id = of_key.key_id group by api_keys.account_id`;

/** How many submissions are pending and running. */
export interface Load {
  readonly accountId: string;
  pending: number;
  running: number;
}

/**
 * The load now: of the whole service, and of each account with pending or running submissions. It is read outside of the transaction that
 * stores it, so that other transactions do not wait for the read.
 */
export async function readQueue(db: Kysely<Schema>): Promise<readonly Load[]> {
  const whole: Load = { accountId: WHOLE, pending: 0, running: 0 };
  const all = new Map([[WHOLE, whole]]);
  for (const status of ["pending", "running"] as const) {
    for (const { account_id: accountId, amount } of (await queued(status).execute(db)).rows) {
      const load = all.get(accountId) ?? { accountId, pending: 0, running: 0 };
      load[status] = Number(amount);
      whole[status] += Number(amount);
      all.set(accountId, load);
    }
  }
  return [...all.values()];
}

/** Adds a row of the present minute for each load. If there is such a row already, each of its values becomes the higher one of both. */
export async function addLoad(
  trx: Transaction<Schema>,
  loads: readonly Load[],
  slots: number,
  nowMs: number,
): Promise<void> {
  const rows = loads.map(({ accountId, ...load }) => ({
    ...{ at: minuteOf(nowMs), account_id: accountId, ...load },
    slots: accountId === WHOLE ? slots : 0,
  }));
  const keep = (column: "pending" | "running" | "slots") => highest("history_load", column);
  // With 1,000 rows, a statement has fewer parameters than SQLite allows, which are 32,766.
  for (let from = 0; from < rows.length; from += 1_000) {
    await trx
      .insertInto("history_load")
      .values(rows.slice(from, from + 1_000))
      .onConflict((conflict) =>
        conflict
          .columns(["at", "account_id"])
          .doUpdateSet({ pending: keep("pending"), running: keep("running"), slots: keep("slots") }),
      )
      .execute();
  }
}
