import type { Transaction } from "kysely";
import type { Schema } from "../../database/schema.ts";

const GIB = 1_073_741_824;

/** Adds the disks of sandboxes: what each sandbox and each process has, and what a tier permits. Earlier releases ignore them. */
export async function sandboxDisks(trx: Transaction<Schema>): Promise<void> {
  await trx.schema
    .alterTable("sandboxes")
    // Bytes of the disk of the sandbox; 0: its files are in memory.
    .addColumn("disk_bytes", "bigint", (c) => c.notNull().defaultTo(0))
    .execute();
  await trx.schema
    .alterTable("links")
    // Bytes of all disks that the process can give its sandboxes; 0: they have none.
    .addColumn("disk_bytes", "bigint", (c) => c.notNull().defaultTo(0))
    .execute();
  await trx.schema
    .alterTable("tiers")
    // Bytes of the disks of all sandboxes of an account together.
    .addColumn("sandbox_disk_bytes", "bigint", (c) => c.notNull().defaultTo(16 * GIB))
    .execute();
}
