import type { Kysely, Selectable } from "kysely";
import type { ProfileName } from "../../domain/limits.ts";
import type { Schema } from "../database/schema.ts";
import type { ApiKey } from "./types.ts";

export type KeyRow = Selectable<Schema["api_keys"]>;

/** Selects keys with the names of their account and project, newest first. */
export function selectKeys(db: Kysely<Schema>) {
  return db
    .selectFrom("api_keys")
    .innerJoin("accounts", "accounts.id", "api_keys.account_id")
    .leftJoin("projects", "projects.id", "api_keys.project_id")
    .selectAll("api_keys")
    .select(["accounts.name as account_name", "projects.name as project_name"])
    .orderBy("api_keys.created_at", "desc")
    .orderBy("api_keys.id", "desc");
}

/** Whether a key is live: neither revoked nor expired. A rotated key is expired from the millisecond of its expiry on. */
export function isLive(row: Pick<KeyRow, "revoked_at" | "expires_at">, nowMs: number): boolean {
  return row.revoked_at === null && (row.expires_at === null || nowMs < row.expires_at);
}

export function toApiKey(row: KeyRow & { account_name: string; project_name: string | null }, nowMs: number): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    accountName: row.account_name,
    projectId: row.project_id,
    projectName: row.project_name,
    name: row.name,
    prefix: row.prefix,
    hash: row.hash,
    requestsPerMinute: row.requests_per_minute,
    concurrency: row.concurrency,
    ...profilesOf(row),
    createdAtMs: row.created_at,
    revokedAtMs: row.revoked_at,
    expiresAtMs: row.expires_at,
    replaces: row.replaces,
    lastUsedAtMs: row.last_used_at,
    isLive: isLive(row, nowMs),
  };
}

export function profilesOf(row: Pick<KeyRow, "profiles" | "default_profile">) {
  return {
    profiles: JSON.parse(row.profiles) as ProfileName[],
    defaultProfile: row.default_profile as ProfileName,
  };
}
