import { playgroundHash } from "../domain/key.ts";
import type { ProfileName } from "../domain/limits.ts";
import type { ApiKey, KeyChanges } from "../store/admin-port.ts";
import type { Store } from "../store/port.ts";
import { findAccount } from "./accounts.ts";
import { AdminError } from "./error.ts";

/**
 * What members may do with the keys of their accounts by themselves. Limits hold for each key, so an account with any number
 * of keys would have no limit at all: that number is bounded, too. Administrators are bound by none of this.
 */
export const MEMBERS_LIVE_KEYS = 20;

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
  const others = (await store.keys.list()).filter(
    (key) => key.live && key.accountId === accountId && key.hash !== playgroundHash(accountId),
  );
  const given = new Set([ANYBODYS, ...(has?.profiles ?? []), ...others.flatMap(({ profiles }) => profiles)]);
  const more = (wanted.profiles ?? []).find((profile) => !given.has(profile));
  if (more !== undefined) {
    throw new AdminError(
      `no key of the account ${account.name} may use the profile ${more}; only an administrator may allow it`,
    );
  }
}
