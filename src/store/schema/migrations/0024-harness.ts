import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Adds what a problem adds to its submissions. Release 0.1.0 has no problems that add anything, and ignores the column. */
export async function harness(trx: Transaction<Schema>, _: Abilities): Promise<void> {
  // JSON of a Harness (src/domain/harness.ts); null if the problem adds nothing to submissions.
  await trx.schema.alterTable("versions").addColumn("harness", "text").execute();
}
