import { sql, type Transaction } from "kysely";
import type { Abilities, Database } from "../database/database.ts";
import { StoreError } from "../database/errors.ts";
import type { Schema, TableShape } from "../database/schema.ts";
import {
  BACKED_UP,
  BACKUP_FORMAT,
  type BackupEnd,
  type BackupHead,
  type Cell,
  fromJson,
  type TableHead,
} from "./backup-format.ts";
import { migrateTo, NEWEST, readVersion } from "./migrate.ts";

/**
 * Restores a backup into an empty database of any engine, atomically. A backup of an older release is restored with the schema of that
 * release, which is then updated.
 * @returns the number of rows.
 * @throws StoreError if the database is not empty, or the backup is damaged, incomplete or from a newer release.
 */
export async function restore({ db, abilities }: Database, lines: AsyncIterable<string>): Promise<number> {
  const reader = lines[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const { done, value } = await reader.next();
    return done ? undefined : parse(value);
  };
  const head = (await next()) as Partial<BackupHead> | undefined;
  checkHead(head);
  return await db.transaction().execute(async (trx) => {
    await abilities.disableStatementTimeout(trx);
    await abilities.lock(trx, "migrate");
    await makeEmpty(trx, abilities, head.schema);
    const count = await readRows(trx, abilities, next);
    await migrateTo(trx, abilities, NEWEST);
    for (const { name, identity } of BACKED_UP) if (identity) await abilities.advanceSequence(trx, name, identity);
    return count;
  });
}

function checkHead(head: Partial<BackupHead> | undefined): asserts head is BackupHead {
  if (head?.assay !== "backup" || typeof head.schema !== "number")
    throw new StoreError("this is not a backup of Assay");
  if (head.format !== BACKUP_FORMAT || head.schema > NEWEST) {
    throw new StoreError("the backup is from a newer release: restore it with that release");
  }
}

/** Creates the schema of the backup, without rows. @throws StoreError if the database has rows, or a schema of another version. */
async function makeEmpty(trx: Transaction<Schema>, abilities: Abilities, version: number): Promise<void> {
  const presentVersion = await readVersion(trx, abilities);
  const another = presentVersion > 0 && presentVersion !== version;
  if (another || (presentVersion > 0 && (await hasRows(trx)))) {
    const why = another ? "the database has another schema already" : "there is something in the database already";
    throw new StoreError(`${why}: restore into a new, empty database`);
  }
  await migrateTo(trx, abilities, version);
  await sql`delete from tiers`.execute(trx); // the default tiers of a new database
}

async function hasRows(trx: Transaction<Schema>): Promise<boolean> {
  for (const { name } of BACKED_UP.filter(({ name }) => name !== "tiers")) {
    const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(trx);
    if (rows.length > 0) return true;
  }
  return false;
}

/** Inserts all rows. @returns their number. @throws StoreError if the last line is missing or states another number. */
async function readRows(trx: Transaction<Schema>, abilities: Abilities, next: () => Promise<unknown>): Promise<number> {
  let count = 0;
  let insert: ((row: readonly unknown[]) => Promise<void>) | undefined;
  const later: (() => Promise<void>)[] = [];
  for (let line = await next(); line !== undefined; line = await next()) {
    if (Array.isArray(line)) {
      if (!insert) throw new StoreError("the backup is damaged: a row before its table");
      await insert(line);
      count++;
    } else if (line !== null && typeof line === "object" && "table" in line) {
      for (const work of later.splice(0)) await work();
      insert = inserter(trx, abilities, line as TableHead, later);
    } else if ((line as Partial<BackupEnd> | null)?.end === true) {
      for (const work of later.splice(0)) await work();
      if ((line as Partial<BackupEnd>).rows !== count) break;
      return count;
    } else {
      throw new StoreError("the backup is damaged: a line of an unknown kind");
    }
  }
  throw new StoreError("the backup is incomplete: it was cut off, or rows are missing");
}

/** A function that inserts rows of a table. @param later receives work for the end of the table: references between its rows. */
function inserter(
  trx: Transaction<Schema>,
  { overridingSequence: givenNumbers }: Abilities,
  { table, columns }: TableHead,
  later: (() => Promise<void>)[],
): (row: readonly unknown[]) => Promise<void> {
  const known: TableShape | undefined = BACKED_UP.find(({ name }) => name === table);
  if (!known || !columns.every((column) => /^[a-z_][a-z0-9_]*$/.test(column))) {
    throw new StoreError(`the backup is damaged: there is no table ${table} with these columns`);
  }
  const into = sql`${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))}) ${givenNumbers}`;
  const itself = known.refersToItself ? columns.indexOf(known.refersToItself) : -1;
  return async (row) => {
    if (row.length !== columns.length) throw new StoreError(`the backup is damaged: a row of ${table} is too short`);
    const cells = row.map(fromJson);
    const referred = cells[itself] ?? null;
    if (itself >= 0) cells[itself] = null;
    await sql`insert into ${into} values (${sql.join(cells)})`.execute(trx);
    if (referred !== null) later.push(() => refer(trx, known, columns, cells, referred));
  };
}

async function refer(
  trx: Transaction<Schema>,
  { name, key: [id = ""], refersToItself = "" }: TableShape,
  columns: readonly string[],
  cells: readonly Cell[],
  referred: Cell,
): Promise<void> {
  await sql`update ${sql.table(name)} set ${sql.ref(refersToItself)} = ${referred}
    where ${sql.ref(id)} = ${cells[columns.indexOf(id)]}`.execute(trx);
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    throw new StoreError("the backup is damaged: a line is not JSON");
  }
}
