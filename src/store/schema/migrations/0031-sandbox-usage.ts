import type { Transaction } from "kysely";
import type { Schema } from "../../database/schema.ts";

/** Adds what sandboxes used over their life. Earlier releases ignore the table. */
export async function sandboxUsage(trx: Transaction<Schema>): Promise<void> {
  await trx.schema
    // A table of its own, because lists of sandboxes read whole rows.
    .createTable("sandbox_usage")
    .addColumn("sandbox_seq", "bigint", (c) => c.primaryKey().references("sandboxes.seq").onDelete("cascade"))
    // JSON of the samples (src/domain/sandboxes/usage.ts): at most 10 kB.
    .addColumn("samples", "text", (c) => c.notNull())
    .execute();
}
