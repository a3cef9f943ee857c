import { SESSION_IDLE_MS, SESSION_LONGEST_MS } from "../domain/session.ts";
import type { Engine } from "./engine.ts";
import type { SessionStore } from "./people-port.ts";
import type { Transactions } from "./transactions.ts";

/** Granularity of "last seen": an open page asks every few seconds. */
const TOUCH_MS = 60_000;

/** @param now milliseconds since the epoch. */
export function sessionStore({ db }: Engine, transactions: Transactions, now: () => number): SessionStore {
  return {
    async begin(hash, personId) {
      const at = now();
      await transactions.run(async (trx) => {
        await trx.insertInto("sessions").values({ hash, person_id: personId, created_at: at, seen_at: at }).execute();
        await trx.updateTable("people").set({ seen_at: at }).where("id", "=", personId).execute();
      });
    },

    async find(hash) {
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
        await transactions.runUnflushed(async (trx) => {
          await trx.updateTable("sessions").set({ seen_at: at }).where("hash", "=", hash).execute();
          await trx.updateTable("people").set({ seen_at: at }).where("id", "=", row.id).execute();
        });
      }
      const { id, email, name } = row;
      if (row.administrator === 1) return { id, email, name, administrator: true, accountIds: null };
      const members = await db.selectFrom("members").select("account_id").where("person_id", "=", id).execute();
      return { id, email, name, administrator: false, accountIds: members.map(({ account_id }) => account_id) };
    },

    async end(hash) {
      await transactions.run((trx) => trx.deleteFrom("sessions").where("hash", "=", hash).execute());
    },

    async forget() {
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
