import type { Transaction } from "kysely";
import type { Schema } from "../../database/schema.ts";

/** Adds the samples of memory and CPU time during runs. They are not in the table of outcomes, because that is read more often. */
export async function samples(trx: Transaction<Schema>): Promise<void> {
  await trx.schema
    // The samples of submissions that ran long enough to have some.
    .createTable("samples")
    .addColumn("submission_seq", "bigint", (c) => c.primaryKey().references("submissions.seq").onDelete("cascade"))
    // JSON; src/domain/samples.ts has the format.
    .addColumn("body", "text", (c) => c.notNull())
    .execute();
}
