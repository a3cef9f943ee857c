import { sql, type Transaction } from "kysely";
import type { Schema } from "../../database/schema.ts";

/** Adds indexes that find the oldest records without reading younger ones. */
export async function retention(trx: Transaction<Schema>): Promise<void> {
  await sql`create index submissions_ended on submissions (completed_at) where completed_at is not null`.execute(trx);
  await sql`create index deliveries_tests on deliveries (ended_at) where submission_seq is null`.execute(trx);
}
