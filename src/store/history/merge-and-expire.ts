import { type RawBuilder, sql, type Transaction } from "kysely";
import { dayOf } from "../../domain/egress/bound.ts";
import type { Schema } from "../database/schema.ts";
import { AMOUNTS } from "./count.ts";

const HOUR_MS = 3_600_000;

/** How the rows of minutes in a table become one row of their hour. */
interface MergeRule {
  /** Rows with the same values in these columns become one row. */
  readonly keys: readonly string[];
  /** The columns whose values are combined. */
  readonly values: readonly string[];
  readonly by: "sum" | "max";
}

const TABLES: Readonly<Record<string, MergeRule>> = {
  ...Object.fromEntries(
    Object.entries(AMOUNTS).map(([table, keys]) => [
      table,
      { keys: ["account_id", ...keys], values: ["amount"], by: "sum" } satisfies MergeRule,
    ]),
  ),
  history_load: { keys: ["account_id"], values: ["pending", "running", "slots"], by: "max" },
};

/**
 * Deletes the rows before `deleteBeforeMs`, also those of what sandboxes have reached, and merges the rows of minutes before `mergeBeforeMs` into rows of hours. Both are
 * milliseconds since the epoch.
 */
export async function mergeAndExpire(
  trx: Transaction<Schema>,
  { mergeBeforeMs, deleteBeforeMs }: { readonly mergeBeforeMs: number; readonly deleteBeforeMs: number },
): Promise<void> {
  for (const [table, rule] of Object.entries(TABLES)) {
    await sql`delete from ${sql.table(table)} where at < ${deleteBeforeMs}`.execute(trx);
    await mergeIntoHours(trx, table, rule, mergeBeforeMs);
  }
  const deleteBeforeDay = dayOf(deleteBeforeMs);
  await trx.deleteFrom("egress_hosts").where("day", "<", deleteBeforeDay).execute();
  await trx.deleteFrom("egress_days").where("day", "<", deleteBeforeDay).execute();
}

/** Merges the rows of minutes before `beforeMs` into rows of hours. The row of the first minute of an hour becomes that of the hour. */
async function mergeIntoHours(
  trx: Transaction<Schema>,
  table: string,
  { keys, values, by }: MergeRule,
  beforeMs: number,
): Promise<void> {
  const tableSql = sql.table(table);
  const keysSql = sql.join(keys.map((column) => sql.ref(column)));
  const valuesSql = sql.join(values.map((column) => sql.ref(column)));
  const mergedSql = sql.join(values.map((column) => sql`${sql.raw(by)}(${sql.ref(column)})`));
  const updateSql = sql.join(
    values.map((column) => sql`${sql.ref(column)} = ${by === "sum" ? summed(table, column) : highest(table, column)}`),
  );
  const isMinuteSql = sql`at < ${beforeMs} and at % ${sql.lit(HOUR_MS)} <> 0`;
  await sql`
    insert into ${tableSql} (at, ${keysSql}, ${valuesSql})
    select at - at % ${sql.lit(HOUR_MS)}, ${keysSql}, ${mergedSql} from ${tableSql} where ${isMinuteSql} group by 1, ${keysSql}
    on conflict (at, ${keysSql}) do update set ${updateSql}`.execute(trx);
  await sql`delete from ${tableSql} where ${isMinuteSql}`.execute(trx);
}

/** The sum of the stored and the new value. It is used in an insert that updates a row which has the key already. */
function summed(table: string, column: string): RawBuilder<unknown> {
  return sql`${sql.ref(`${table}.${column}`)} + ${sql.ref(`excluded.${column}`)}`;
}

/**
 * The higher of the stored and the new value. It is used like `summed`. It is a CASE, because the function is called MAX() in SQLite and
 * GREATEST() in PostgreSQL.
 */
export function highest(table: string, column: string): RawBuilder<number> {
  const [old, young] = [sql.ref(`${table}.${column}`), sql.ref(`excluded.${column}`)];
  return sql`case when ${young} > ${old} then ${young} else ${old} end`;
}
