import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Adds what the next process of a machine needs to take over the sandboxes of an earlier one. Earlier releases ignore it. */
export async function keptSandboxes(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  // The launcher that has the box. Null until the box is ready.
  await trx.schema.alterTable("sandboxes").addColumn("launcher", "text").execute();
  // JSON with the token of the box and the environment of its executions, encrypted like a webhook secret. Null once the sandbox has ended.
  await trx.schema.alterTable("sandboxes").addColumn("kept", columns.bytes).execute();
  // Until when its launcher keeps it, if the process that had it was stopped and has left it to the launcher; otherwise null.
  await trx.schema.alterTable("sandboxes").addColumn("kept_until", "bigint").execute();
  await sql`create index sandboxes_kept on sandboxes (launcher) where ended_at is null`.execute(trx);
}
