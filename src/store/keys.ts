import type { Kysely, Transaction } from "kysely";
import type { KeyChanges, KeyStore } from "./admin-port.ts";
import { note } from "./audit.ts";
import type { Engine } from "./engine.ts";
import { Gathered } from "./gathered.ts";
import { isLive, type KeyRow, profilesOf, selectKeys, toApiKey } from "./key-rows.ts";
import { readUsage } from "./key-usage.ts";
import { lockProject } from "./projects.ts";
import type { Schema } from "./schema.ts";
import type { Transactions } from "./transactions.ts";

/** Granularity of "last used": a write for every request would cost more than the request. */
const TOUCH_MS = 60_000;

/** @param now milliseconds since the epoch. */
export function keyStore({ db }: Engine, transactions: Transactions, now: () => number): KeyStore {
  const touched = new Map<string, number>();
  const callers = new Gathered((hashes: readonly string[]) => findCallers(db, hashes, now()));
  return {
    add(key, actor, most = null) {
      return transactions.run(async (trx) => {
        const atMs = now();
        if (key.projectId !== null) {
          const project = await lockProject(trx, key.projectId);
          if (project?.account_id !== key.accountId || project.archived_at !== null) return "no-project";
        }
        if (await isFull(trx, key.accountId, most, atMs)) return "full";
        const row = {
          id: key.id,
          account_id: key.accountId,
          project_id: key.projectId,
          name: key.name,
          prefix: key.prefix,
          hash: key.hash,
          ...columnsOf(key),
          created_at: atMs,
        };
        await trx.insertInto("api_keys").values(row).execute();
        const { requestsPerMinute, concurrency, profiles, defaultProfile } = key;
        const limits = { requestsPerMinute, concurrency, profiles, defaultProfile };
        const detail = { name: key.name, prefix: key.prefix, projectId: key.projectId, ...limits };
        await note(trx, { atMs, actor, action: "key.create", subject: key.id, accountId: key.accountId, detail });
        return "added";
      });
    },

    async list() {
      const nowMs = now();
      return (await selectKeys(db).execute()).map((row) => toApiKey(row, nowMs));
    },

    async match({ id, hash, prefix }) {
      const query = selectKeys(db).where((eb) =>
        eb.or([eb("api_keys.id", "=", id), eb("api_keys.hash", "=", hash), eb("api_keys.prefix", "=", prefix)]),
      );
      const nowMs = now();
      return (await query.execute()).map((row) => toApiKey(row, nowMs));
    },

    update(id, changes, actor) {
      return transactions.run(async (trx) => {
        const atMs = now();
        const row = await lockKey(trx, id);
        if (!row || !isLive(row, atMs)) return false;
        const detail = differences(row, changes);
        if (Object.keys(detail).length === 0) return true;
        await trx.updateTable("api_keys").set(columnsOf(changes)).where("id", "=", id).execute();
        await note(trx, { atMs, actor, action: "key.update", subject: id, accountId: row.account_id, detail });
        return true;
      });
    },

    rotate(id, successor, overlapMs, actor, most = null) {
      return transactions.run(async (trx) => {
        const atMs = now();
        const row = await lockKey(trx, id);
        if (!row || !isLive(row, atMs) || row.expires_at !== null) return undefined;
        if (await isFull(trx, row.account_id, most, atMs)) return "full";
        const expiresAtMs = atMs + overlapMs;
        await trx.updateTable("api_keys").set({ expires_at: expiresAtMs }).where("id", "=", id).execute();
        const fresh = { created_at: atMs, last_used_at: null, replaces: id };
        await trx
          .insertInto("api_keys")
          .values({ ...row, ...successor, ...fresh })
          .execute();
        const detail = { successor: successor.id, prefix: successor.prefix, expiresAt: new Date(expiresAtMs) };
        await note(trx, { atMs, actor, action: "key.rotate", subject: id, accountId: row.account_id, detail });
        return expiresAtMs;
      });
    },

    revoke(id, actor) {
      return transactions.run(async (trx) => {
        const atMs = now();
        const row = await lockKey(trx, id);
        if (!row || !isLive(row, atMs)) return false;
        await trx.updateTable("api_keys").set({ revoked_at: atMs }).where("id", "=", id).execute();
        const detail = { name: row.name, prefix: row.prefix };
        await note(trx, { atMs, actor, action: "key.revoke", subject: id, accountId: row.account_id, detail });
        return true;
      });
    },

    findCaller: (hash) => callers.add(hash),

    async touch(id) {
      const nowMs = now();
      const last = touched.get(id);
      if (last !== undefined && Math.abs(nowMs - last) < TOUCH_MS) return;
      touched.set(id, nowMs);
      await transactions.run((trx) =>
        trx.updateTable("api_keys").set({ last_used_at: nowMs }).where("id", "=", id).execute(),
      );
    },

    usage: (accountIds) => readUsage(db, accountIds, now()),
  };
}

/** In the order of `hashes`. */
async function findCallers(
  db: Kysely<Schema>,
  hashes: readonly string[],
  nowMs: number,
): Promise<Awaited<ReturnType<KeyStore["findCaller"]>>[]> {
  const rows = await db
    .selectFrom("api_keys")
    .innerJoin("accounts", "accounts.id", "api_keys.account_id")
    .innerJoin("tiers", "tiers.name", "accounts.tier")
    .select([
      "api_keys.id",
      "hash",
      "account_id",
      "project_id",
      "profiles",
      "default_profile",
      "revoked_at",
      "expires_at",
    ])
    .select(["api_keys.requests_per_minute", "api_keys.concurrency"])
    .select(["tiers.requests_per_minute as tier_rpm", "tiers.concurrency as tier_concurrency", "accounts.suspended_at"])
    .where("api_keys.hash", "in", [...new Set(hashes)])
    .execute();
  const found = new Map(rows.filter((row) => isLive(row, nowMs)).map((row) => [row.hash, row]));
  return hashes.map((hash) => {
    const row = found.get(hash);
    if (!row) return undefined;
    const caller = {
      keyId: row.id,
      accountId: row.account_id,
      projectId: row.project_id,
      requestsPerMinute: row.requests_per_minute ?? row.tier_rpm,
      concurrency: row.concurrency ?? row.tier_concurrency,
      ...profilesOf(row),
    };
    return { hash, caller, suspended: row.suspended_at !== null };
  });
}

/** As it stays until the end of the transaction; see lockProject. */
async function lockKey(trx: Transaction<Schema>, id: string): Promise<KeyRow | undefined> {
  return await trx
    .updateTable("api_keys")
    .set((eb) => ({ name: eb.ref("name") }))
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirst();
}

/** Whether an account has so many live keys. Until the end of the transaction nobody else who asks adds one. */
async function isFull(
  trx: Transaction<Schema>,
  accountId: string,
  most: number | null,
  nowMs: number,
): Promise<boolean> {
  if (most === null) return false;
  await trx
    .updateTable("accounts")
    .set((eb) => ({ name: eb.ref("name") }))
    .where("id", "=", accountId)
    .execute();
  const rows = await trx
    .selectFrom("api_keys")
    .select(["revoked_at", "expires_at"])
    .where("account_id", "=", accountId)
    .where("revoked_at", "is", null)
    .execute();
  return rows.filter((row) => isLive(row, nowMs)).length >= most;
}

function columnsOf({ requestsPerMinute, concurrency, profiles, defaultProfile }: KeyChanges) {
  return {
    requests_per_minute: requestsPerMinute,
    concurrency,
    profiles: JSON.stringify(profiles),
    default_profile: defaultProfile,
  };
}

/** What an update changes, from what to what. */
function differences(row: KeyRow, changes: KeyChanges): Record<string, { from: unknown; to: unknown }> {
  const was = { requestsPerMinute: row.requests_per_minute, concurrency: row.concurrency, ...profilesOf(row) };
  const names = ["requestsPerMinute", "concurrency", "profiles", "defaultProfile"] as const;
  return Object.fromEntries(
    names
      .map((name) => [name, { from: was[name], to: changes[name] }] as const)
      .filter(([, { from, to }]) => JSON.stringify(from) !== JSON.stringify(to)),
  );
}
