import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../schema.ts";

/** Adds input for running programs. `submissions.live` is 2 for submissions that take it. */
export async function liveInput(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    .createTable("live_input")
    .addColumn("submission_seq", "bigint", (c) => c.notNull().references("submissions.seq").onDelete("cascade"))
    .addColumn("n", "integer", (c) => c.notNull())
    .addColumn("total", "bigint", (c) => c.notNull())
    .addColumn("bytes", columns.bytes)
    .addColumn("signal", "integer")
    .addPrimaryKeyConstraint("live_input_pk", ["submission_seq", "n"])
    .execute();
}
