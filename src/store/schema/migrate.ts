import { type Kysely, sql, type Transaction } from "kysely";
import type { Abilities, Database } from "../database/database.ts";
import { StoreError } from "../database/errors.ts";
import type { Schema } from "../database/schema.ts";
import { retried } from "../database/transactions.ts";
import { MIGRATIONS } from "./migrations.ts";

/** The version of the schema that this program works with. */
export const NEWEST = MIGRATIONS.length;

/**
 * Updates the schema atomically, so that an interruption is harmless. If several processes start, one of them migrates, and the others wait.
 * @throws StoreError if the schema is newer than this program.
 */
export async function migrate(database: Database): Promise<void> {
  const { db, abilities } = database;
  if ((await readVersion(db, abilities)) === NEWEST) return;
  // A process of an older release may be running. Its transactions lock the tables in another order, so this one may lose a conflict.
  await retried(abilities, () =>
    db.transaction().execute(async (trx) => {
      await abilities.disableStatementTimeout(trx); // another process may be migrating
      await abilities.lock(trx, "migrate");
      await migrateTo(trx, abilities, NEWEST);
    }),
  );
}

/**
 * Runs the migrations from the present version to `target`; does nothing if the schema has reached it.
 * @throws StoreError if the schema is newer than this program.
 */
export async function migrateTo(trx: Transaction<Schema>, abilities: Abilities, target: number): Promise<void> {
  const version = await readVersion(trx, abilities);
  if (version > NEWEST) {
    throw new StoreError(
      `the database has schema version ${version}, but this program knows only ${NEWEST}: run a newer release`,
    );
  }
  if (version >= target) return;
  if (version === 0) await sql`create table schema_version (version integer not null)`.execute(trx);
  for (const migration of MIGRATIONS.slice(version, target)) await migration(trx, abilities);
  await sql`delete from schema_version`.execute(trx);
  await sql`insert into schema_version (version) values (${target})`.execute(trx);
}

/** The version of the schema; 0 for an empty database. */
export async function readVersion(db: Kysely<Schema>, { hasTable }: Abilities): Promise<number> {
  if (!(await hasTable(db, "schema_version"))) return 0;
  const result = await sql<{ version: number }>`select version from schema_version`.execute(db);
  return result.rows[0]?.version ?? 0;
}
