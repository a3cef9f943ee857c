import { sql, type Transaction } from "kysely";
import type { Schema } from "../../database/schema.ts";

/** Adds turns and suspensions of accounts. */
export async function shares(trx: Transaction<Schema>): Promise<void> {
  await trx.schema
    .alterTable("accounts")
    // Of accounts with equally many running submissions, the one with the lowest turn is served next. A claim gives
    // it the highest turn.
    .addColumn("turn", "bigint", (c) => c.notNull().defaultTo(0))
    .execute();
  // Null if the account is not suspended.
  await trx.schema.alterTable("accounts").addColumn("suspended_at", "bigint").execute();
  await sql`create index accounts_turn on accounts (turn)`.execute(trx);
}
