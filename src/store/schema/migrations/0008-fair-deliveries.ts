import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../schema.ts";

/** Adds turns of accounts in the outbox, former secrets with an expiry, and an index of failed deliveries. */
export async function fairDeliveries(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    .alterTable("accounts")
    .addColumn("delivery_turn", "bigint", (c) => c.notNull().defaultTo(0))
    .execute();
  await trx.schema
    .createTable("former_secrets")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("endpoint_id", "text", (c) => c.notNull().references("endpoints.id"))
    .addColumn("secret", columns.bytes, (c) => c.notNull())
    .addColumn("ends_at", "bigint", (c) => c.notNull())
    .execute();
  await trx.schema
    .createIndex("former_secrets_endpoint")
    .on("former_secrets")
    .columns(["endpoint_id", "ends_at"])
    .execute();
  await sql`create index deliveries_failed on deliveries (endpoint_id, seq) where state = 'failed'`.execute(trx);
}
