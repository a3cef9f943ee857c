import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Adds the output of successful compilations, such as warnings. Only submissions that came through the Judge0 API store it. */
export async function compileOutput(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  // The output of a successful compilation; null if there is none.
  await trx.schema.alterTable("judge0_submissions").addColumn("compile_output", columns.bytes).execute();
}
