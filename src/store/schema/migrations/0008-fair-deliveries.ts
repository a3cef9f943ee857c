import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Adds turns of accounts in the outbox, former secrets with an expiry, and an index of failed deliveries. */
export async function fairDeliveries(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    .alterTable("accounts")
    // The turn for claims of deliveries, among accounts with equally many attempts under way.
    .addColumn("delivery_turn", "bigint", (c) => c.notNull().defaultTo(0))
    .execute();
  await trx.schema
    // Secrets that a rotation replaced: deliveries are also signed with them until they expire.
    .createTable("former_secrets")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("endpoint_id", "text", (c) => c.notNull().references("endpoints.id"))
    // Encrypted, like the current secret.
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
