import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

export async function projectsAndWebhooks(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    // Groups of keys and endpoints of an account.
    .createTable("projects")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    // An archived project gets no new keys or endpoints; its records stay. Null if the project is not archived.
    .addColumn("archived_at", "bigint")
    .addUniqueConstraint("projects_name", ["account_id", "name"])
    .execute();
  // When a rotated key expires; null for a key that was not rotated.
  await trx.schema.alterTable("api_keys").addColumn("expires_at", "bigint").execute();
  await trx.schema
    .alterTable("api_keys")
    // The key that this one replaced; null for none.
    .addColumn("replaces", "text", (c) => c.references("api_keys.id"))
    .execute();
  await trx.schema
    // The requests of each key in the last minute, for an exact sliding window. The newest request of a key stays,
    // whatever its age.
    .createTable("quota")
    .addColumn("key_id", "text", (c) => c.notNull().references("api_keys.id").onDelete("cascade"))
    // The number of the request among those of the key, which increases.
    .addColumn("n", "bigint", (c) => c.notNull())
    .addColumn("at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("quota_pk", ["key_id", "n"])
    .execute();

  await trx.schema
    // The webhook endpoints, which receive the results of projects.
    .createTable("endpoints")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("project_id", "text", (c) => c.notNull().references("projects.id"))
    .addColumn("url", "text", (c) => c.notNull())
    // The secret that signs messages, encrypted with the key in a file; see src/webhooks/.
    .addColumn("secret", columns.bytes, (c) => c.notNull())
    // `standard` if the key of the HMAC is the decoded secret, `raw` if it is the text of the secret.
    .addColumn("signing", "text", (c) => c.notNull().check(sql`signing in ('standard', 'raw')`))
    // 1 if the endpoint is active, otherwise 0.
    .addColumn("active", "integer", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("removed_at", "bigint")
    .execute();
  await trx.schema.createIndex("endpoints_project").on("endpoints").column("project_id").execute();

  await trx.schema
    // The outbox of webhook deliveries. The transaction that stores a result adds its deliveries, so that a crash
    // loses none.
    .createTable("deliveries")
    .addColumn("seq", columns.sequenceType, columns.sequence)
    .addColumn("id", "text", (c) => c.notNull().unique())
    .addColumn("endpoint_id", "text", (c) => c.notNull().references("endpoints.id"))
    // Null for a delivery of a judgement, and for a test message, which has a `body`.
    .addColumn("submission_seq", "bigint", (c) => c.references("submissions.seq").onDelete("cascade"))
    // The header webhook-id: the id of the submission or judgement, or an id of the test message.
    .addColumn("message_id", "text", (c) => c.notNull())
    // `result`, `replay` or `test`.
    .addColumn("kind", "text", (c) => c.notNull().check(sql`kind in ('result', 'replay', 'test')`))
    .addColumn("body", columns.bytes)
    // `pending`, `delivered` or `failed`.
    .addColumn("state", "text", (c) => c.notNull().check(sql`state in ('pending', 'delivered', 'failed')`))
    // The number of recorded attempts.
    .addColumn("attempts", "integer", (c) => c.notNull().defaultTo(0))
    // The time of the next attempt; null for an ended delivery.
    .addColumn("next_at", "bigint")
    // Increases with every claim.
    .addColumn("fence", "integer", (c) => c.notNull().defaultTo(0))
    .addColumn("lease_until", "bigint")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("ended_at", "bigint")
    // Why the delivery failed, if it was ended without a further attempt, as after the removal of its endpoint;
    // otherwise null.
    .addColumn("reason", "text")
    .execute();
  await sql`create index deliveries_due on deliveries (next_at) where state = 'pending'`.execute(trx);
  // A receiver that is down may have a long queue, so the next delivery of each endpoint must be found without scanning it.
  await sql`create index deliveries_waiting on deliveries (endpoint_id, next_at, seq) where state = 'pending'`.execute(
    trx,
  );
  await sql`create index deliveries_leased on deliveries (endpoint_id, lease_until) where lease_until is not null`.execute(
    trx,
  );
  await trx.schema.createIndex("deliveries_endpoint").on("deliveries").columns(["endpoint_id", "seq"]).execute();
  await trx.schema.createIndex("deliveries_submission").on("deliveries").column("submission_seq").execute();
  await trx.schema
    // The attempts to send deliveries.
    .createTable("attempts")
    .addColumn("delivery_seq", "bigint", (c) => c.notNull().references("deliveries.seq").onDelete("cascade"))
    // 1 for the first.
    .addColumn("number", "integer", (c) => c.notNull())
    .addColumn("at", "bigint", (c) => c.notNull())
    .addColumn("latency_ms", "integer", (c) => c.notNull())
    // The HTTP status of the response; null without a response.
    .addColumn("status", "integer")
    // The error in words, for people; null without an error.
    .addColumn("error", "text")
    // The first bytes of the response; null without a response.
    .addColumn("answer", columns.bytes)
    .addPrimaryKeyConstraint("attempts_pk", ["delivery_seq", "number"])
    .execute();

  await trx.schema
    // The audit trail: changes, sign-ins, and reads by administrators.
    .createTable("audit")
    .addColumn("seq", columns.sequenceType, columns.sequence)
    .addColumn("at", "bigint", (c) => c.notNull())
    // `cli` for a command, the e-mail of a person, or `stranger` for a refused sign-in.
    .addColumn("actor", "text", (c) => c.notNull())
    // For example `key.create`.
    .addColumn("action", "text", (c) => c.notNull())
    // Id of the object that was changed or read, or a name (`AuditEntry.subject`).
    .addColumn("subject", "text", (c) => c.notNull())
    .addColumn("account_id", "text")
    // JSON; never contains a secret.
    .addColumn("detail", "text", (c) => c.notNull())
    .execute();

  await trx.schema
    // The announcements of workers.
    .createTable("workers")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("slots", "integer", (c) => c.notNull())
    // JSON array of names.
    .addColumn("languages", "text", (c) => c.notNull())
    // JSON of the Readiness (src/domain/readiness.ts) that its newest proof found.
    .addColumn("readiness", "text", (c) => c.notNull())
    .addColumn("proven_at", "bigint", (c) => c.notNull())
    .addColumn("announced_at", "bigint", (c) => c.notNull())
    .addColumn("lease_until", "bigint", (c) => c.notNull())
    .execute();
}
