import { randomUUID } from "node:crypto";
import type { AuditActor } from "../domain/audit.ts";
import { hashKey, isPlaygroundKey, newKey } from "../domain/key.ts";
import type { ProfileName } from "../domain/limits.ts";
import type { ApiKey, KeyBounds, KeyChanges, KeysRefused } from "../store/access/port.ts";
import type { Store } from "../store/port.ts";
import { dropPending, ensureAccount, findAccount, type Unnamed } from "./accounts.ts";
import { AdminError } from "./error.ts";
import { type KeyView, keyView } from "./key-view.ts";
import { type ListedPart, partFor } from "./parts.ts";
import { archived, findOpenProject, findProject } from "./projects.ts";
import { checkLimits, checkName, checkOverlap } from "./rules.ts";

export interface NewKey {
  readonly name: string;
  /**
   * Whose the records are. Without it, and without a project, the key has an account of its
   * own name: keys of different names do not see each other's records, and a second key of
   * the same name replaces the first without losing them.
   */
  readonly account?: string | undefined;
  /** Whose webhooks the results go to; the key then belongs to the project's account. */
  readonly project?: string | undefined;
  /** Overrides of the tier; undefined keeps its value. */
  readonly requestsPerMinute?: number | undefined;
  readonly concurrency?: number | undefined;
  /** Profiles that the key may use. */
  readonly profiles: readonly ProfileName[];
  /** What a submission that names no profile gets: one of them, or else the first. */
  readonly defaultProfile?: ProfileName | undefined;
}

interface Bounded {
  /** Null: any number of keys. */
  readonly bounds?: KeyBounds | null;
}

/** What is undefined stays; a limit that is null is the tier's again. */
export type KeyUpdate = { readonly [Name in keyof KeyChanges]?: KeyChanges[Name] | undefined };

/** `key` is the key itself, there this once. */
export interface MadeKey extends KeyView {
  readonly key: string;
}

/**
 * @param unnamed is told of an account that nobody named; see ensureAccount.
 * @throws AdminError when a value is out of its range, or there is no such project.
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
 * A part of the keys, newest first; of one project, if that is named.
 * @throws AdminError when there is no such project, account or key.
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
 * Changes what a live key may do, from its next request on.
 * @param which the key itself, its id, or its visible first characters; as in what follows.
 * @throws AdminError when that is no live key or more than one, or a value is out of its range.
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
 * Makes a new key with the settings of a live one, which stops after the overlap: 0 is at once.
 * Records and idempotency keys are the account's, so the new key goes on with them.
 * @returns the new key, and the old one.
 * @throws AdminError when that is no live key, more than one, or one that was rotated before.
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
  if (old.expiresAtMs !== null) throw new AdminError("the key was rotated before; rotate the one that replaced it");
  // Its successor would be a key that somebody has, with what an account's playground may do.
  if (isPlaygroundKey(old)) throw new AdminError("nobody has the playground's key: it cannot be rotated");
  const { key, hash, prefix } = newKey();
  const id = randomUUID();
  const rotated = await store.keys.rotate(old.id, { id, hash, prefix }, overlapMs, actor, bounds);
  if (rotated === "full" || rotated === "spent") throw tooManyKeys(rotated, bounds);
  if (rotated === undefined) throw noSuchKey();
  return { made: { key, ...(await viewOf(store, id)) }, old: await viewOf(store, old.id) };
}

/**
 * Ends a key at once. What it submitted goes on, unless what waits is dropped.
 * @returns the key, how many of its submissions were dropped, and how many are still pending.
 * @throws AdminError when that is no live key, or more than one.
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

/** Ends what waits of a key, revoked or not. @throws AdminError when that is no key, or more than one. */
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
  const { account, project } = request;
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
      `the default profile ${defaultProfile} is not one that the key may use: ${profiles.join(", ")}`,
    );
  }
  return { requestsPerMinute, concurrency, profiles, defaultProfile };
}

async function findLiveKey(store: Store, which: string): Promise<ApiKey> {
  const matches = await store.keys.match({ id: which, hash: hashKey(which), prefix: which });
  const [key, ...others] = matches.filter(({ live }) => live);
  if (!key) throw noSuchKey();
  if (others.length > 0) throw ambiguous();
  return key;
}

function ambiguous(): AdminError {
  return new AdminError("more than one key begins like this; use the id");
}

/** The text never has what was asked for: that may be a key. */
function noSuchKey(): AdminError {
  return new AdminError("there is no such live key");
}

function tooManyKeys(refused: KeysRefused, bounds: KeyBounds | null): AdminError {
  if (refused === "full") {
    return new AdminError(
      `the account has ${bounds?.live} live keys, which is the most without an administrator; revoke one first`,
    );
  }
  return new AdminError(
    `the account made ${bounds?.aDay} keys in the last 24 hours, which is the most without an administrator`,
  );
}

async function viewOf(store: Store, id: string): Promise<KeyView> {
  const key = await store.keys.get(id);
  if (!key) throw new Error(`the key ${id} is gone`);
  return keyView(key);
}
