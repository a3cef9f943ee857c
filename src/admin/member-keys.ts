import { isPlaygroundKey, playgroundKeyId } from "../domain/key.ts";
import type { ProfileName } from "../domain/limits.ts";
import type { ApiKey, KeyBounds, KeyChanges } from "../store/access/types.ts";
import type { Store } from "../store/store.ts";
import { findAccount } from "./accounts.ts";
import { AdminError } from "./error.ts";

/**
 * The most live keys of an account, and the most keys that it may get in a day, if a member creates them; administrators may
 * create more. Each key has its own rate limit and concurrency, so an account with any number of keys, or with a new key for
 * each rate limit that is used up, would have no limit. With 20 live keys, each part of a large client can have its own; with
 * 100 new keys a day, all of them can be rotated five times.
 */
export const MEMBERS_KEYS: KeyBounds = { liveKeys: 20, aDay: 100 };

/** The profile that members may give every key. An administrator grants the other profiles, which have larger limits. */
const PROFILE_OF_ALL_KEYS: ProfileName = "judge";

/**
 * Checks the limits and profiles that a member wants for a key. Limits may be up to those of the tier, because a new key would
 * have these anyway. Profiles may be those of another live key of the account, except for the playground's: an administrator
 * granted them once. What the key already has may stay, so that a change of its name does not remove it.
 * @param has the key before the change; null for a new key.
 * @throws AdminError for settings that only an administrator may make.
 */
export async function checkMembersKey(
  store: Store,
  accountId: string,
  wanted: { readonly [Name in keyof KeyChanges]?: KeyChanges[Name] | undefined },
  has: ApiKey | null,
): Promise<void> {
  const account = await findAccount(store, accountId);
  for (const [name, words] of [
    ["requestsPerMinute", "requests per minute"],
    ["concurrency", "concurrency"],
  ] as const) {
    const value = wanted[name] ?? null;
    if (value === null || value === has?.[name] || value <= account[name]) continue;
    throw new AdminError(
      `${words} may be ${account[name]} at most with the tier ${account.tier}; only an administrator may set more`,
    );
  }
  const others = await store.keys.profilesOf(accountId, playgroundKeyId(accountId));
  const given = new Set([PROFILE_OF_ALL_KEYS, ...(has?.profiles ?? []), ...others]);
  const more = (wanted.profiles ?? []).find((profile) => !given.has(profile));
  if (more !== undefined) {
    throw new AdminError(
      `no key of the account ${account.name} may use the profile ${more}; only an administrator may allow it`,
    );
  }
}

/** @throws AdminError for the playground key: an account has only one, so revoking it is final. */
export function checkMembersRevoke(key: ApiKey): void {
  if (isPlaygroundKey(key))
    throw new AdminError("only an administrator may close the playground: it cannot be opened again");
}
