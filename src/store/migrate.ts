import { type Kysely, sql, type Transaction } from "kysely";
import type { Abilities, Engine } from "./engine.ts";
import { accountsAndSubmissions } from "./migrations/0001-accounts-and-submissions.ts";
import { projectsAndWebhooks } from "./migrations/0002-projects-and-webhooks.ts";
import type { Schema } from "./schema.ts";

export type Migration = (trx: Transaction<Schema>, abilities: Abilities) => Promise<void>;

/** In order; the version of a schema is the number of migrations it has had. Never change a released one. */
const MIGRATIONS: readonly Migration[] = [accountsAndSubmissions, projectsAndWebhooks];

/**
 * Brings the schema up to date, all of it or nothing, so an interrupt is harmless and two
 * processes that start together do not meet half a schema.
 * @throws when the schema is newer than this program.
 */
export async function migrate({ db, abilities }: Engine): Promise<void> {
  if ((await readVersion(db)) === MIGRATIONS.length) return;
  await db.transaction().execute(async (trx) => {
    await sql`create table if not exists schema_version (version integer not null)`.execute(trx);
    const version = await readVersion(trx);
    if (version > MIGRATIONS.length) {
      throw new Error(
        `the database has schema version ${version}, but this program knows only ${MIGRATIONS.length}: run a newer release`,
      );
    }
    for (const migration of MIGRATIONS.slice(version)) await migration(trx, abilities);
    await sql`delete from schema_version`.execute(trx);
    await sql`insert into schema_version (version) values (${MIGRATIONS.length})`.execute(trx);
  });
}

/** 0 for an empty database. */
async function readVersion(db: Kysely<Schema>): Promise<number> {
  const tables = await db.introspection.getTables();
  if (!tables.some((table) => table.name === "schema_version")) return 0;
  const result = await sql<{ version: number }>`select version from schema_version`.execute(db);
  return result.rows[0]?.version ?? 0;
}
