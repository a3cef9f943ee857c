import { sql, type Transaction } from "kysely";
import type { Schema } from "../schema.ts";

/** Adds the users of the dashboard, their memberships in accounts, their sessions, and one-time links. */
export async function people(trx: Transaction<Schema>): Promise<void> {
  await trx.schema
    .createTable("people")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("email", "text", (c) => c.notNull().unique())
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("administrator", "integer", (c) => c.notNull())
    .addColumn("password", "text")
    .addColumn("provider_subject", "text", (c) => c.unique())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("seen_at", "bigint")
    .addColumn("disabled_at", "bigint")
    .execute();
  await trx.schema
    .createTable("members")
    .addColumn("person_id", "text", (c) => c.notNull().references("people.id").onDelete("cascade"))
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id").onDelete("cascade"))
    .addPrimaryKeyConstraint("members_pk", ["person_id", "account_id"])
    .execute();
  await trx.schema.createIndex("members_account").on("members").column("account_id").execute();
  await trx.schema
    .createTable("sessions")
    .addColumn("hash", "text", (c) => c.primaryKey())
    .addColumn("person_id", "text", (c) => c.notNull().references("people.id").onDelete("cascade"))
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("seen_at", "bigint", (c) => c.notNull())
    .execute();
  await trx.schema.createIndex("sessions_person").on("sessions").column("person_id").execute();
  await trx.schema
    .createTable("invitations")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("hash", "text", (c) => c.notNull().unique())
    .addColumn("kind", "text", (c) => c.notNull().check(sql`kind in ('first', 'invite', 'reset')`))
    .addColumn("email", "text")
    .addColumn("person_id", "text", (c) => c.references("people.id").onDelete("cascade"))
    .addColumn("account_id", "text", (c) => c.references("accounts.id").onDelete("cascade"))
    .addColumn("administrator", "integer", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("expires_at", "bigint", (c) => c.notNull())
    .execute();
}
