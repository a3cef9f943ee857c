import type { Transaction } from "kysely";
import type { Schema } from "../schema.ts";

/** Memory and CPU time of runs over their time, apart from the outcomes, which are read more often. */
export async function samples(trx: Transaction<Schema>): Promise<void> {
  await trx.schema
    .createTable("samples")
    .addColumn("submission_seq", "bigint", (c) => c.primaryKey().references("submissions.seq").onDelete("cascade"))
    .addColumn("body", "text", (c) => c.notNull())
    .execute();
}
