import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../schema.ts";

export async function projectsAndWebhooks(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    .createTable("projects")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("archived_at", "bigint")
    .addUniqueConstraint("projects_name", ["account_id", "name"])
    .execute();
  await trx.schema.alterTable("api_keys").addColumn("expires_at", "bigint").execute();
  await trx.schema
    .alterTable("api_keys")
    .addColumn("replaces", "text", (c) => c.references("api_keys.id"))
    .execute();
  await trx.schema
    .createTable("quota")
    .addColumn("key_id", "text", (c) => c.notNull().references("api_keys.id").onDelete("cascade"))
    .addColumn("n", "bigint", (c) => c.notNull())
    .addColumn("at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("quota_pk", ["key_id", "n"])
    .execute();

  await trx.schema
    .createTable("endpoints")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("project_id", "text", (c) => c.notNull().references("projects.id"))
    .addColumn("url", "text", (c) => c.notNull())
    .addColumn("secret", columns.bytes, (c) => c.notNull())
    .addColumn("signing", "text", (c) => c.notNull().check(sql`signing in ('standard', 'raw')`))
    .addColumn("active", "integer", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("removed_at", "bigint")
    .execute();
  await trx.schema.createIndex("endpoints_project").on("endpoints").column("project_id").execute();

  await trx.schema
    .createTable("deliveries")
    .addColumn("seq", columns.sequenceType, columns.sequence)
    .addColumn("id", "text", (c) => c.notNull().unique())
    .addColumn("endpoint_id", "text", (c) => c.notNull().references("endpoints.id"))
    .addColumn("submission_seq", "bigint", (c) => c.references("submissions.seq").onDelete("cascade"))
    .addColumn("message_id", "text", (c) => c.notNull())
    .addColumn("kind", "text", (c) => c.notNull().check(sql`kind in ('result', 'replay', 'test')`))
    .addColumn("body", columns.bytes)
    .addColumn("state", "text", (c) => c.notNull().check(sql`state in ('pending', 'delivered', 'failed')`))
    .addColumn("attempts", "integer", (c) => c.notNull().defaultTo(0))
    .addColumn("next_at", "bigint")
    .addColumn("fence", "integer", (c) => c.notNull().defaultTo(0))
    .addColumn("lease_until", "bigint")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("ended_at", "bigint")
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
    .createTable("attempts")
    .addColumn("delivery_seq", "bigint", (c) => c.notNull().references("deliveries.seq").onDelete("cascade"))
    .addColumn("number", "integer", (c) => c.notNull())
    .addColumn("at", "bigint", (c) => c.notNull())
    .addColumn("latency_ms", "integer", (c) => c.notNull())
    .addColumn("status", "integer")
    .addColumn("error", "text")
    .addColumn("answer", columns.bytes)
    .addPrimaryKeyConstraint("attempts_pk", ["delivery_seq", "number"])
    .execute();

  await trx.schema
    .createTable("audit")
    .addColumn("seq", columns.sequenceType, columns.sequence)
    .addColumn("at", "bigint", (c) => c.notNull())
    .addColumn("actor", "text", (c) => c.notNull())
    .addColumn("action", "text", (c) => c.notNull())
    .addColumn("subject", "text", (c) => c.notNull())
    .addColumn("account_id", "text")
    .addColumn("detail", "text", (c) => c.notNull())
    .execute();

  await trx.schema
    .createTable("workers")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("slots", "integer", (c) => c.notNull())
    .addColumn("languages", "text", (c) => c.notNull())
    .addColumn("readiness", "text", (c) => c.notNull())
    .addColumn("proven_at", "bigint", (c) => c.notNull())
    .addColumn("announced_at", "bigint", (c) => c.notNull())
    .addColumn("lease_until", "bigint", (c) => c.notNull())
    .execute();
}
