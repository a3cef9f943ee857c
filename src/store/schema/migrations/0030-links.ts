import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Adds links between services and processes that have sandboxes. Earlier releases ignore both. */
export async function links(trx: Transaction<Schema>, _: Abilities): Promise<void> {
  await trx.schema
    // The announcements of processes that have links: services, and processes that have sandboxes.
    .createTable("links")
    .addColumn("id", "text", (c) => c.primaryKey())
    // SHA-256 of the certificate of the process, hexadecimal.
    .addColumn("fingerprint", "text", (c) => c.notNull())
    // Where the process can be dialled, as HOST:PORT; null: nowhere.
    .addColumn("address", "text")
    // 1 if it is a service, which may ask others.
    .addColumn("is_service", "integer", (c) => c.notNull())
    // The sandboxes that it can have, and their memory; 0: it has none, and may not be asked.
    .addColumn("sandboxes", "integer", (c) => c.notNull())
    .addColumn("memory_bytes", "bigint", (c) => c.notNull())
    // The largest number of CPUs that one of them may ask for.
    .addColumn("cpus", "integer", (c) => c.notNull())
    // The machine whose snapshots its sandboxes can begin with, as in the table of snapshots; null: it has no sandboxes.
    .addColumn("snapshot_store", "text")
    .addColumn("announced_at", "bigint", (c) => c.notNull())
    .addColumn("lease_until", "bigint", (c) => c.notNull())
    .execute();
  await trx.schema
    .alterTable("sandboxes")
    // The service that waits for a process that claims the sandbox, or has waited; null if the service had the sandbox itself.
    .addColumn("service_id", "text")
    .execute();
  await sql`create index sandboxes_waiting on sandboxes (seq) where ended_at is null and worker_id = ''`.execute(trx);
}
