import { randomUUID } from "node:crypto";
import { hashKey, newKey } from "../domain/key.ts";
import type { ProfileName } from "../domain/limits.ts";
import type { ApiKeyRow, Store } from "../store/port.ts";

const DEFAULT_TIER = "beta";

/** Largest override that makes sense; beyond it, a number is a typing mistake. */
const MAX_REQUESTS_PER_MINUTE = 1_000_000;
const MAX_CONCURRENCY = 10_000;
const MAX_NAME_LENGTH = 100;

export interface NewKey {
  readonly name: string;
  /**
   * Whose the records are. Without it the key has an account of its own name: keys of
   * different names do not see each other's records, and a second key of the same name
   * replaces the first without losing them.
   */
  readonly account?: string | undefined;
  /** Overrides of the tier; undefined keeps its value. */
  readonly requestsPerMinute?: number | undefined;
  readonly concurrency?: number | undefined;
  /** Profiles that the key may use; the first is its default. */
  readonly profiles: readonly ProfileName[];
}

/** What an operator may read about a key. `key` is there once: when it was made. */
export interface KeyView {
  readonly id: string;
  readonly name: string;
  readonly account: string;
  readonly prefix: string;
  readonly requestsPerMinute: number | null;
  readonly concurrency: number | null;
  readonly profiles: readonly string[];
  readonly defaultProfile: string;
  readonly createdAt: string;
  readonly revokedAt: string | null;
  readonly lastUsedAt: string | null;
}

/** A request of an operator that cannot be done; the message is for them. */
export class AdminError extends Error {
  override readonly name = "AdminError";
}

/** @throws AdminError when a value is out of its range. */
export async function createKey(store: Store, request: NewKey, nowMs: number): Promise<{ key: string; id: string }> {
  const defaultProfile = check(request);
  const account = await store.accounts.ensureAccount(request.account ?? request.name, DEFAULT_TIER);
  const { key, hash, prefix } = newKey();
  const id = randomUUID();
  await store.accounts.addKey({
    id,
    accountId: account.id,
    projectId: null,
    name: request.name,
    prefix,
    hash,
    requestsPerMinute: request.requestsPerMinute ?? null,
    concurrency: request.concurrency ?? null,
    profiles: [...new Set(request.profiles)],
    defaultProfile,
    createdAtMs: nowMs,
  });
  return { key, id };
}

export async function listKeys(store: Store): Promise<KeyView[]> {
  return (await store.accounts.listKeys()).map(view);
}

/**
 * Ends a key at once; what it submitted goes on.
 * @param which the key itself, its id, or its visible first characters.
 * @throws AdminError when that is no live key, or more than one.
 */
export async function revokeKey(store: Store, which: string): Promise<KeyView> {
  const hash = hashKey(which);
  const matches = (await store.accounts.listKeys()).filter(
    (key) => key.revokedAtMs === null && (key.id === which || key.hash === hash || key.prefix === which),
  );
  const [match, ...others] = matches;
  if (!match) throw new AdminError("there is no such live key");
  if (others.length > 0) throw new AdminError("more than one key begins like this; use the id");
  await store.accounts.revokeKey(match.id);
  return view(match);
}

function check(request: NewKey): ProfileName {
  if (request.name.trim() === "" || request.name.length > MAX_NAME_LENGTH) {
    throw new AdminError(`the name must have 1 to ${MAX_NAME_LENGTH} characters`);
  }
  checkRange("requests per minute", request.requestsPerMinute, MAX_REQUESTS_PER_MINUTE);
  checkRange("concurrency", request.concurrency, MAX_CONCURRENCY);
  const [defaultProfile] = request.profiles;
  if (!defaultProfile) throw new AdminError("a key needs at least one profile");
  return defaultProfile;
}

function checkRange(what: string, value: number | undefined, most: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= most)) return;
  throw new AdminError(`${what} must be a whole number from 1 to ${most}`);
}

function view(row: ApiKeyRow): KeyView {
  return {
    id: row.id,
    name: row.name,
    account: row.accountName,
    prefix: row.prefix,
    requestsPerMinute: row.requestsPerMinute,
    concurrency: row.concurrency,
    profiles: row.profiles,
    defaultProfile: row.defaultProfile,
    createdAt: new Date(row.createdAtMs).toISOString(),
    revokedAt: row.revokedAtMs === null ? null : new Date(row.revokedAtMs).toISOString(),
    lastUsedAt: row.lastUsedAtMs === null ? null : new Date(row.lastUsedAtMs).toISOString(),
  };
}
