import { keyView } from "../../admin/key-view.ts";
import { clientError } from "../../domain/error.ts";
import { playgroundHash } from "../../domain/key.ts";
import type { Account, ApiKey, KeyUsage } from "../../store/admin-port.ts";
import type { Store } from "../../store/port.ts";
import type { Key } from "./answers.ts";
import { maySee, type SignedIn } from "./session.ts";

const UNUSED: KeyUsage = { requests: 0, pending: 0, running: 0 };

/** The keys that a person may see, newest first. */
export async function keysOf(store: Store, person: SignedIn): Promise<Key[]> {
  const [keys, accounts, usage] = await Promise.all([
    store.keys.list(),
    store.accounts.list(),
    store.keys.usage(person.accountIds),
  ]);
  const owners = new Map(accounts.map((account) => [account.id, account]));
  return keys
    .filter(({ accountId }) => maySee(person, accountId))
    .toReversed()
    .flatMap((key) => {
      const owner = owners.get(key.accountId);
      // An account that was made since the keys were read has none of them.
      return owner ? [answer(key, owner, usage.get(key.id) ?? UNUSED)] : [];
    });
}

/** @throws ClientError notThere. */
export async function keyOf(store: Store, person: SignedIn, id: string): Promise<Key> {
  const key = (await keysOf(store, person)).find((one) => one.id === id);
  if (!key) throw clientError("notThere", []);
  return key;
}

function answer(key: ApiKey, account: Account, usage: KeyUsage): Key {
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
    ofPlayground: key.hash === playgroundHash(key.accountId),
  };
}
