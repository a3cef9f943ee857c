import { isPlaygroundKey, playgroundKeyId } from "../domain/key.ts";
import type { ProfileName } from "../domain/limits.ts";
import type { ApiKey, KeyBounds, KeyChanges } from "../store/access/port.ts";
import type { Store } from "../store/port.ts";
import { findAccount } from "./accounts.ts";
import { AdminError } from "./error.ts";

/**
 * How many keys members may have and make by themselves. Each key has a quota and a concurrency of its own, so an account
 * with any number of keys, or with a new key whenever a quota is used up, would have no limit. 20 live keys serve each part
 * of a large client with one key; 100 a day let all of them be rotated five times. Administrators are not bound.
 */
export const MEMBERS_KEYS: KeyBounds = { live: 20, aDay: 100 };

/** What every key may use unless somebody says otherwise. Others, of which more can be had, an administrator gives. */
const ANYBODYS: ProfileName = "judge";

/**
 * Limits up to the tier's, and profiles that a live key of the account has: the first of them was given by an administrator.
 * What the key has already stays, whatever it is: changing its name must not take away what it was given. A limit that an
 * administrator has set below the tier's may be raised to it, because another key would have that anyway.
 * @param has the key that is changed; null: a new one.
 * @throws AdminError for what only an administrator may set.
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
  const given = new Set([ANYBODYS, ...(has?.profiles ?? []), ...others]);
  const more = (wanted.profiles ?? []).find((profile) => !given.has(profile));
  if (more !== undefined) {
    throw new AdminError(
      `no key of the account ${account.name} may use the profile ${more}; only an administrator may allow it`,
    );
  }
}

/** @throws AdminError for the playground's key: an account has one for ever, so there is no way back. */
export function checkMembersRevoke(key: ApiKey): void {
  if (isPlaygroundKey(key))
    throw new AdminError("only an administrator may close the playground: it cannot be opened again");
}
