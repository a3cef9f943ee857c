import { randomUUID } from "node:crypto";
import type { AuditActor } from "../domain/audit.ts";
import { hashKey, isPlaygroundKey, newKey } from "../domain/key.ts";
import type { ProfileName } from "../domain/limits.ts";
import type { ApiKey, KeyBounds, KeyChanges, KeysRefused } from "../store/access/types.ts";
import type { Store } from "../store/store.ts";
import { dropPending, ensureAccount, findAccount, type Unnamed } from "./accounts.ts";
import { AdminError } from "./error.ts";
import { type KeyView, keyView } from "./key-view.ts";
import { type ListedPart, partFor } from "./pagination.ts";
import { archived, findOpenProject, findProject } from "./projects.ts";
import { checkLimits, checkName, checkOverlap } from "./rules.ts";

export interface NewKey {
  readonly name: string;
  /**
   * Name or id of the account that owns the key and its records. If neither an account nor a project is given, it is the account
   * with the name of the key. Keys of different names then do not share records, but a second key of the same name joins the
   * account of the first.
   */
  readonly account?: string | undefined;
  /** The id of an existing account, instead of `account` and `project`. */
  readonly accountId?: string | undefined;
  /** The project whose webhooks receive the results. The key then belongs to the account of the project. */
  readonly project?: string | undefined;
  /** Limits of the key, instead of those of the tier; undefined: the limit of the tier holds. */
  readonly requestsPerMinute?: number | undefined;
  readonly concurrency?: number | undefined;
  /** Allowed profiles. */
  readonly profiles: readonly ProfileName[];
  /** Default profile; the first one if undefined. */
  readonly defaultProfile?: ProfileName | undefined;
}

interface Bounded {
  /** Bounds for the number of keys of the account; null for none. */
  readonly bounds?: KeyBounds | null;
}

/** Changes of a key. Undefined keeps a value; null removes a limit of the key, so that the limit of the tier holds. */
export type KeyUpdate = { readonly [Name in keyof KeyChanges]?: KeyChanges[Name] | undefined };

/** `key` is the secret text of the key, which is returned only once. */
export interface MadeKey extends KeyView {
  readonly key: string;
}

/**
 * Creates a key.
 * @param unnamed see ensureAccount.
 * @throws AdminError if a value is invalid, the account is at its bounds, or the project is unknown or archived.
 */
export async function createKey(
  store: Store,
  request: NewKey,
  actor: AuditActor,
  { unnamed = () => {}, bounds = null }: Bounded & { readonly unnamed?: Unnamed } = {},
): Promise<MadeKey> {
  checkName(request.name);
  const settings = checkSettings({
    requestsPerMinute: request.requestsPerMinute ?? null,
    concurrency: request.concurrency ?? null,
    profiles: request.profiles,
    defaultProfile: request.defaultProfile ?? request.profiles[0],
  });
  const { accountId, projectId } = await ownerOf(store, request, actor, unnamed);
  const { key, hash, prefix } = newKey();
  const id = randomUUID();
  const added = await store.keys.add(
    { id, accountId, projectId, name: request.name, prefix, hash, ...settings },
    actor,
    bounds,
  );
  if (added === "no-project") throw archived(request.project ?? "");
  if (added !== "added") throw tooManyKeys(added, bounds);
  return { key, ...(await viewOf(store, id)) };
}

/**
 * A page of keys, newest first, optionally of one project.
 * @throws AdminError if the project, account or key is unknown.
 */
export async function listKeys(
  store: Store,
  { project, ...which }: ListedPart & { readonly project?: string | undefined } = {},
): Promise<KeyView[]> {
  const projectId = project === undefined ? undefined : (await findProject(store, project, which.account)).id;
  const part = await partFor(store, which, async (id) => {
    const key = await store.keys.get(id);
    return key && [key.accountId];
  });
  return (await store.keys.list({ ...part, projectId })).map(keyView);
}

/**
 * Changes limits and profiles of a live key. The changes hold from the next request of the key on.
 * @param which the text of the key, its id or its visible prefix, as in the functions below.
 * @throws AdminError if no or several live keys match, a value is invalid, or nothing is to be changed.
 */
export async function updateKey(store: Store, which: string, update: KeyUpdate, actor: AuditActor): Promise<KeyView> {
  if (Object.values(update).every((value) => value === undefined)) throw new AdminError("there is nothing to change");
  const key = await findLiveKey(store, which);
  const { requestsPerMinute = key.requestsPerMinute, concurrency = key.concurrency } = update;
  const { profiles = key.profiles, defaultProfile = key.defaultProfile } = update;
  const settings = checkSettings({ requestsPerMinute, concurrency, profiles, defaultProfile });
  if (!(await store.keys.update(key.id, settings, actor))) throw noSuchKey();
  return await viewOf(store, key.id);
}

/**
 * Creates a key with the settings of a live key. The old key ends after the overlap, or at once if the overlap is 0. Records and
 * idempotency keys belong to the account, so the new key shares them.
 * @returns the new and the old key.
 * @throws AdminError if no or several live keys match, the key was already rotated or is that of the playground, the overlap is
 * invalid, or the account is at its bounds.
 */
export async function rotateKey(
  store: Store,
  which: string,
  overlapMs: number,
  actor: AuditActor,
  { bounds = null }: Bounded = {},
): Promise<{ readonly made: MadeKey; readonly old: KeyView }> {
  checkOverlap(overlapMs);
  const old = await findLiveKey(store, which);
  if (old.expiresAtMs !== null) throw new AdminError("the key was already rotated; rotate its replacement");
  // The replacement would be a usable key with the permissions of the playground.
  if (isPlaygroundKey(old)) throw new AdminError("the playground key cannot be rotated");
  const { key, hash, prefix } = newKey();
  const id = randomUUID();
  const rotated = await store.keys.rotate(old.id, { id, hash, prefix }, overlapMs, actor, bounds);
  if (rotated === "full" || rotated === "spent") throw tooManyKeys(rotated, bounds);
  if (rotated === undefined) throw noSuchKey();
  return { made: { key, ...(await viewOf(store, id)) }, old: await viewOf(store, old.id) };
}

/**
 * Revokes a key at once. Its pending submissions still run, unless they are dropped.
 * @param drop whether to drop them.
 * @returns the key, the number of dropped submissions, and the number of those that are still pending.
 * @throws AdminError if no or several live keys match.
 */
export async function revokeKey(
  store: Store,
  which: string,
  actor: AuditActor,
  { drop = false }: { readonly drop?: boolean | undefined } = {},
): Promise<{ readonly key: KeyView; readonly dropped: number; readonly pending: number }> {
  const { id, accountId } = await findLiveKey(store, which);
  if (!(await store.keys.revoke(id, actor))) throw noSuchKey();
  const dropped = drop ? await dropPending(store, { accountId, keyId: id }, actor) : 0;
  const { pending = 0 } = (await store.keys.usage([id])).get(id) ?? {};
  return { key: await viewOf(store, id), dropped, pending };
}

/** Ends the pending submissions of a key, revoked or not. @throws AdminError if no or several keys match. */
export async function dropPendingOfKey(
  store: Store,
  which: string,
  actor: AuditActor,
): Promise<{ readonly key: KeyView; readonly dropped: number }> {
  const [key, ...others] = await store.keys.match({ id: which, hash: hashKey(which), prefix: which });
  if (!key) throw new AdminError("there is no such key");
  if (others.length > 0) throw ambiguous();
  const dropped = await dropPending(store, { accountId: key.accountId, keyId: key.id }, actor);
  return { key: await viewOf(store, key.id), dropped };
}

async function ownerOf(store: Store, request: NewKey, actor: AuditActor, unnamed: Unnamed) {
  const { account, accountId: own, project } = request;
  if (own !== undefined) return { accountId: own, projectId: null };
  if (project === undefined) return { accountId: await ensureAccount(store, request, actor, unnamed), projectId: null };
  if (account !== undefined) await findAccount(store, account);
  const { id, accountId } = await findOpenProject(store, project, account);
  return { accountId, projectId: id };
}

function checkSettings(
  settings: Omit<KeyChanges, "defaultProfile"> & { defaultProfile: ProfileName | undefined },
): KeyChanges {
  checkLimits(settings);
  const { requestsPerMinute, concurrency, defaultProfile } = settings;
  const profiles = [...new Set(settings.profiles)];
  if (defaultProfile === undefined || profiles.length === 0) throw new AdminError("a key needs at least one profile");
  if (!profiles.includes(defaultProfile)) {
    throw new AdminError(
      `the default profile ${defaultProfile} is not one of the allowed profiles: ${profiles.join(", ")}`,
    );
  }
  return { requestsPerMinute, concurrency, profiles, defaultProfile };
}

async function findLiveKey(store: Store, which: string): Promise<ApiKey> {
  const matches = await store.keys.match({ id: which, hash: hashKey(which), prefix: which });
  const [key, ...others] = matches.filter(({ isLive }) => isLive);
  if (!key) throw noSuchKey();
  if (others.length > 0) throw ambiguous();
  return key;
}

function ambiguous(): AdminError {
  return new AdminError("several keys have this prefix; use the id");
}

/** The message does not repeat the argument, which may be the text of a key. */
function noSuchKey(): AdminError {
  return new AdminError("there is no such live key");
}

function tooManyKeys(refused: KeysRefused, bounds: KeyBounds | null): AdminError {
  if (refused === "full") {
    return new AdminError(
      `the account has ${bounds?.liveKeys} live keys, the maximum without an administrator; revoke one first`,
    );
  }
  return new AdminError(
    `the account made ${bounds?.aDay} keys in the last 24 hours, the maximum without an administrator`,
  );
}

async function viewOf(store: Store, id: string): Promise<KeyView> {
  const key = await store.keys.get(id);
  if (!key) throw new Error(`the key ${id} no longer exists`);
  return keyView(key);
}
