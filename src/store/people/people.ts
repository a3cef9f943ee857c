import { randomUUID } from "node:crypto";
import type { ExpressionBuilder, Kysely, Selectable, Transaction } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import type { ListPage } from "../access/types.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { afterPosition, USUAL_ROWS } from "../pagination.ts";
import type { Person, PersonChanges } from "./types.ts";

export type PersonRow = Selectable<Schema["people"]>;

export type PeopleStore = ReturnType<typeof peopleStore>;

/** @param now milliseconds since the epoch. */
export function peopleStore(database: Database, transactions: Transactions, now: () => number) {
  const { db, abilities } = database;
  return {
    /** Whether any person exists. */
    any: (): Promise<boolean> => anybody(db),

    /**
     * Persons, newest first, including disabled ones. @param accountIds only members of these accounts; null for all persons.
     * @param after if the person with this id is unknown, or not in the list, the result is empty.
     */
    async list({ accountIds = null, after, max = USUAL_ROWS }: ListPage = {}): Promise<Person[]> {
      if (accountIds?.length === 0) return [];
      let query = db.selectFrom("people").selectAll();
      if (accountIds) {
        const members = db.selectFrom("members").select("person_id").where("account_id", "in", accountIds);
        query = query.where("id", "in", members);
      }
      if (after !== undefined) {
        const cursor = await query.where("id", "=", after).executeTakeFirst();
        if (!cursor) return [];
        query = query.where(afterPosition("people", { id: cursor.id, createdAt: cursor.created_at }));
      }
      const rows = await query.orderBy("created_at", "desc").orderBy("id", "desc").limit(max).execute();
      return await withAccounts(db, rows);
    },

    async get(id: string): Promise<Person | undefined> {
      const rows = await db.selectFrom("people").selectAll().where("id", "=", id).execute();
      return (await withAccounts(db, rows))[0];
    },

    /** @param which the id of the person, or the e-mail in lower case. */
    async find(which: string): Promise<Person | undefined> {
      const byEither = (eb: ExpressionBuilder<Schema, "people">) =>
        eb.or([eb("id", "=", which), eb("email", "=", which)]);
      return (await withAccounts(db, await db.selectFrom("people").selectAll().where(byEither).execute()))[0];
    },

    /** The hash of the password of a person; undefined if the person is unknown, is disabled or has no password. */
    async passwordOf(email: string): Promise<{ readonly personId: string; readonly hash: string } | undefined> {
      const row = await db
        .selectFrom("people")
        .select(["id", "password"])
        .where("email", "=", email)
        .where("disabled_at", "is", null)
        .executeTakeFirst();
      return row?.password ? { personId: row.id, hash: row.password } : undefined;
    },

    /**
     * Changes a person. Disabling a person ends all sessions and deletes all one-time links of the person.
     * @returns `unknown` if there is no such person; `last`, without changes, if no enabled administrator would be left.
     */
    update(id: string, changes: PersonChanges, actor: AuditActor): Promise<"updated" | "unknown" | "last"> {
      return transactions.run(async (trx) => {
        await abilities.lock(trx, "people"); // without the lock, two administrators could disable each other
        const rows = await trx.selectFrom("people").selectAll().where("id", "=", id).execute();
        const [was] = await withAccounts(trx, rows);
        if (!was) return "unknown";
        const atMs = now();
        const is = {
          name: changes.name ?? was.name,
          administrator: changes.administrator ?? was.administrator,
          disabled: changes.disabled ?? was.disabledAtMs !== null,
          accountIds: [...new Set(changes.accountIds ?? was.accounts.map((account) => account.id))].sort(),
        };
        const detail = differences(was, is);
        if (Object.keys(detail).length === 0) return "updated";
        const rules = !was.administrator || was.disabledAtMs !== null;
        if (!rules && (is.disabled || !is.administrator) && !(await anotherAdministrator(trx, id))) return "last";
        await trx
          .updateTable("people")
          .set({
            name: is.name,
            administrator: is.administrator ? 1 : 0,
            disabled_at: is.disabled ? (was.disabledAtMs ?? atMs) : null,
          })
          .where("id", "=", id)
          .execute();
        await setAccounts(trx, id, is.accountIds);
        if (is.disabled) {
          await trx.deleteFrom("sessions").where("person_id", "=", id).execute();
          await trx.deleteFrom("invitations").where("person_id", "=", id).execute();
        }
        await addAuditEntry(trx, { atMs, actor, action: "person.update", subject: id, accountId: null, detail });
        return "updated";
      });
    },

    /**
     * Sets a password that the person has chosen, ends the sessions of the person, and deletes the one-time links of the person.
     * @param keepSession hash of a session that does not end; null for none. @returns false for an unknown person.
     */
    setPassword(id: string, hash: string, keepSession: string | null, actor: AuditActor): Promise<boolean> {
      return transactions.run(async (trx) => {
        const done = await setPassword(trx, id, hash, keepSession);
        if (done) await addAuditEntry(trx, passwordEntry(now(), actor, id));
        return done;
      });
    },

    /** Replaces the hash of a password by a new hash of the same password, without an audit entry, unless the password has changed. */
    async rehash(id: string, from: string, to: string): Promise<void> {
      await transactions.runUnflushed((trx) =>
        trx.updateTable("people").set({ password: to }).where("id", "=", id).where("password", "=", from).execute(),
      );
    },

    /**
     * Finds the person with this subject or e-mail of the provider, or creates an invited person and uses the invitation up.
     * The first sign-in with the provider stores the subject; afterwards, only this subject can sign in as the person.
     * @param email an e-mail that the provider has verified. @param address of the client, for the audit trail.
     * @returns the id of the person; undefined if nobody may sign in with this subject and e-mail.
     */
    enterWithProvider(
      { email, name, subject }: { email: string; name: string; subject: string },
      address: string | null = null,
    ): Promise<string | undefined> {
      return transactions.run(async (trx) => {
        const atMs = now();
        await abilities.lock(trx, "people");
        const person = await trx
          .selectFrom("people")
          .selectAll()
          .where((eb) => eb.or([eb("provider_subject", "=", subject), eb("email", "=", email)]))
          .execute();
        const [known] = person;
        if (person.length > 1) return undefined; // another person uses the e-mail address now
        if (known) {
          if (known.disabled_at !== null) return undefined;
          if (known.provider_subject !== null && known.provider_subject !== subject) return undefined;
          await trx.updateTable("people").set({ provider_subject: subject }).where("id", "=", known.id).execute();
          return known.id;
        }
        const invited = await trx
          .deleteFrom("invitations")
          .where("kind", "=", "invite")
          .where("email", "=", email)
          .where("expires_at", ">", atMs)
          .returningAll()
          .execute();
        if (invited.length === 0) return undefined;
        return await addPerson(trx, {
          email,
          name,
          password: null,
          subject,
          administrator: invited.some(({ administrator }) => administrator === 1),
          accountIds: invited.flatMap(({ account_id }) => account_id ?? []),
          atMs,
          address,
        });
      });
    },
  };
}

export async function anybody(db: Kysely<Schema>): Promise<boolean> {
  return (await db.selectFrom("people").select("id").limit(1).executeTakeFirst()) !== undefined;
}

/** Adds a person, with an audit entry whose actor is this person. @returns the id of the person. */
export async function addPerson(
  trx: Transaction<Schema>,
  person: {
    readonly email: string;
    readonly name: string;
    readonly password: string | null;
    readonly subject: string | null;
    readonly administrator: boolean;
    readonly accountIds: readonly string[];
    readonly atMs: number;
    /** Address of the client. */
    readonly address: string | null;
  },
): Promise<string> {
  const { email, name, password, subject, administrator, accountIds, atMs, address } = person;
  const id = randomUUID();
  await trx
    .insertInto("people")
    .values({
      id,
      email,
      name,
      administrator: administrator ? 1 : 0,
      password,
      provider_subject: subject,
      created_at: atMs,
      seen_at: null,
      disabled_at: null,
    })
    .execute();
  await setAccounts(trx, id, accountIds);
  const detail = { email, name, administrator, accountIds };
  await addAuditEntry(trx, {
    atMs,
    actor: email,
    action: "person.create",
    subject: id,
    accountId: null,
    detail,
    address,
  });
  return id;
}

/** Implements PeopleStore.setPassword, without the audit entry. */
export async function setPassword(
  trx: Transaction<Schema>,
  id: string,
  hash: string,
  keepSession: string | null,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("people")
    .set({ password: hash })
    .where("id", "=", id)
    .executeTakeFirst();
  await trx
    .deleteFrom("sessions")
    .where("person_id", "=", id)
    .where("hash", "<>", keepSession ?? "")
    .execute();
  await trx.deleteFrom("invitations").where("person_id", "=", id).execute();
  return numUpdatedRows > 0n;
}

export function passwordEntry(atMs: number, actor: AuditActor, id: string) {
  return { atMs, actor, action: "person.set-password", subject: id, accountId: null, detail: {} } as const;
}

async function setAccounts(trx: Transaction<Schema>, id: string, accountIds: readonly string[]): Promise<void> {
  await trx.deleteFrom("members").where("person_id", "=", id).execute();
  if (accountIds.length === 0) return;
  const rows = [...new Set(accountIds)].map((accountId) => ({ person_id: id, account_id: accountId }));
  await trx.insertInto("members").values(rows).execute();
}

async function anotherAdministrator(trx: Transaction<Schema>, id: string): Promise<boolean> {
  const other = await trx
    .selectFrom("people")
    .select("id")
    .where("administrator", "=", 1)
    .where("disabled_at", "is", null)
    .where("id", "<>", id)
    .executeTakeFirst();
  return other !== undefined;
}

async function withAccounts(db: Kysely<Schema>, rows: readonly PersonRow[]): Promise<Person[]> {
  if (rows.length === 0) return [];
  const members = await db
    .selectFrom("members")
    .innerJoin("accounts", "accounts.id", "members.account_id")
    .select(["members.person_id", "accounts.id", "accounts.name"])
    .where(
      "members.person_id",
      "in",
      rows.map(({ id }) => id),
    )
    .orderBy("accounts.name")
    .execute();
  const ofPerson = Map.groupBy(members, ({ person_id }) => person_id);
  return rows.map((row) => ({
    id: row.id,
    email: row.email,
    name: row.name,
    administrator: row.administrator === 1,
    accounts: (ofPerson.get(row.id) ?? []).map(({ id, name }) => ({ id, name })),
    hasPassword: row.password !== null,
    hasProvider: row.provider_subject !== null,
    createdAtMs: row.created_at,
    seenAtMs: row.seen_at,
    disabledAtMs: row.disabled_at,
  }));
}

/** The old and new values that an update changes. */
function differences(
  person: Person,
  is: { name: string; administrator: boolean; disabled: boolean; accountIds: readonly string[] },
): Record<string, { from: unknown; to: unknown }> {
  const was: typeof is = {
    name: person.name,
    administrator: person.administrator,
    disabled: person.disabledAtMs !== null,
    accountIds: person.accounts.map(({ id }) => id).sort(),
  };
  const names = ["name", "administrator", "disabled", "accountIds"] as const;
  return Object.fromEntries(
    names
      .map((name) => [name, { from: was[name], to: is[name] }] as const)
      .filter(([, { from, to }]) => JSON.stringify(from) !== JSON.stringify(to)),
  );
}
