import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/**
 * Adds what clients of Judge0 send in addition to the program, and the Judge0 status. Submissions and deliveries are marked if they have
 * such data, so that all others cost no read of it.
 */
export async function judge0(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    // What submissions have that came through the Judge0 API, in addition to their program and outcome. A row can have several MiB.
    // Releases from the view foreign_submissions on use only the view.
    .createTable("judge0_submissions")
    .addColumn("submission_seq", "bigint", (c) => c.primaryKey().references("submissions.seq").onDelete("cascade"))
    // The account of the submission. An index has the submissions of an account in their order.
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    .addColumn("language_id", "integer", (c) => c.notNull())
    .addColumn("expected_output", columns.bytes)
    .addColumn("additional_files", columns.bytes)
    // JSON; src/compat/judge0/submission.ts has the format.
    .addColumn("settings", "text", (c) => c.notNull())
    .addColumn("callback_url", "text")
    // The endpoint whose secret signs the callback; null without a callback.
    .addColumn("endpoint_id", "text", (c) => c.references("endpoints.id"))
    // The Judge0 status of an ended submission; null until the end.
    .addColumn("status", "integer")
    .execute();
  await trx.schema
    .createIndex("judge0_submissions_account")
    .on("judge0_submissions")
    .columns(["account_id", "submission_seq"])
    .execute();
  // Only for releases before the view foreign_submissions: 1 if there is a row in judge0_submissions, 2 if the submission also runs
  // several times; otherwise null.
  await trx.schema.alterTable("submissions").addColumn("judge0", "integer").execute();
  // 1 for a callback, which has another body and URL than other deliveries; otherwise null.
  await trx.schema.alterTable("deliveries").addColumn("callback", "integer").execute();
}
