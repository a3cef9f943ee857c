import { keyView } from "../../admin/key-view.ts";
import { clientError } from "../../domain/error.ts";
import { isPlaygroundKey } from "../../domain/key.ts";
import type { Account, ApiKey, KeyUsage } from "../../store/access/types.ts";
import type { Store } from "../../store/store.ts";
import type { KeyResource } from "./api/keys.ts";
import { ownKey } from "./authorize.ts";
import type { SignedIn } from "./session.ts";

const UNUSED: KeyUsage = { requests: 0, pending: 0, running: 0 };

/** Converts keys for the dashboard, and adds their current usage. Their order stays. */
export async function keyViews(store: Store, keys: readonly ApiKey[]): Promise<KeyResource[]> {
  const [accounts, usage] = await Promise.all([
    store.accounts.list([...new Set(keys.map(({ accountId }) => accountId))]),
    store.keys.usage(keys.map(({ id }) => id)),
  ]);
  const owners = new Map(accounts.map((account) => [account.id, account]));
  return keys.flatMap((key) => {
    const owner = owners.get(key.accountId);
    return owner ? [answer(key, owner, usage.get(key.id) ?? UNUSED)] : [];
  });
}

/** @throws ClientError notFound for an unknown key, and for a key that the person may not see. */
export async function keyOf(store: Store, person: SignedIn, id: string): Promise<KeyResource> {
  const [key] = await keyViews(store, [await ownKey(store, person, id)]);
  if (!key) throw clientError("notFound", []);
  return key;
}

function answer(key: ApiKey, account: Account, usage: KeyUsage): KeyResource {
  const { projectId, projectName } = key;
  const { account: _name, projectId: _id, ...view } = keyView(key);
  return {
    ...view,
    account: { id: account.id, name: account.name },
    project: projectId === null ? null : { id: projectId, name: projectName ?? projectId },
    limits: {
      requestsPerMinute: key.requestsPerMinute ?? account.requestsPerMinute,
      concurrency: key.concurrency ?? account.concurrency,
    },
    usage,
    ofPlayground: isPlaygroundKey(key),
  };
}
