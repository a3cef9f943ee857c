import type { Account } from "../store/admin-port.ts";
import type { Store } from "../store/port.ts";
import { AdminError } from "./error.ts";
import { checkName } from "./rules.ts";

/** What an account has unless somebody chooses another. */
const DEFAULT_TIER = "beta";

export interface AccountView {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  /** Limits of its keys that do not override them. */
  readonly requestsPerMinute: number;
  readonly concurrency: number;
  readonly createdAt: string;
}

/** @throws AdminError when the name is taken, or there is no such tier. */
export async function createAccount(
  store: Store,
  { name, tier = DEFAULT_TIER }: { readonly name: string; readonly tier?: string | undefined },
  actor: string,
): Promise<AccountView> {
  checkName(name);
  await checkTier(store, tier);
  const { made } = await store.accounts.ensure(name, tier, actor);
  if (!made) throw new AdminError(`there is an account ${name} already`);
  return view(await findAccount(store, name));
}

export async function listAccounts(store: Store): Promise<AccountView[]> {
  return (await store.accounts.list()).map(view);
}

/**
 * Changes the name, or the tier, or both; what is undefined stays. A tier changes the limits of all keys of the account
 * that have no limits of their own, at once.
 * @param which its name or id.
 * @throws AdminError when there is no such account or tier, or another account has that name.
 */
export async function updateAccount(
  store: Store,
  which: string,
  { name, tier }: { readonly name?: string | undefined; readonly tier?: string | undefined },
  actor: string,
): Promise<AccountView> {
  const { id } = await findAccount(store, which);
  // Before anything is changed: half of what was asked is nothing that anybody asked for.
  if (tier !== undefined) await checkTier(store, tier);
  if (name !== undefined) {
    checkName(name);
    if (!(await store.accounts.rename(id, name, actor))) throw new AdminError(`there is an account ${name} already`);
  }
  if (tier !== undefined) await store.accounts.setTier(id, tier, actor);
  return view(await findAccount(store, id));
}

/** Records that are removed in one transaction: few enough that a service on the same database does not notice. */
const ERASED_AT_ONCE = 16;

/**
 * Removes everything that an account's submissions left: programs, input, output, records, deliveries. The account,
 * its projects and its keys stay.
 * @returns how many records went, and how many submissions stay because they have not ended.
 * @throws AdminError when there is no such account.
 */
export async function eraseRecords(
  store: Store,
  which: string,
  actor: string,
): Promise<{ readonly account: string; readonly erased: number; readonly notEnded: number }> {
  const { id, name } = await findAccount(store, which);
  const endedBeforeMs = await store.retention.beginErase(id, actor);
  let erased = 0;
  for (let gone = -1; gone !== 0; erased += gone) {
    gone = await store.retention.erase(id, endedBeforeMs, ERASED_AT_ONCE);
  }
  return { account: name, erased, notEnded: await store.retention.unended(id) };
}

/**
 * The account that is named, or else the one of the thing's own name, made if there is none.
 * @param joined is told the account's name when nobody named it and it was there already: two customers
 * who call a thing the same would see each other's records.
 * @returns its id. @throws AdminError for what is no name.
 */
export async function ensureAccount(
  store: Store,
  { name, account }: { readonly name: string; readonly account?: string | undefined },
  actor: string,
  joined: (account: string) => void,
): Promise<string> {
  checkName(account ?? name);
  const { id, made } = await store.accounts.ensure(account ?? name, DEFAULT_TIER, actor);
  if (!made && account === undefined) joined(name);
  return id;
}

/** @throws AdminError when no account has that name or id. */
export async function findAccount(store: Store, which: string): Promise<Account> {
  const all = await store.accounts.list();
  const account = all.find(({ id }) => id === which) ?? all.find(({ name }) => name === which);
  if (!account) throw new AdminError(`there is no account ${which}`);
  return account;
}

async function checkTier(store: Store, tier: string): Promise<void> {
  const names = (await store.tiers.list()).map(({ name }) => name);
  if (!names.includes(tier)) throw new AdminError(`there is no tier ${tier}; there are ${names.join(", ")}`);
}

function view({ id, name, tier, requestsPerMinute, concurrency, createdAtMs }: Account): AccountView {
  return { id, name, tier, requestsPerMinute, concurrency, createdAt: new Date(createdAtMs).toISOString() };
}
