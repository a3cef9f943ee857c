import type { Transaction } from "kysely";
import { SESSION_IDLE_MS, SESSION_LONGEST_MS } from "../../domain/session.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import { inTime, READ_PATIENCE_MS } from "../database/in-time.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import type { ClientAddress, SessionPerson } from "./types.ts";

/** The time of use of a session is stored at most this often, because an open page sends requests every few seconds. */
const TOUCH_MS = 60_000;

/** The most known networks of a person. A new one replaces the one that has not been used for the longest time. */
const MAX_NETWORKS = 20;

export type SessionStore = ReturnType<typeof sessionStore>;

/** @param now milliseconds since the epoch. */
export function sessionStore({ db }: Database, transactions: Transactions, now: () => number) {
  return {
    /**
     * Adds a session, with an audit entry, and stores the network of the sign-in.
     * @param hash of the token in the cookie. @param from the address of the client; null if it is unknown.
     */
    async begin(hash: string, personId: string, from: ClientAddress | null = null): Promise<void> {
      const at = now();
      await transactions.run(async (trx) => {
        await trx.insertInto("sessions").values({ hash, person_id: personId, created_at: at, seen_at: at }).execute();
        const person = await trx
          .updateTable("people")
          .set({ seen_at: at })
          .where("id", "=", personId)
          .returning("email")
          .executeTakeFirstOrThrow();
        if (from !== null) await rememberNetwork(trx, personId, from.network, at);
        const entry = { subject: personId, accountId: null, address: from?.address ?? null, detail: {} };
        await addAuditEntry(trx, { atMs: at, actor: person.email, action: "person.sign-in", ...entry });
      });
    },

    /**
     * The person of a session. The time of use is stored, at most once per minute.
     * @returns undefined if the session is unknown or expired, or the person is disabled.
     */
    async find(hash: string): Promise<SessionPerson | undefined> {
      const at = now();
      const row = await db
        .selectFrom("sessions")
        .innerJoin("people", "people.id", "sessions.person_id")
        .select(["people.id", "people.email", "people.name", "people.administrator", "sessions.seen_at"])
        .where("sessions.hash", "=", hash)
        .where("sessions.seen_at", ">", at - SESSION_IDLE_MS)
        .where("sessions.created_at", ">", at - SESSION_LONGEST_MS)
        .where("people.disabled_at", "is", null)
        .executeTakeFirst();
      if (!row) return undefined;
      if (at - row.seen_at >= TOUCH_MS) {
        const seen = transactions.runUnflushed(async (trx) => {
          await trx.updateTable("sessions").set({ seen_at: at }).where("hash", "=", hash).execute();
          await trx.updateTable("people").set({ seen_at: at }).where("id", "=", row.id).execute();
        });
        // This is a write, but the request may only read, so it waits only briefly for a lock of another process.
        await inTime(seen, READ_PATIENCE_MS);
      }
      const { id, email, name } = row;
      if (row.administrator === 1) return { id, email, name, administrator: true, accountIds: null };
      const members = await db.selectFrom("members").select("account_id").where("person_id", "=", id).execute();
      return { id, email, name, administrator: false, accountIds: members.map(({ account_id }) => account_id) };
    },

    /** Ends a session, with an audit entry. @param address of the client. */
    async end(hash: string, address: string | null = null): Promise<void> {
      await transactions.run(async (trx) => {
        const ended = await trx
          .deleteFrom("sessions")
          .where("hash", "=", hash)
          .returning("person_id")
          .executeTakeFirst();
        if (!ended) return;
        const person = await trx
          .selectFrom("people")
          .select("email")
          .where("id", "=", ended.person_id)
          .executeTakeFirstOrThrow();
        const entry = { subject: ended.person_id, accountId: null, address, detail: {} };
        await addAuditEntry(trx, { atMs: now(), actor: person.email, action: "person.sign-out", ...entry });
      });
    },

    /** Deletes expired sessions. To be called now and then. */
    async forget(): Promise<void> {
      const at = now();
      await transactions.runUnflushed((trx) =>
        trx
          .deleteFrom("sessions")
          .where((eb) =>
            eb.or([eb("seen_at", "<=", at - SESSION_IDLE_MS), eb("created_at", "<=", at - SESSION_LONGEST_MS)]),
          )
          .execute(),
      );
    },
  };
}

/** Stores that a person has signed in from a network, and removes networks beyond MAX_NETWORKS. */
async function rememberNetwork(trx: Transaction<Schema>, personId: string, network: string, at: number): Promise<void> {
  await trx
    .insertInto("known_places")
    .values({ person_id: personId, place: network, at })
    .onConflict((conflict) => conflict.columns(["person_id", "place"]).doUpdateSet({ at }))
    .execute();
  const newest = trx
    .selectFrom("known_places")
    .select("place")
    .where("person_id", "=", personId)
    .orderBy("at", "desc")
    .orderBy("place")
    .limit(MAX_NETWORKS);
  await trx.deleteFrom("known_places").where("person_id", "=", personId).where("place", "not in", newest).execute();
}
