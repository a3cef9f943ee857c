import { sql, type Transaction } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import type { ProfileName } from "../../domain/limits.ts";
import { addAuditEntry } from "../audit/audit.ts";
import { Batcher } from "../database/batcher.ts";
import type { Database } from "../database/database.ts";
import { inTime, READ_PATIENCE_MS } from "../database/in-time.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { afterPosition, liveAt, pageOf } from "../pagination.ts";
import { ENQUEUE_LOCK } from "../submissions/enqueue.ts";
import { type FoundCaller, findCallers } from "./callers.ts";
import { isLive, type KeyRow, profilesOf, selectKeys, toApiKey } from "./key-rows.ts";
import { readUsage } from "./key-usage.ts";
import { lockAccount, lockProject } from "./projects.ts";
import type { ApiKey, KeyBounds, KeyChanges, KeysRefused, KeyUsage, ListPage, NewApiKey } from "./types.ts";

/** The time of use of a key is stored at most this often: a write for every request would cost more than the request. */
const TOUCH_MS = 60_000;

const DAY_MS = 86_400_000;

/** How many of the newest keys of an account a search by name or profile reads. */
const MAX_READ = 5_000;

/** The condition that `text` is a part of the name of a key, in any case, or the beginning of the key. */
function named(text: string) {
  const literal = text.replaceAll(/[\\%_]/g, String.raw`\$&`);
  return sql<boolean>`(lower(api_keys.name) like lower(${`%${literal}%`}) escape '\\'
    or api_keys.prefix like ${`${literal}%`} escape '\\')`;
}

export type KeyStore = ReturnType<typeof keyStore>;

/** @param now milliseconds since the epoch. */
export function keyStore({ db, abilities }: Database, transactions: Transactions, now: () => number) {
  const touched = new Map<string, number>();
  const callers = new Batcher((hashes: readonly string[]) => findCallers(db, hashes, now()));
  /** The newest keys of an account, or of all accounts. A search by name or profile has no index, so it reads only these. */
  const newest = (accountId: string | null) => {
    const keys = db.selectFrom("api_keys").select("id").orderBy("created_at", "desc").orderBy("id", "desc");
    return (accountId === null ? keys : keys.where("account_id", "=", accountId)).limit(MAX_READ);
  };
  return {
    /**
     * Adds a key. @param bounds null for no limits.
     * @returns `no-project`, without changes, if the project is unknown, archived or of another account; `full` or `spent`, without
     * changes, if the account has reached a bound.
     */
    add(
      key: NewApiKey,
      actor: AuditActor,
      bounds: KeyBounds | null = null,
    ): Promise<"added" | KeysRefused | "no-project"> {
      return transactions.run(async (trx) => {
        const atMs = now();
        if (key.projectId !== null) {
          const project = await lockProject(trx, key.projectId);
          if (project?.account_id !== key.accountId || project.archived_at !== null) return "no-project";
        }
        const refused = await refusedBy(trx, key.accountId, bounds, atMs);
        if (refused) return refused;
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
        await addAuditEntry(trx, {
          atMs,
          actor,
          action: "key.create",
          subject: key.id,
          accountId: key.accountId,
          detail,
        });
        return "added";
      });
    },

    /**
     * Keys, newest first. @param projectId only keys of this project. @param live whether only live keys are listed.
     * @param name a part of the name in any case, or the beginning of the key; of each account, only the newest keys are searched.
     * @param profile only keys that allow this profile; of each account, only the newest keys are searched.
     */
    async list({
      projectId,
      live = false,
      name,
      profile,
      ...part
    }: ListPage & {
      readonly projectId?: string | undefined;
      readonly live?: boolean | undefined;
      readonly name?: string | undefined;
      readonly profile?: ProfileName | undefined;
    } = {}): Promise<ApiKey[]> {
      const nowMs = now();
      const positionOf = (id: string) =>
        db.selectFrom("api_keys").select(["id", "created_at", "account_id"]).where("id", "=", id).executeTakeFirst();
      const rows = await pageOf(part, positionOf, (accountId, max, position) => {
        let query = selectKeys(db).limit(max);
        if (accountId !== null) query = query.where("api_keys.account_id", "=", accountId);
        if (projectId !== undefined) query = query.where("api_keys.project_id", "=", projectId);
        if (live) query = query.where((eb) => liveAt(eb, nowMs));
        // The column has a JSON list of names, none of which is a part of another one in quotation marks.
        if (profile !== undefined)
          query = query
            .where("api_keys.profiles", "like", `%"${profile}"%`)
            .where("api_keys.id", "in", newest(accountId));
        if (position) query = query.where(afterPosition("api_keys", position));
        if (name !== undefined) query = query.where(named(name)).where("api_keys.id", "in", newest(accountId));
        return query.execute();
      });
      return rows.map((row) => toApiKey(row, nowMs));
    },

    async get(id: string): Promise<ApiKey | undefined> {
      const row = await selectKeys(db).where("api_keys.id", "=", id).executeTakeFirst();
      return row && toApiKey(row, now());
    },

    /** The number of live keys of each project; projects without live keys are absent. */
    async countLive(projectIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
      if (projectIds.length === 0) return new Map();
      const rows = await db
        .selectFrom("api_keys")
        .select((eb) => ["project_id", eb.fn.countAll<number | string>().as("amount")])
        .where("project_id", "in", projectIds)
        .where((eb) => liveAt(eb, now()))
        .groupBy("project_id")
        .execute();
      return new Map(rows.map(({ project_id, amount }) => [project_id ?? "", Number(amount)]));
    },

    /** The profiles that the live keys of an account have, without regard to the key `exceptId`. */
    async profilesOf(accountId: string, exceptId: string): Promise<ReadonlySet<ProfileName>> {
      const rows = await db
        .selectFrom("api_keys")
        .select(["profiles", "default_profile"])
        .distinct()
        .where("account_id", "=", accountId)
        .where("id", "<>", exceptId)
        .where((eb) => liveAt(eb, now()))
        .execute();
      return new Set(rows.flatMap((row) => profilesOf(row).profiles));
    },

    /** The keys with this id or hash, or else those with this prefix, whether live or not. */
    async match({ id, hash, prefix }: Pick<ApiKey, "id" | "hash" | "prefix">): Promise<ApiKey[]> {
      const nowMs = now();
      const exact = selectKeys(db).where((eb) => eb.or([eb("api_keys.id", "=", id), eb("api_keys.hash", "=", hash)]));
      const found = await exact.execute();
      // Prefixes have no index, because only operators search by prefix.
      const rows = found.length > 0 ? found : await selectKeys(db).where("api_keys.prefix", "=", prefix).execute();
      return rows.map((row) => toApiKey(row, nowMs));
    },

    /** Changes the settings of a key. @returns false, without changes, if there is no such key or it is not live. */
    update(id: string, changes: KeyChanges, actor: AuditActor): Promise<boolean> {
      return transactions.run(async (trx) => {
        const atMs = now();
        const row = await lockKey(trx, id);
        if (!row || !isLive(row, atMs)) return false;
        const detail = differences(row, changes);
        if (Object.keys(detail).length === 0) return true;
        await trx.updateTable("api_keys").set(columnsOf(changes)).where("id", "=", id).execute();
        await addAuditEntry(trx, { atMs, actor, action: "key.update", subject: id, accountId: row.account_id, detail });
        return true;
      });
    },

    /**
     * Adds a key with the settings of an old one, which expires after the overlap.
     * @param bounds as for `add`, because during the overlap, there is one more key.
     * @returns when the old key expires, in milliseconds since the epoch; `full` or `spent` as for `add`; undefined if there is no such
     * key, or it is not live or was rotated before.
     */
    rotate(
      id: string,
      successor: Pick<ApiKey, "id" | "prefix" | "hash">,
      overlapMs: number,
      actor: AuditActor,
      bounds: KeyBounds | null = null,
    ): Promise<number | KeysRefused | undefined> {
      return transactions.run(async (trx) => {
        const atMs = now();
        const row = await lockKey(trx, id);
        if (!row || !isLive(row, atMs) || row.expires_at !== null) return undefined;
        const refused = await refusedBy(trx, row.account_id, bounds, atMs);
        if (refused) return refused;
        const expiresAtMs = atMs + overlapMs;
        await trx.updateTable("api_keys").set({ expires_at: expiresAtMs }).where("id", "=", id).execute();
        const fresh = { created_at: atMs, last_used_at: null, replaces: id };
        await trx
          .insertInto("api_keys")
          .values({ ...row, ...successor, ...fresh })
          .execute();
        const detail = { successor: successor.id, prefix: successor.prefix, expiresAt: new Date(expiresAtMs) };
        await addAuditEntry(trx, { atMs, actor, action: "key.rotate", subject: id, accountId: row.account_id, detail });
        return expiresAtMs;
      });
    },

    /** Revokes a key now. @returns false, without changes, if there is no such key or it is not live. */
    revoke(id: string, actor: AuditActor): Promise<boolean> {
      return transactions.run(async (trx) => {
        await abilities.lock(trx, ENQUEUE_LOCK);
        const atMs = now();
        const row = await lockKey(trx, id);
        if (!row || !isLive(row, atMs)) return false;
        await trx.updateTable("api_keys").set({ revoked_at: atMs }).where("id", "=", id).execute();
        const detail = { name: row.name, prefix: row.prefix };
        await addAuditEntry(trx, { atMs, actor, action: "key.revoke", subject: id, accountId: row.account_id, detail });
        return true;
      });
    },

    /** The caller whose live key has this hash; undefined if there is none. */
    findCaller: (hash: string): Promise<FoundCaller | undefined> => callers.add(hash),

    /** Stores the time of use of the key, at most once per minute and key. */
    async touch(id: string): Promise<void> {
      const nowMs = now();
      const last = touched.get(id);
      if (last !== undefined && Math.abs(nowMs - last) < TOUCH_MS) return;
      touched.set(id, nowMs);
      const written = transactions.run((trx) =>
        trx.updateTable("api_keys").set({ last_used_at: nowMs }).where("id", "=", id).execute(),
      );
      written.catch(() => touched.delete(id)); // the next request tries again
      await inTime(written, READ_PATIENCE_MS);
    },

    /** The present usage of keys, by id; unused keys are absent. */
    usage: (ids: readonly string[]): Promise<ReadonlyMap<string, KeyUsage>> => readUsage(db, ids, now()),
  };
}

/** Locks a key until the end of the transaction, as `lockProject` locks a project. */
async function lockKey(trx: Transaction<Schema>, id: string): Promise<KeyRow | undefined> {
  return await trx
    .updateTable("api_keys")
    .set((eb) => ({ name: eb.ref("name") }))
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirst();
}

/**
 * The reason why an account gets no further key; undefined if it gets one. The row of the account is locked until the end of the
 * transaction, so that two processes cannot both add the last key.
 */
async function refusedBy(
  trx: Transaction<Schema>,
  accountId: string,
  bounds: KeyBounds | null,
  nowMs: number,
): Promise<KeysRefused | undefined> {
  if (bounds === null) return undefined;
  await lockAccount(trx, accountId);
  const { made } = await trx
    .selectFrom("api_keys")
    .select((eb) => eb.fn.countAll<number | string>().as("made"))
    .where("account_id", "=", accountId)
    .where("created_at", ">", nowMs - DAY_MS)
    .executeTakeFirstOrThrow();
  if (Number(made) >= bounds.aDay) return "spent";
  const { live } = await trx
    .selectFrom("api_keys")
    .select((eb) => eb.fn.countAll<number | string>().as("live"))
    .where("account_id", "=", accountId)
    .where((eb) => liveAt(eb, nowMs))
    .executeTakeFirstOrThrow();
  return Number(live) >= bounds.liveKeys ? "full" : undefined;
}

function columnsOf({ requestsPerMinute, concurrency, profiles, defaultProfile }: KeyChanges) {
  return {
    requests_per_minute: requestsPerMinute,
    concurrency,
    profiles: JSON.stringify(profiles),
    default_profile: defaultProfile,
  };
}

/** The old and new values of the settings that an update changes. */
function differences(row: KeyRow, changes: KeyChanges): Record<string, { from: unknown; to: unknown }> {
  const was = { requestsPerMinute: row.requests_per_minute, concurrency: row.concurrency, ...profilesOf(row) };
  const names = ["requestsPerMinute", "concurrency", "profiles", "defaultProfile"] as const;
  return Object.fromEntries(
    names
      .map((name) => [name, { from: was[name], to: changes[name] }] as const)
      .filter(([, { from, to }]) => JSON.stringify(from) !== JSON.stringify(to)),
  );
}
