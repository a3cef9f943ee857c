import type { Transaction } from "kysely";
import type { Schema } from "../../database/schema.ts";

/** Adds what a process must know to have a sandbox. The release before has no sandboxes. */
export async function sandboxNeeds(trx: Transaction<Schema>): Promise<void> {
  await trx.schema
    .alterTable("sandboxes")
    // The number of the newest feature that the sandbox asks for (SANDBOX_FEATURES in src/domain/sandboxes/sandbox.ts).
    .addColumn("needs", "integer", (c) => c.notNull().defaultTo(0))
    .execute();
}
