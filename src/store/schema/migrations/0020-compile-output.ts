import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../schema.ts";

/** Warnings of successful compilations, which the record does not have. Only submissions of Judge0's clients keep them. */
export async function compileOutput(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema.alterTable("judge0_submissions").addColumn("compile_output", columns.bytes).execute();
}
