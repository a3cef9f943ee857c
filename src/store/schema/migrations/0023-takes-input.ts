import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/**
 * Adds a column for what `submissions.live` says by the value 2: that a client gives the program input while it runs. Release 0.1.0 reads
 * and writes only `live` (src/store/submissions/takes-input.ts).
 */
export async function takesInput(trx: Transaction<Schema>, _: Abilities): Promise<void> {
  // 1 if clients give the program input while it runs; otherwise null.
  await trx.schema.alterTable("submissions").addColumn("takes_input", "integer").execute();
  await trx.updateTable("submissions").set({ takes_input: 1 }).where("live", "=", 2).execute();
}
