import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

export async function accountsAndSubmissions(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    // The limits that several accounts have in common.
    .createTable("tiers")
    .addColumn("name", "text", (c) => c.primaryKey())
    .addColumn("requests_per_minute", "integer", (c) => c.notNull())
    .addColumn("concurrency", "integer", (c) => c.notNull())
    .execute();
  await trx.insertInto("tiers").values({ name: "beta", requests_per_minute: 60, concurrency: 10 }).execute();

  await trx.schema
    // The customers of the service. Everything else belongs to one of them.
    .createTable("accounts")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("name", "text", (c) => c.notNull().unique())
    .addColumn("tier", "text", (c) => c.notNull().references("tiers.name"))
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .execute();

  await trx.schema
    // The keys of the API. Only their hashes are stored.
    .createTable("api_keys")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    .addColumn("project_id", "text")
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("prefix", "text", (c) => c.notNull())
    .addColumn("hash", "text", (c) => c.notNull().unique())
    // The limits of the key; null for those of the tier.
    .addColumn("requests_per_minute", "integer")
    .addColumn("concurrency", "integer")
    // JSON array of profile names.
    .addColumn("profiles", "text", (c) => c.notNull())
    .addColumn("default_profile", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("revoked_at", "bigint")
    .addColumn("last_used_at", "bigint")
    // Of keys of an account with equally many running submissions, the one with the lowest turn is next. A claim
    // gives it the highest.
    .addColumn("turn", "bigint", (c) => c.notNull().defaultTo(0))
    .execute();
  await trx.schema.createIndex("api_keys_turn").on("api_keys").column("turn").execute();

  await trx.schema
    // Submissions. The rows are small, because each claim, renewal and end of a submission rewrites its row.
    .createTable("submissions")
    // The order of acceptance, independent of clocks.
    .addColumn("seq", columns.sequenceType, columns.sequence)
    .addColumn("id", "text", (c) => c.notNull().unique())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    .addColumn("key_id", "text", (c) => c.notNull().references("api_keys.id"))
    .addColumn("project_id", "text")
    .addColumn("language", "text", (c) => c.notNull())
    .addColumn("profile", "text", (c) => c.notNull())
    .addColumn("status", "text", (c) => c.notNull().check(sql`status in ('pending', 'running', 'completed', 'error')`))
    // How many attempts count against MAX_ATTEMPTS.
    .addColumn("attempts", "integer", (c) => c.notNull())
    // Increases with every claim, and never decreases: a lease is valid only if it has this fence.
    .addColumn("fence", "integer", (c) => c.notNull().defaultTo(0))
    .addColumn("idempotency_key", "text")
    .addColumn("request_hash", "text")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("started_at", "bigint")
    .addColumn("completed_at", "bigint")
    .addColumn("worker_id", "text")
    .addColumn("lease_until", "bigint")
    .addColumn("verdict", "text")
    // The database, not the program, ensures that two identical requests run once.
    .addUniqueConstraint("submissions_idempotency", ["account_id", "idempotency_key"])
    .execute();
  // Partial, so that the size of the index depends on the queue, not on the number of records.
  await sql`create index submissions_pending on submissions (key_id, seq) where status = 'pending'`.execute(trx);
  await sql`create index submissions_running on submissions (lease_until, key_id) where status = 'running'`.execute(
    trx,
  );

  await trx.schema
    // The programs of single submissions.
    .createTable("programs")
    .addColumn("submission_seq", "bigint", (c) => c.primaryKey().references("submissions.seq").onDelete("cascade"))
    .addColumn("code", columns.bytes, (c) => c.notNull())
    .addColumn("stdin", columns.bytes, (c) => c.notNull())
    .execute();
  await trx.schema
    // The outcomes of ended submissions.
    .createTable("outcomes")
    .addColumn("submission_seq", "bigint", (c) => c.primaryKey().references("submissions.seq").onDelete("cascade"))
    .addColumn("stdout", columns.bytes)
    .addColumn("stderr", columns.bytes)
    // JSON of the other fields of the Outcome (src/store/submissions/rows.ts).
    .addColumn("body", "text", (c) => c.notNull())
    .execute();
}
