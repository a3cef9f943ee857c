import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Adds a table that counts tests and replays of the last minute for all processes, and an index of pending replays. */
export async function sends(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    // Requests of the last minute that made the service send to webhook endpoints, and the deliveries that replays
    // added.
    .createTable("sends")
    .addColumn("seq", columns.sequenceType, columns.sequence)
    .addColumn("at", "bigint", (c) => c.notNull())
    .addColumn("account_id", "text", (c) => c.notNull())
    .addColumn("kind", "text", (c) => c.notNull())
    .addColumn("amount", "bigint", (c) => c.notNull())
    .execute();
  await trx.schema.createIndex("sends_account").on("sends").columns(["account_id", "kind", "at"]).execute();
  await trx.schema.createIndex("sends_at").on("sends").column("at").execute();
  await sql`create index deliveries_pending_replays on deliveries (endpoint_id)
    where state = 'pending' and kind = 'replay'`.execute(trx);
}
