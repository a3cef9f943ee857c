import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

const GIB = 1_073_741_824;

/** Adds sandboxes with their executions, and the limits of tiers for them. Earlier releases ignore both. */
export async function sandboxes(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    // Sandboxes: boxes that live, in which executions run.
    .createTable("sandboxes")
    .addColumn("seq", columns.sequenceType, columns.sequence)
    .addColumn("id", "text", (c) => c.notNull().unique())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    .addColumn("key_id", "text", (c) => c.notNull().references("api_keys.id"))
    .addColumn("project_id", "text", (c) => c.references("projects.id"))
    // `creating`, `running`, `paused` or `ended`.
    .addColumn("state", "text", (c) => c.notNull())
    // Why it ended (SANDBOX_END_REASONS in src/domain/sandboxes/sandbox.ts); null until then.
    .addColumn("end_reason", "text")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("started_at", "bigint")
    .addColumn("ended_at", "bigint")
    .addColumn("lifetime_secs", "integer", (c) => c.notNull())
    .addColumn("idle_secs", "integer", (c) => c.notNull())
    .addColumn("memory_bytes", "bigint", (c) => c.notNull())
    // JSON of the limits (SandboxLimits).
    .addColumn("limits", "text", (c) => c.notNull())
    // JSON of the names and values that the client chose.
    .addColumn("metadata", "text", (c) => c.notNull())
    // JSON of the SandboxEvidence; null until the box is ready.
    .addColumn("evidence", "text")
    // The process that has the sandbox, and until when nobody else may end it.
    .addColumn("worker_id", "text", (c) => c.notNull())
    .addColumn("lease_until", "bigint", (c) => c.notNull())
    .addColumn("idempotency_key", "text")
    .addColumn("request_hash", "text")
    .addUniqueConstraint("sandboxes_idempotency", ["account_id", "idempotency_key"])
    .execute();
  await trx.schema.createIndex("sandboxes_account").on("sandboxes").columns(["account_id", "seq"]).execute();
  await trx.schema.createIndex("sandboxes_ended").on("sandboxes").column("ended_at").execute();
  await sql`create index sandboxes_live on sandboxes (account_id, worker_id) where ended_at is null`.execute(trx);
  await trx.schema
    // The executions of sandboxes, with their outcomes. A row can have several MiB.
    .createTable("executions")
    .addColumn("sandbox_seq", "bigint", (c) => c.notNull().references("sandboxes.seq").onDelete("cascade"))
    // 1 for the first.
    .addColumn("number", "integer", (c) => c.notNull())
    .addColumn("key_id", "text", (c) => c.notNull().references("api_keys.id"))
    .addColumn("kind", "text", (c) => c.notNull())
    // JSON of what the client asked for, without input, code and variables of the environment.
    .addColumn("request", "text", (c) => c.notNull())
    // `running`, `completed` or `error`.
    .addColumn("status", "text", (c) => c.notNull())
    .addColumn("verdict", "text")
    .addColumn("cause", "text")
    .addColumn("started_at", "bigint", (c) => c.notNull())
    .addColumn("completed_at", "bigint")
    // Processes that the main program left; null while it runs, and if nothing is known.
    .addColumn("processes_left", "integer")
    // JSON of the outcome, as in `outcomes`; null while it runs.
    .addColumn("body", "text")
    .addColumn("stdout", columns.bytes)
    .addColumn("stderr", columns.bytes)
    .addPrimaryKeyConstraint("executions_pk", ["sandbox_seq", "number"])
    .execute();
  await sql`create index executions_running on executions (sandbox_seq) where completed_at is null`.execute(trx);
  // The sandboxes that an account may have at the same time, and the memory that they may have together.
  await trx.schema
    .alterTable("tiers")
    .addColumn("sandboxes", "integer", (c) => c.notNull().defaultTo(10))
    .execute();
  await trx.schema
    .alterTable("tiers")
    .addColumn("sandbox_memory_bytes", "bigint", (c) => c.notNull().defaultTo(4 * GIB))
    .execute();
  // The executions, with requests for files, of all sandboxes of an account that may run at the same time.
  await trx.schema
    .alterTable("tiers")
    .addColumn("executions", "integer", (c) => c.notNull().defaultTo(16))
    .execute();
}
