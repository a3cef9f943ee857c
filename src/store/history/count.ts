import { type Kysely, sql, type Transaction } from "kysely";
import { binOf } from "../../domain/history.ts";
import type { Row, Schema } from "../database/schema.ts";

const MINUTE_MS = 60_000;

/** The tables of amounts. The primary key of each table is `at`, `account_id` and these columns. */
export const AMOUNTS = {
  history: ["language", "verdict"],
  history_times: ["kind", "bin"],
  history_keys: ["key_id", "verdict"],
  history_deliveries: ["endpoint_id", "state"],
} as const;
export type AmountTable = keyof typeof AMOUNTS;

export async function countEnds(trx: Transaction<Schema>, max: number): Promise<number> {
  const ended = await takeUncounted(trx, max);
  const [all, times, keys] = [new Sums(), new Sums(), new Sums()];
  for (const { account_id, key_id, language, verdict, completed_at, wait_ms, run_ms } of ended) {
    const of = { at: minuteOf(completed_at), account_id };
    all.add({ ...of, language, verdict });
    times.add({ ...of, kind: "wait", bin: binOf(wait_ms) });
    times.add({ ...of, kind: "run", bin: binOf(run_ms) });
    if (key_id !== null) keys.add({ ...of, key_id, verdict });
  }
  await all.addTo(trx, "history");
  await times.addTo(trx, "history_times");
  await keys.addTo(trx, "history_keys");
  return ended.length;
}

/** Deletes and returns up to `max` of the oldest rows. */
async function takeUncounted(trx: Transaction<Schema>, max: number): Promise<Row<"uncounted">[]> {
  const oldest = trx.selectFrom("uncounted").select("submission_seq").orderBy("submission_seq").limit(max);
  return await trx.deleteFrom("uncounted").where("submission_seq", "in", oldest).returningAll().execute();
}

/** Whether there are uncounted deliveries. Usually there are none, so this is read without a transaction. */
export async function hasUncountedDeliveries(db: Kysely<Schema>): Promise<boolean> {
  return (await db.selectFrom("uncounted_deliveries").select("delivery_seq").limit(1).executeTakeFirst()) !== undefined;
}

export async function countDeliveries(trx: Transaction<Schema>, max: number): Promise<number> {
  const oldest = trx.selectFrom("uncounted_deliveries").select("delivery_seq").orderBy("delivery_seq").limit(max);
  const ended = await trx
    .deleteFrom("uncounted_deliveries")
    .where("delivery_seq", "in", oldest)
    .returningAll()
    .execute();
  if (ended.length === 0) return 0;
  const endpoints = await trx
    .selectFrom("endpoints")
    .innerJoin("projects", "projects.id", "endpoints.project_id")
    .select(["endpoints.id", "account_id"])
    .where("endpoints.id", "in", [...new Set(ended.map(({ endpoint_id }) => endpoint_id))])
    .execute();
  const accounts = new Map(endpoints.map(({ id, account_id }) => [id, account_id]));
  const sums = new Sums();
  for (const { endpoint_id, state, ended_at } of ended) {
    const account_id = accounts.get(endpoint_id);
    if (account_id !== undefined) sums.add({ at: minuteOf(ended_at), account_id, endpoint_id, state });
  }
  await sums.addTo(trx, "history_deliveries");
  return ended.length;
}

export function minuteOf(ms: number): number {
  return ms - (ms % MINUTE_MS);
}

/** The number of ends for each key of a table of amounts. One statement adds all of them to the table. */
class Sums {
  readonly #rows = new Map<string, { readonly key: object; amount: number }>();

  add(key: object): void {
    const name = JSON.stringify(key);
    const row = this.#rows.get(name) ?? { key, amount: 0 };
    row.amount += 1;
    this.#rows.set(name, row);
  }

  async addTo(trx: Transaction<Schema>, table: AmountTable): Promise<void> {
    if (this.#rows.size === 0) return;
    const rows = [...this.#rows.values()].map(({ key, amount }) => ({ ...key, amount }));
    await trx
      .insertInto(table as "history")
      .values(rows as never)
      .onConflict((conflict) =>
        conflict
          .columns(["at", "account_id", ...AMOUNTS[table]] as never)
          .doUpdateSet({ amount: sql`${sql.table(table)}.amount + excluded.amount` }),
      )
      .execute();
  }
}
