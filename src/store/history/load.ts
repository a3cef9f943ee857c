import { sql, type Transaction } from "kysely";
import type { Schema } from "../schema/schema.ts";
import { minuteOf } from "./count.ts";
import { highest } from "./shrink.ts";

/** The account of the rows of the whole service. */
export const WHOLE = "";

/** By key from the indexes of the queue, regardless of the number of records. The status is a literal: see backlog.ts. */
export const queued = (status: "pending" | "running") => sql<{ account_id: string; amount: number | string }>`
  select api_keys.account_id, sum(of_key.amount) as amount
  from (select key_id, count(*) as amount from submissions where status = ${sql.lit(status)} group by key_id) as of_key
  join api_keys on api_keys.id = of_key.key_id group by api_keys.account_id`;

/** Adds a row for the service and for each account with pending or running submissions; a row keeps the highest values of its minute. */
export async function sampleLoad(trx: Transaction<Schema>, slots: number, nowMs: number): Promise<void> {
  const at = minuteOf(nowMs);
  const whole = { at, account_id: WHOLE, pending: 0, running: 0, slots };
  const rows = new Map([[WHOLE, whole]]);
  for (const status of ["pending", "running"] as const) {
    for (const { account_id, amount } of (await queued(status).execute(trx)).rows) {
      const row = rows.get(account_id) ?? { at, account_id, pending: 0, running: 0, slots: 0 };
      row[status] = Number(amount);
      whole[status] += Number(amount);
      rows.set(account_id, row);
    }
  }
  const all = [...rows.values()];
  // Below the limit of parameters of a statement, which is 32,766 for SQLite.
  for (let from = 0; from < all.length; from += 1_000) {
    await trx
      .insertInto("history_load")
      .values(all.slice(from, from + 1_000))
      .onConflict((conflict) =>
        conflict.columns(["at", "account_id"]).doUpdateSet({
          pending: highest("history_load", "pending") as never,
          running: highest("history_load", "running") as never,
          slots: highest("history_load", "slots") as never,
        }),
      )
      .execute();
  }
}
