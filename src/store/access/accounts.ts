import { randomUUID } from "node:crypto";
import type { Selectable } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { ENQUEUE_LOCK } from "../submissions/enqueue.ts";
import type { Account } from "./types.ts";

export type AccountStore = ReturnType<typeof accountStore>;

/** @param now milliseconds since the epoch. */
export function accountStore({ db, abilities }: Database, transactions: Transactions, now: () => number) {
  const select = () =>
    db
      .selectFrom("accounts")
      .innerJoin("tiers", "tiers.name", "accounts.tier")
      .selectAll("accounts")
      .select(["tiers.requests_per_minute", "tiers.concurrency"]);

  return {
    /** Finds the account with this name, or creates it with the tier. @throws if it must be created and the tier is unknown. */
    ensure(name: string, tier: string, actor: AuditActor): Promise<{ readonly id: string; readonly made: boolean }> {
      return transactions.run(async (trx) => {
        const atMs = now();
        const made = await trx
          .insertInto("accounts")
          .values({ id: randomUUID(), name, tier, created_at: atMs })
          .onConflict((conflict) => conflict.column("name").doNothing())
          .returning("id")
          .executeTakeFirst();
        if (made) {
          const entry = { subject: made.id, accountId: made.id, detail: { name, tier } };
          await addAuditEntry(trx, { atMs, actor, action: "account.create", ...entry });
          return { id: made.id, made: true };
        }
        const { id } = await trx.selectFrom("accounts").select("id").where("name", "=", name).executeTakeFirstOrThrow();
        return { id, made: false };
      });
    },

    /** The accounts with these ids, or all; oldest first. */
    async list(ids: readonly string[] | null = null): Promise<Account[]> {
      if (ids?.length === 0) return [];
      let query = select().orderBy("accounts.created_at").orderBy("accounts.id");
      if (ids) query = query.where("accounts.id", "in", ids);
      return (await query.execute()).map(toAccount);
    },

    /** The account with this id, or else with this name; undefined if there is none. */
    async find(nameOrId: string): Promise<Account | undefined> {
      const query = select().where((eb) =>
        eb.or([eb("accounts.id", "=", nameOrId), eb("accounts.name", "=", nameOrId)]),
      );
      const found = (await query.execute()).map(toAccount);
      return found.find(({ id }) => id === nameOrId) ?? found[0];
    },

    /** Renames an account. @returns false for an unknown account, and if another account has the name. */
    rename(id: string, name: string, actor: AuditActor): Promise<boolean> {
      return transactions.run(async (trx) => {
        const account = await trx.selectFrom("accounts").select("name").where("id", "=", id).executeTakeFirst();
        if (!account) return false;
        if (account.name === name) return true;
        const taken = await trx.selectFrom("accounts").select("id").where("name", "=", name).executeTakeFirst();
        if (taken) return false;
        await trx.updateTable("accounts").set({ name }).where("id", "=", id).execute();
        const detail = { name: { from: account.name, to: name } };
        await addAuditEntry(trx, { atMs: now(), actor, action: "account.rename", subject: id, accountId: id, detail });
        return true;
      });
    },

    /** Gives an account another tier. @returns false for an unknown account. @throws for an unknown tier. */
    setTier(id: string, tier: string, actor: AuditActor): Promise<boolean> {
      return transactions.run(async (trx) => {
        const account = await trx.selectFrom("accounts").select("tier").where("id", "=", id).executeTakeFirst();
        if (!account) return false;
        if (account.tier === tier) return true;
        await trx.updateTable("accounts").set({ tier }).where("id", "=", id).execute();
        const detail = { tier: { from: account.tier, to: tier } };
        await addAuditEntry(trx, {
          atMs: now(),
          actor,
          action: "account.set-tier",
          subject: id,
          accountId: id,
          detail,
        });
        return true;
      });
    },

    /**
     * Suspends or resumes an account. While it is suspended, its keys are refused and its submissions are not claimed; its running
     * submissions continue.
     * @returns false for an unknown account.
     */
    setSuspended(id: string, suspended: boolean, actor: AuditActor): Promise<boolean> {
      const atMs = now();
      return transactions.run(
        async (trx) => {
          await abilities.lock(trx, ENQUEUE_LOCK);
          const account = await trx
            .selectFrom("accounts")
            .select("suspended_at")
            .where("id", "=", id)
            .executeTakeFirst();
          if (!account) return false;
          if ((account.suspended_at !== null) === suspended) return true;
          const change = { suspended_at: suspended ? atMs : null };
          await trx.updateTable("accounts").set(change).where("id", "=", id).execute();
          const action = suspended ? "account.suspend" : "account.resume";
          await addAuditEntry(trx, { atMs, actor, action, subject: id, accountId: id, detail: {} });
          return true;
        },
        { notifications: () => (suspended ? [] : [{ kind: "work" }]) },
      );
    },
  };
}

function toAccount(
  row: Selectable<Schema["accounts"]> & { readonly requests_per_minute: number; readonly concurrency: number },
): Account {
  return {
    id: row.id,
    name: row.name,
    tier: row.tier,
    requestsPerMinute: row.requests_per_minute,
    concurrency: row.concurrency,
    createdAtMs: row.created_at,
    suspendedAtMs: row.suspended_at,
  };
}
