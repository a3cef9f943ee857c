import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

const GIB = 1_073_741_824;

/** Adds snapshots of the files of sandboxes, and the limits of tiers for them. Earlier releases ignore both. */
export async function snapshots(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    // Snapshots. The archives are files of the machines.
    .createTable("snapshots")
    .addColumn("seq", columns.sequenceType, columns.sequence)
    .addColumn("id", "text", (c) => c.notNull().unique())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    .addColumn("project_id", "text", (c) => c.references("projects.id"))
    .addColumn("key_id", "text", (c) => c.notNull().references("api_keys.id"))
    // The sandbox can have been deleted since.
    .addColumn("sandbox_id", "text", (c) => c.notNull())
    .addColumn("name", "text")
    // The length of the archive; while it is written, at least what it will probably have.
    .addColumn("bytes", "bigint", (c) => c.notNull())
    // Both are null while the archive is written.
    .addColumn("files", "integer")
    .addColumn("sha256", "text")
    // The machine that has the archive (SnapshotStore.id).
    .addColumn("store_id", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    // Until when the process that writes the archive may take; null when it is complete.
    .addColumn("written_until", "bigint")
    .execute();
  await trx.schema.createIndex("snapshots_account").on("snapshots").columns(["account_id", "seq"]).execute();
  await trx.schema.createIndex("snapshots_created").on("snapshots").column("created_at").execute();
  await sql`create index snapshots_written on snapshots (written_until) where written_until is not null`.execute(trx);
  // The snapshots that an account may have, and the bytes that they may have together.
  await trx.schema
    .alterTable("tiers")
    .addColumn("snapshots", "integer", (c) => c.notNull().defaultTo(20))
    .execute();
  await trx.schema
    .alterTable("tiers")
    .addColumn("snapshot_bytes", "bigint", (c) => c.notNull().defaultTo(4 * GIB))
    .execute();
  // The snapshot whose files the sandbox began with.
  await trx.schema.alterTable("sandboxes").addColumn("from_snapshot", "text").execute();
  // What happens when its lifetime or idle time is over: `end` or `snapshot`.
  await trx.schema
    .alterTable("sandboxes")
    .addColumn("on_timeout", "text", (c) => c.notNull().defaultTo("end"))
    .execute();
  // The snapshot that was then taken, or why there is none.
  await trx.schema.alterTable("sandboxes").addColumn("last_snapshot", "text").execute();
  await trx.schema.alterTable("sandboxes").addColumn("last_snapshot_error", "text").execute();
}
