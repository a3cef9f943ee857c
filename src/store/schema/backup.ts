import { type Kysely, sql } from "kysely";
import type { Database } from "../database/database.ts";
import type { Schema, TableShape } from "../database/schema.ts";
import { BACKED_UP, BACKUP_FORMAT, type Cell, toJson } from "./backup-format.ts";
import { readVersion } from "./migrate.ts";

/** How many rows one statement reads. A row can have 2 MiB: a program with its input, or two outputs. Tables with larger rows are marked as large. */
const ROWS_AT_ONCE = 32;
const LARGE_ROWS_AT_ONCE = 8;

type Row = Readonly<Record<string, Cell>>;

/**
 * Writes a consistent snapshot of the database as lines of JSON that any engine can restore (restore.ts), without blocking
 * writers.
 * @param write awaited after each line, which bounds the memory.
 * @returns the number of rows.
 */
export async function backup(
  { abilities }: Database,
  now: () => number,
  write: (line: string) => Promise<void>,
): Promise<number> {
  const writeLine = (value: unknown) => write(`${JSON.stringify(value)}\n`);
  return await abilities.snapshot(async (db) => {
    const schema = await readVersion(db, abilities);
    await writeLine({ assay: "backup", format: BACKUP_FORMAT, schema, at: new Date(now()).toISOString() });
    let count = 0;
    for (const table of BACKED_UP) {
      let columns: string[] | undefined;
      for await (const row of rowsOf(db, table)) {
        if (!columns) {
          columns = Object.keys(row);
          await writeLine({ table: table.name, columns });
        }
        await writeLine(columns.map((column) => toJson(row[column] ?? null)));
        count++;
      }
    }
    await writeLine({ end: true, rows: count });
    return count;
  });
}

/** The rows of a table in the order of its primary key. They are read in parts, each of which begins after the previous one. */
async function* rowsOf(db: Kysely<Schema>, { name, key, isLarge }: TableShape): AsyncGenerator<Row> {
  const atOnce = isLarge ? LARGE_ROWS_AT_ONCE : ROWS_AT_ONCE;
  const columns = sql.join(key.map((column) => sql.ref(column)));
  let last: Row | undefined;
  do {
    const seen = last;
    const after = seen ? sql`where (${columns}) > (${sql.join(key.map((column) => seen[column]))})` : sql``;
    const { rows } = await sql<Row>`
      select * from ${sql.table(name)} ${after} order by ${columns} limit ${sql.lit(atOnce)}`.execute(db);
    yield* rows;
    last = rows.length === atOnce ? rows.at(-1) : undefined;
  } while (last);
}
