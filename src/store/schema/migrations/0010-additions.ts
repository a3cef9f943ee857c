import type { Transaction } from "kysely";
import type { Capabilities } from "../../database/database.ts";
import type { Schema } from "../schema.ts";

/** Files, arguments, environment and limits of a program. */
export async function additions(trx: Transaction<Schema>, { columns }: Capabilities): Promise<void> {
  await trx.schema.alterTable("programs").addColumn("additions", columns.bytes).execute();
}
