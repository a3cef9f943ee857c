import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/**
 * Adds how far submissions of several runs have come, so that they can give up their slot between two runs. Submissions that did are marked
 * by the number of their completed runs, so that the claim of any other submission reads no progress.
 */
export async function progress(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    // How far submissions have come that gave up their slot between two of their runs. The end of a submission
    // deletes its row. A row can have several MiB.
    .createTable("submission_progress")
    .addColumn("submission_seq", "bigint", (c) => c.primaryKey().references("submissions.seq").onDelete("cascade"))
    // JSON; src/domain/progress.ts has the format.
    .addColumn("body", columns.bytes, (c) => c.notNull())
    .execute();
  // The number of completed runs when the submission last gave up its slot between two runs; null if it never did.
  await trx.schema.alterTable("submissions").addColumn("completed_runs", "integer").execute();
}
