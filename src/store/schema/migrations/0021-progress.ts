import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../schema.ts";

/**
 * Adds how far submissions of several runs have come, so that they can give up their slot between two runs. Submissions that did are marked
 * by the number of their completed runs, so that the claim of any other submission reads no progress.
 */
export async function progress(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    .createTable("submission_progress")
    .addColumn("submission_seq", "bigint", (c) => c.primaryKey().references("submissions.seq").onDelete("cascade"))
    .addColumn("body", columns.bytes, (c) => c.notNull())
    .execute();
  await trx.schema.alterTable("submissions").addColumn("completed_runs", "integer").execute();
}
