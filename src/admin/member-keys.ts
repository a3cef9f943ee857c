import { isPlaygroundKey, playgroundKeyId } from "../domain/key.ts";
import type { ProfileName } from "../domain/limits.ts";
import type { ApiKey, KeyBounds, KeyChanges } from "../store/access/types.ts";
import type { Store } from "../store/store.ts";
import { findAccount } from "./accounts.ts";
import { AdminError } from "./error.ts";

/**
 * Number of keys that members may have and create. Each key has its own quota and concurrency, so an account with any number
 * of keys, or with a new key for each used-up quota, would have no limit. 20 live keys serve each part of a large client;
 * with 100 a day all can be rotated five times. Does not apply to administrators.
 */
export const MEMBERS_KEYS: KeyBounds = { liveKeys: 20, aDay: 100 };

/** The profile of every key. An administrator grants others, which have larger limits. */
const PROFILE_OF_ALL_KEYS: ProfileName = "judge";

/**
 * Members may set limits up to the tier's, and profiles of any live key of the account, the first of which an administrator
 * granted. Existing settings stay, so that a change of the name does not lose them. A limit below the tier's may be raised to
 * it, because a new key would have it anyway.
 * @param has the changed key; null for a new one.
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
