import type { AuditActor } from "../domain/audit.ts";
import { newKey, playgroundKeyId } from "../domain/key.ts";
import type { Caller } from "../domain/submission.ts";
import type { Store } from "../store/store.ts";

const NAME = "playground";

/**
 * Finds the key against whose limits the runs of an account's playground count. The first run creates the key, with the limits
 * of the tier. Its text is discarded, so no client can use it. Its rate limit, its concurrency and its audit entries are those
 * of any key.
 * @param accountId an existing account.
 * @returns `closed` if the key was revoked, `suspended` if the account is suspended.
 */
export async function playgroundCaller(
  store: Store,
  accountId: string,
  actor: AuditActor,
): Promise<Caller | "closed" | "suspended"> {
  const known = await hashOf(store, accountId);
  const hash = known ?? (await make(store, accountId, actor));
  const found = await store.keys.findCaller(hash);
  if (!found) return "closed";
  return found.suspended ? "suspended" : found.caller;
}

async function hashOf(store: Store, accountId: string): Promise<string | undefined> {
  const id = playgroundKeyId(accountId);
  return (await store.keys.get(id))?.hash;
}

async function make(store: Store, accountId: string, actor: AuditActor): Promise<string> {
  const { hash, prefix } = newKey();
  const limits = { requestsPerMinute: null, concurrency: null };
  // Only an administrator can allow the profile `agent`, as for any other key.
  const profiles = { profiles: ["judge"], defaultProfile: "judge" } as const;
  const key = { id: playgroundKeyId(accountId), accountId, projectId: null, name: NAME, prefix, hash };
  try {
    await store.keys.add({ ...key, ...limits, ...profiles }, actor);
    return hash;
  } catch (error) {
    // Created concurrently: the id is unique.
    const other = await hashOf(store, accountId);
    if (other === undefined) throw error;
    return other;
  }
}
