import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Adds input for running programs. `submissions.live` is 2 for submissions that take it. */
export async function liveInput(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    // The input that clients give to submissions while they run. The end of a submission deletes its rows.
    .createTable("live_input")
    .addColumn("submission_seq", "bigint", (c) => c.notNull().references("submissions.seq").onDelete("cascade"))
    // The number of the piece, from 1.
    .addColumn("n", "integer", (c) => c.notNull())
    // The bytes of all pieces up to this one.
    .addColumn("total", "bigint", (c) => c.notNull())
    // Null for a signal. `bytes` and `signal` are both null for the end of the input.
    .addColumn("bytes", columns.bytes)
    .addColumn("signal", "integer")
    .addPrimaryKeyConstraint("live_input_pk", ["submission_seq", "n"])
    .execute();
}
