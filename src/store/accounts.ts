import { randomUUID } from "node:crypto";
import type { Transaction } from "kysely";
import type { ProfileName } from "../domain/limits.ts";
import type { Engine } from "./engine.ts";
import type { AccountStore } from "./port.ts";
import type { Schema } from "./schema.ts";
import type { Transactions } from "./transactions.ts";

/** Granularity of "last used": a write for every request would cost more than the request. */
const TOUCH_MS = 60_000;

/** Accounts and their keys. @param now milliseconds since the epoch. */
export function accountStore({ db }: Engine, transactions: Transactions, now: () => number): AccountStore {
  const touched = new Map<string, number>();
  return {
    ensureAccount(name, tier) {
      return transactions.run((trx) => ensureAccount(trx, name, tier, now()));
    },

    async addKey(key) {
      await transactions.run((trx) =>
        trx
          .insertInto("api_keys")
          .values({
            id: key.id,
            account_id: key.accountId,
            project_id: key.projectId,
            name: key.name,
            prefix: key.prefix,
            hash: key.hash,
            requests_per_minute: key.requestsPerMinute,
            concurrency: key.concurrency,
            profiles: JSON.stringify(key.profiles),
            default_profile: key.defaultProfile,
            created_at: key.createdAtMs,
          })
          .execute(),
      );
    },

    async listKeys() {
      const rows = await db
        .selectFrom("api_keys")
        .innerJoin("accounts", "accounts.id", "api_keys.account_id")
        .selectAll("api_keys")
        .select("accounts.name as account_name")
        .orderBy("api_keys.created_at")
        .orderBy("api_keys.id")
        .execute();
      return rows.map((row) => ({
        id: row.id,
        accountId: row.account_id,
        accountName: row.account_name,
        projectId: row.project_id,
        name: row.name,
        prefix: row.prefix,
        hash: row.hash,
        requestsPerMinute: row.requests_per_minute,
        concurrency: row.concurrency,
        profiles: JSON.parse(row.profiles) as ProfileName[],
        defaultProfile: row.default_profile as ProfileName,
        createdAtMs: row.created_at,
        revokedAtMs: row.revoked_at,
        lastUsedAtMs: row.last_used_at,
      }));
    },

    async revokeKey(id) {
      const result = await transactions.run((trx) =>
        trx
          .updateTable("api_keys")
          .set({ revoked_at: now() })
          .where("id", "=", id)
          .where("revoked_at", "is", null)
          .executeTakeFirst(),
      );
      return result.numUpdatedRows > 0n;
    },

    async findCaller(hash) {
      const row = await db
        .selectFrom("api_keys")
        .innerJoin("accounts", "accounts.id", "api_keys.account_id")
        .innerJoin("tiers", "tiers.name", "accounts.tier")
        .selectAll("api_keys")
        .select(["tiers.requests_per_minute as tier_rpm", "tiers.concurrency as tier_concurrency"])
        .where("api_keys.hash", "=", hash)
        .where("api_keys.revoked_at", "is", null)
        .executeTakeFirst();
      if (!row) return undefined;
      return {
        hash: row.hash,
        caller: {
          keyId: row.id,
          accountId: row.account_id,
          projectId: row.project_id,
          requestsPerMinute: row.requests_per_minute ?? row.tier_rpm,
          concurrency: row.concurrency ?? row.tier_concurrency,
          profiles: JSON.parse(row.profiles) as ProfileName[],
          defaultProfile: row.default_profile as ProfileName,
        },
      };
    },

    async touchKey(keyId) {
      const nowMs = now();
      const last = touched.get(keyId);
      if (last !== undefined && Math.abs(nowMs - last) < TOUCH_MS) return;
      touched.set(keyId, nowMs);
      await transactions.run((trx) =>
        trx.updateTable("api_keys").set({ last_used_at: nowMs }).where("id", "=", keyId).execute(),
      );
    },
  };
}

async function ensureAccount(trx: Transaction<Schema>, name: string, tier: string, nowMs: number) {
  await trx
    .insertInto("accounts")
    .values({ id: randomUUID(), name, tier, created_at: nowMs })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
  return await trx.selectFrom("accounts").select(["id", "name"]).where("name", "=", name).executeTakeFirstOrThrow();
}
