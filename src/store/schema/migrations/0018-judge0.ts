import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../schema.ts";

/**
 * Adds what clients of Judge0 send in addition to the program, and the Judge0 status. Submissions and deliveries are marked if they have
 * such data, so that all others cost no read of it.
 */
export async function judge0(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    .createTable("judge0_submissions")
    .addColumn("submission_seq", "bigint", (c) => c.primaryKey().references("submissions.seq").onDelete("cascade"))
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    .addColumn("language_id", "integer", (c) => c.notNull())
    .addColumn("expected_output", columns.bytes)
    .addColumn("additional_files", columns.bytes)
    .addColumn("settings", "text", (c) => c.notNull())
    .addColumn("callback_url", "text")
    .addColumn("endpoint_id", "text", (c) => c.references("endpoints.id"))
    .addColumn("status", "integer")
    .execute();
  await trx.schema
    .createIndex("judge0_submissions_account")
    .on("judge0_submissions")
    .columns(["account_id", "submission_seq"])
    .execute();
  await trx.schema.alterTable("submissions").addColumn("judge0", "integer").execute();
  await trx.schema.alterTable("deliveries").addColumn("callback", "integer").execute();
}
