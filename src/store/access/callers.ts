import type { Kysely } from "kysely";
import type { Caller } from "../../domain/submission.ts";
import type { Schema } from "../database/schema.ts";
import { isLive, profilesOf } from "./key-rows.ts";

/** The caller that a live key stands for. */
export interface FoundCaller {
  readonly caller: Caller;
  /** The hash of the key, as it is stored. */
  readonly hash: string;
  /** Whether the account is suspended. */
  readonly suspended: boolean;
}

/** Finds the callers of keys, in the order of `hashes`; undefined for a hash that no live key has. */
export async function findCallers(
  db: Kysely<Schema>,
  hashes: readonly string[],
  nowMs: number,
): Promise<(FoundCaller | undefined)[]> {
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
    .select(["tiers.requests_per_minute as tier_rpm", "tiers.concurrency as tier_concurrency", "executions"])
    .select("accounts.suspended_at")
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
      executions: row.executions,
      ...profilesOf(row),
    };
    return { hash, caller, suspended: row.suspended_at !== null };
  });
}
