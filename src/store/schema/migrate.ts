import { type Kysely, sql, type Transaction } from "kysely";
import type { Abilities, Database } from "../database/database.ts";
import { StoreError } from "../database/errors.ts";
import { retried } from "../database/transactions.ts";
// generated: migration imports
import { accountsAndSubmissions } from "./migrations/0001-accounts-and-submissions.ts";
import { projectsAndWebhooks } from "./migrations/0002-projects-and-webhooks.ts";
import { retention } from "./migrations/0003-retention.ts";
import { people } from "./migrations/0004-people.ts";
import { history } from "./migrations/0005-history.ts";
import { shares } from "./migrations/0006-shares.ts";
import { lists } from "./migrations/0007-lists.ts";
import { fairDeliveries } from "./migrations/0008-fair-deliveries.ts";
import { sends } from "./migrations/0009-sends.ts";
import { additions } from "./migrations/0010-additions.ts";
import { judgements } from "./migrations/0011-judgements.ts";
import { problems } from "./migrations/0012-problems.ts";
import { judgementsOfProblems } from "./migrations/0013-judgements-of-problems.ts";
import { causes } from "./migrations/0014-causes.ts";
import { samples } from "./migrations/0015-samples.ts";
import { webhookHeadersAndAuditSearch } from "./migrations/0016-webhook-headers-and-audit-search.ts";
import { historyOfUse } from "./migrations/0017-history-of-use.ts";
import { judge0 } from "./migrations/0018-judge0.ts";
import { liveInput } from "./migrations/0019-live-input.ts";
import { compileOutput } from "./migrations/0020-compile-output.ts";
import { progress } from "./migrations/0021-progress.ts";
// end
import type { Schema } from "./schema.ts";

export type Migration = (trx: Transaction<Schema>, abilities: Abilities) => Promise<void>;

/** All migrations in order; the version of a schema is the number of its migrations. Released migrations never change. */
// generated: migrations
const MIGRATIONS: readonly Migration[] = [
  accountsAndSubmissions,
  projectsAndWebhooks,
  retention,
  people,
  history,
  shares,
  lists,
  fairDeliveries,
  sends,
  additions,
  judgements,
  problems,
  judgementsOfProblems,
  causes,
  samples,
  webhookHeadersAndAuditSearch,
  historyOfUse,
  judge0,
  liveInput,
  compileOutput,
  progress,
];
// end

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
