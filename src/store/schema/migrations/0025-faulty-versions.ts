import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Adds the faults of versions of problems. Release 0.1.0 has no faulty versions, and ignores the column. */
export async function faultyVersions(trx: Transaction<Schema>, _: Abilities): Promise<void> {
  // JSON of the list of texts that the definition of a faulty version has; null for any other version.
  await trx.schema.alterTable("problem_versions").addColumn("faults", "text").execute();
}
