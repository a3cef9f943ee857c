import { sql, type Transaction } from "kysely";
import type { Schema } from "../../database/schema.ts";

/** Adds the users of the dashboard, their memberships in accounts, their sessions, and one-time links. */
export async function people(trx: Transaction<Schema>): Promise<void> {
  await trx.schema
    // Users of the dashboard.
    .createTable("people")
    .addColumn("id", "text", (c) => c.primaryKey())
    // The e-mail in lower case, for comparisons.
    .addColumn("email", "text", (c) => c.notNull().unique())
    .addColumn("name", "text", (c) => c.notNull())
    // 1 if the person sees and changes all accounts, otherwise 0.
    .addColumn("administrator", "integer", (c) => c.notNull())
    // The hash of the password, with its parameters; null for a person who only signs in with the provider.
    .addColumn("password", "text")
    // Issuer and subject at the provider; null until the person signs in with the provider, and after a reset of the
    // password.
    .addColumn("provider_subject", "text", (c) => c.unique())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("seen_at", "bigint")
    .addColumn("disabled_at", "bigint")
    .execute();
  await trx.schema
    // The accounts of each person.
    .createTable("members")
    .addColumn("person_id", "text", (c) => c.notNull().references("people.id").onDelete("cascade"))
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id").onDelete("cascade"))
    .addPrimaryKeyConstraint("members_pk", ["person_id", "account_id"])
    .execute();
  await trx.schema.createIndex("members_account").on("members").column("account_id").execute();
  await trx.schema
    // The sessions of people who are signed in to the dashboard.
    .createTable("sessions")
    // SHA-256 of the token in the cookie, hexadecimal.
    .addColumn("hash", "text", (c) => c.primaryKey())
    .addColumn("person_id", "text", (c) => c.notNull().references("people.id").onDelete("cascade"))
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("seen_at", "bigint", (c) => c.notNull())
    .execute();
  await trx.schema.createIndex("sessions_person").on("sessions").column("person_id").execute();
  await trx.schema
    // Unused one-time links.
    .createTable("invitations")
    .addColumn("id", "text", (c) => c.primaryKey())
    // SHA-256 of the token in the link, hexadecimal.
    .addColumn("hash", "text", (c) => c.notNull().unique())
    // `first`: for the first administrator. `invite`: for a new person. `reset`: for a person who forgot the
    // password.
    .addColumn("kind", "text", (c) => c.notNull().check(sql`kind in ('first', 'invite', 'reset')`))
    // Null for the first administrator, who chooses an e-mail.
    .addColumn("email", "text")
    // The person whose password is reset; null for the other kinds.
    .addColumn("person_id", "text", (c) => c.references("people.id").onDelete("cascade"))
    // The account of which the invited person becomes a member; null for none.
    .addColumn("account_id", "text", (c) => c.references("accounts.id").onDelete("cascade"))
    .addColumn("administrator", "integer", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("expires_at", "bigint", (c) => c.notNull())
    .execute();
}
