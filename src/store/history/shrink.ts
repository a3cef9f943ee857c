import { type RawBuilder, sql, type Transaction } from "kysely";
import type { Schema } from "../schema/schema.ts";
import { AMOUNTS } from "./count.ts";

const HOUR_MS = 3_600_000;

interface Merged {
  readonly keys: readonly string[];
  /** The columns of values, which are either sums or the highest values. */
  readonly values: readonly string[];
  readonly by: "sum" | "max";
}

const TABLES: Readonly<Record<string, Merged>> = {
  ...Object.fromEntries(
    Object.entries(AMOUNTS).map(([table, keys]) => [
      table,
      { keys: ["account_id", ...keys], values: ["amount"], by: "sum" } satisfies Merged,
    ]),
  ),
  history_load: { keys: ["account_id"], values: ["pending", "running", "slots"], by: "max" },
};

export async function shrink(
  trx: Transaction<Schema>,
  { hoursBeforeMs, forgetBeforeMs }: { readonly hoursBeforeMs: number; readonly forgetBeforeMs: number },
): Promise<void> {
  for (const [table, merged] of Object.entries(TABLES)) {
    await sql`delete from ${sql.table(table)} where at < ${forgetBeforeMs}`.execute(trx);
    await joinHours(trx, table, merged, hoursBeforeMs);
  }
}

/** Merges minutes before that time into hours. */
async function joinHours(
  trx: Transaction<Schema>,
  table: string,
  { keys, values, by }: Merged,
  beforeMs: number,
): Promise<void> {
  const name = sql.table(table);
  const list = (columns: readonly RawBuilder<unknown>[]) => sql.join(columns);
  const key = list(keys.map((column) => sql.ref(column)));
  const merged = list(values.map((column) => sql`${sql.raw(by)}(${sql.ref(column)})`));
  const update = list(
    values.map((column) => sql`${sql.ref(column)} = ${by === "sum" ? summed(table, column) : highest(table, column)}`),
  );
  const minutes = sql`at < ${beforeMs} and at % ${sql.lit(HOUR_MS)} <> 0`;
  await sql`
    insert into ${name} (at, ${key}, ${list(values.map((column) => sql.ref(column)))})
    select at - at % ${sql.lit(HOUR_MS)}, ${key}, ${merged} from ${name} where ${minutes} group by 1, ${key}
    on conflict (at, ${key}) do update set ${update}`.execute(trx);
  await sql`delete from ${name} where ${minutes}`.execute(trx);
}

function summed(table: string, column: string): RawBuilder<unknown> {
  return sql`${sql.ref(`${table}.${column}`)} + ${sql.ref(`excluded.${column}`)}`;
}

/** The function for the higher of two values has another name in each engine. */
export function highest(table: string, column: string): RawBuilder<number> {
  const [old, young] = [sql.ref(`${table}.${column}`), sql.ref(`excluded.${column}`)];
  return sql`case when ${young} > ${old} then ${young} else ${old} end`;
}
