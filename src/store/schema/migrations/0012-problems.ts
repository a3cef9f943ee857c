import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Adds problems with their numbered versions, and to judgements the id of their problem, which may have been deleted. */
export async function problems(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    // The problems of accounts: tests that are stored under a name.
    .createTable("problems")
    .addColumn("seq", columns.sequenceType, columns.sequence)
    .addColumn("id", "text", (c) => c.notNull().unique())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("title", "text", (c) => c.notNull())
    // The number of the current version.
    .addColumn("version", "integer", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("updated_at", "bigint", (c) => c.notNull())
    .addUniqueConstraint("problems_name", ["account_id", "name"])
    .execute();
  await trx.schema.createIndex("problems_account").on("problems").columns(["account_id", "seq"]).execute();
  await trx.schema
    // The newest versions of problems.
    .createTable("problem_versions")
    .addColumn("problem_seq", "bigint", (c) => c.notNull().references("problems.seq").onDelete("cascade"))
    // 1 for the first.
    .addColumn("number", "integer", (c) => c.notNull())
    .addColumn("version_seq", "bigint", (c) => c.notNull().references("versions.seq"))
    .addColumn("tests", "integer", (c) => c.notNull())
    // The size of all inputs and answers together.
    .addColumn("bytes", "bigint", (c) => c.notNull())
    // The limits of each test; null for those of the profile.
    .addColumn("cpu_secs", "double precision")
    .addColumn("memory_bytes", "bigint")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("problem_versions_pk", ["problem_seq", "number"])
    .execute();
  await trx.schema.createIndex("problem_versions_of").on("problem_versions").column("version_seq").execute();
  // The problem, which may have been deleted, and the number of its version. Both are null if the request contained
  // the tests.
  await trx.schema.alterTable("judgements").addColumn("problem_id", "text").execute();
  await trx.schema.alterTable("judgements").addColumn("problem_version", "integer").execute();
}
