import type { Kysely, Transaction } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import type { LinkKind } from "../../domain/session.ts";
import type { ListPage } from "../access/types.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { afterPosition, USUAL_ROWS } from "../pagination.ts";
import { addPerson, anybody, passwordEntry, setPassword } from "./people.ts";
import type { Invitation, NewInvitation } from "./types.ts";

export type InvitationStore = ReturnType<typeof invitationStore>;

/** One-time links: to become the first administrator, to become a user, or to reset a password. @param now milliseconds since the epoch. */
export function invitationStore(database: Database, transactions: Transactions, now: () => number) {
  const { db, abilities } = database;
  return {
    /**
     * Adds an invitation, which replaces those of the same kind for the same e-mail; one of the kind `first` replaces all of this kind.
     * @param link.hash of the token in the link. @param link.lastsMs how long the link is valid.
     * @returns when the link expires, in milliseconds since the epoch; undefined if any person exists (`first`), a person has the e-mail
     * (`invite`), or the person is unknown or disabled (`reset`).
     */
    add(
      link: { readonly id: string; readonly hash: string; readonly lastsMs: number },
      what: NewInvitation,
      actor: AuditActor,
    ): Promise<number | undefined> {
      return transactions.run(async (trx) => {
        const atMs = now();
        await abilities.lock(trx, "people");
        const recipient = await addressee(trx, what);
        if (!recipient) return undefined;
        const expiresAtMs = atMs + link.lastsMs;
        await replaced(trx, what.kind, recipient.email).execute();
        const { administrator, accountId } = recipient;
        await trx
          .insertInto("invitations")
          .values({
            id: link.id,
            hash: link.hash,
            kind: what.kind,
            email: recipient.email,
            person_id: what.kind === "reset" ? what.personId : null,
            account_id: accountId,
            administrator: administrator ? 1 : 0,
            created_at: atMs,
            expires_at: expiresAtMs,
          })
          .execute();
        const action = what.kind === "reset" ? "person.reset" : "person.invite";
        const subject = what.kind === "reset" ? what.personId : link.id;
        const detail = { kind: what.kind, email: recipient.email, administrator, expiresAt: new Date(expiresAtMs) };
        await addAuditEntry(trx, { atMs, actor, action, subject, accountId, detail });
        return expiresAtMs;
      });
    },

    /** The invitation whose link has a token with this hash; undefined if the link is unknown, was used or has expired. */
    async find(hash: string): Promise<Invitation | undefined> {
      return (await usable(db, now()).where("invitations.hash", "=", hash).execute()).map(toInvitation)[0];
    },

    /**
     * The valid invitations, newest first, without that of the first administrator.
     * @param accountIds only invitations to these accounts; null for all.
     */
    async list({ accountIds = null, after, max = USUAL_ROWS }: ListPage = {}): Promise<Invitation[]> {
      if (accountIds?.length === 0) return [];
      let query = usable(db, now()).where("kind", "<>", "first");
      if (accountIds) query = query.where("account_id", "in", accountIds);
      if (after !== undefined) {
        const cursor = await query.where("invitations.id", "=", after).executeTakeFirst();
        if (!cursor) return [];
        query = query.where(afterPosition("invitations", { id: cursor.id, createdAt: cursor.created_at }));
      }
      query = query.orderBy("invitations.created_at", "desc").orderBy("invitations.id", "desc").limit(max);
      return (await query.execute()).map(toInvitation);
    },

    /** Deletes an invitation, with an audit entry. @returns false if there is no such invitation. */
    withdraw(id: string, actor: AuditActor): Promise<boolean> {
      return transactions.run(async (trx) => {
        const withdrawn = await trx.deleteFrom("invitations").where("id", "=", id).returningAll().executeTakeFirst();
        if (!withdrawn) return false;
        const detail = { kind: withdrawn.kind, email: withdrawn.email };
        const entry = { subject: id, accountId: withdrawn.account_id, detail };
        await addAuditEntry(trx, { atMs: now(), actor, action: "person.withdraw", ...entry });
        return true;
      });
    },

    /**
     * Uses an invitation up: creates the person, or sets the new password and ends the sessions of the person.
     * @param email used only for the first administrator. @param name not used for a reset. @param password the hash of the password.
     * @param address of the client, for the audit trail.
     * @returns the id of the person; undefined if the invitation is no longer valid, or the e-mail is already in use.
     */
    accept(
      hash: string,
      { email, name, password }: { email: string; name: string; password: string },
      address: string | null = null,
    ): Promise<string | undefined> {
      return transactions.run(async (trx) => {
        const atMs = now();
        await abilities.lock(trx, "people");
        const [invitation] = (await usable(trx, atMs).where("invitations.hash", "=", hash).execute()).map(toInvitation);
        if (!invitation) return undefined;
        const { kind, personId, administrator, account } = invitation;
        if (kind === "reset" && personId !== null) {
          // A reset ends all access with the old password, and with the account at the provider.
          await trx.updateTable("people").set({ provider_subject: null }).where("id", "=", personId).execute();
          await setPassword(trx, personId, password, null);
          await addAuditEntry(trx, { ...passwordEntry(atMs, invitation.email ?? "", personId), address });
          return personId;
        }
        const personEmail = invitation.email ?? email;
        const taken = await trx.selectFrom("people").select("id").where("email", "=", personEmail).executeTakeFirst();
        if (taken || (kind === "first" && (await anybody(trx)))) return undefined;
        await trx
          .deleteFrom("invitations")
          .where((eb) => eb.or([eb("hash", "=", hash), eb("email", "=", personEmail), eb("kind", "=", "first")]))
          .execute();
        const accountIds = account === null ? [] : [account.id];
        const person = { email: personEmail, name, password, subject: null, administrator, accountIds };
        return await addPerson(trx, { ...person, atMs, address });
      });
    },

    /** Deletes expired invitations. To be called now and then. */
    async forget(): Promise<void> {
      const atMs = now();
      await transactions.runUnflushed((trx) => trx.deleteFrom("invitations").where("expires_at", "<=", atMs).execute());
    },
  };
}

/** What an invitation stores about its recipient; undefined if there can be no such invitation. */
async function addressee(
  trx: Transaction<Schema>,
  what: NewInvitation,
): Promise<{ email: string | null; administrator: boolean; accountId: string | null } | undefined> {
  if (what.kind === "first") {
    return (await anybody(trx)) ? undefined : { email: null, administrator: true, accountId: null };
  }
  if (what.kind === "invite") {
    const taken = await trx.selectFrom("people").select("id").where("email", "=", what.email).executeTakeFirst();
    return taken ? undefined : what;
  }
  const person = await trx
    .selectFrom("people")
    .select("email")
    .where("id", "=", what.personId)
    .where("disabled_at", "is", null)
    .executeTakeFirst();
  return person && { email: person.email, administrator: false, accountId: null };
}

function replaced(trx: Transaction<Schema>, kind: LinkKind, email: string | null) {
  const ofKind = trx.deleteFrom("invitations").where("kind", "=", kind);
  return email === null ? ofKind : ofKind.where("email", "=", email);
}

function usable(db: Kysely<Schema>, atMs: number) {
  return db
    .selectFrom("invitations")
    .leftJoin("accounts", "accounts.id", "invitations.account_id")
    .selectAll("invitations")
    .select("accounts.name as account_name")
    .where("invitations.expires_at", ">", atMs);
}

type InvitationRow = Awaited<ReturnType<ReturnType<typeof usable>["executeTakeFirstOrThrow"]>>;

function toInvitation(row: InvitationRow): Invitation {
  return {
    id: row.id,
    kind: row.kind as LinkKind,
    email: row.email,
    personId: row.person_id,
    account: row.account_id === null ? null : { id: row.account_id, name: row.account_name ?? "" },
    administrator: row.administrator === 1,
    expiresAtMs: row.expires_at,
  };
}
