import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/**
 * Adds indexes that have the rows of a list by account and in their order, so that the rows of other accounts do not matter. Also adds tables
 * of sign-in attempts and of known networks, and the address of the client in the audit trail.
 */
export async function lists(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema.createIndex("api_keys_account").on("api_keys").columns(["account_id", "created_at", "id"]).execute();
  await sql`create index api_keys_unrevoked on api_keys (account_id, created_at, id) where revoked_at is null`.execute(
    trx,
  );
  await sql`create index api_keys_project on api_keys (project_id, created_at, id) where revoked_at is null`.execute(
    trx,
  );
  await trx.schema.createIndex("api_keys_newest").on("api_keys").columns(["created_at", "id"]).execute();
  await trx.schema.createIndex("projects_newest").on("projects").columns(["created_at", "id"]).execute();
  await sql`create index endpoints_newest on endpoints (created_at, id) where removed_at is null`.execute(trx);
  await sql`create index endpoints_unremoved on endpoints (project_id) where removed_at is null`.execute(trx);
  await trx.schema.createIndex("audit_account").on("audit").columns(["account_id", "seq"]).execute();
  await trx.schema.createIndex("audit_subject").on("audit").columns(["subject", "seq"]).execute();

  await sql`create index audit_door on audit (at) where action in ('person.sign-in', 'person.sign-out', 'person.refuse')`.execute(
    trx,
  );
  // The address of the client, or its network for a refused sign-in; null if it is unknown, and for a command.
  await trx.schema.alterTable("audit").addColumn("address", "text").execute();
  await trx.schema
    // The sign-in attempts of the last minute, in all processes.
    .createTable("sign_in_attempts")
    .addColumn("seq", columns.sequenceType, columns.sequence)
    .addColumn("at", "bigint", (c) => c.notNull())
    // The network of the client (src/http/listener/network.ts).
    .addColumn("place", "text", (c) => c.notNull())
    // SHA-256 of the e-mail, because unknown clients can type anything there, including a password.
    .addColumn("email_hash", "text", (c) => c.notNull())
    .execute();
  await trx.schema.createIndex("sign_in_attempts_place").on("sign_in_attempts").columns(["place", "at"]).execute();
  await trx.schema.createIndex("sign_in_attempts_email").on("sign_in_attempts").columns(["email_hash", "at"]).execute();
  await trx.schema.createIndex("sign_in_attempts_at").on("sign_in_attempts").column("at").execute();
  await trx.schema
    // The networks from which people have signed in.
    .createTable("known_places")
    .addColumn("person_id", "text", (c) => c.notNull().references("people.id").onDelete("cascade"))
    .addColumn("place", "text", (c) => c.notNull())
    // The time of the last sign-in from this network.
    .addColumn("at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("known_places_pk", ["person_id", "place"])
    .execute();
}
