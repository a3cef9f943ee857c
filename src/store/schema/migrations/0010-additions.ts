import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Adds the further files, arguments, environment and limits of a program. */
export async function additions(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  // JSON (src/domain/program-options.ts) as UTF-8; null if the program consists of one source file and its input.
  await trx.schema.alterTable("programs").addColumn("additions", columns.bytes).execute();
}
