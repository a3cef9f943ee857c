import type { AuditActor } from "../domain/audit.ts";
import type { Account } from "../store/access/port.ts";
import type { Store } from "../store/port.ts";
import type { Whose } from "../store/submissions/queue-port.ts";
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
  /** Null: not suspended. */
  readonly suspendedAt: string | null;
}

/** @throws AdminError when the name is taken, or there is no such tier. */
export async function createAccount(
  store: Store,
  { name, tier = DEFAULT_TIER }: { readonly name: string; readonly tier?: string | undefined },
  actor: AuditActor,
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
  actor: AuditActor,
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
  actor: AuditActor,
): Promise<{ readonly account: string; readonly erased: number; readonly notEnded: number }> {
  const { id, name } = await findAccount(store, which);
  const endedBeforeMs = await store.retention.beginErase(id, actor);
  let erased = 0;
  for (let gone = -1; gone !== 0; erased += gone) {
    gone = await store.retention.erase(id, endedBeforeMs, ERASED_AT_ONCE);
  }
  return { account: name, erased, notEnded: await store.retention.unended(id) };
}

/** Submissions that are dropped in one transaction: meanwhile nothing is claimed. */
const DROPPED_AT_ONCE = 100;

/** An account, and how many of its pending submissions were dropped. */
export interface Dropped {
  readonly account: string;
  readonly dropped: number;
}

/**
 * Refuses the requests of an account's keys, and claims nothing of it. What runs ends by itself, what waits waits until the
 * account is resumed, and its records stay. @throws AdminError when there is no such account.
 */
export async function suspendAccount(store: Store, which: string, actor: AuditActor): Promise<AccountView> {
  const { id } = await findAccount(store, which);
  await store.accounts.setSuspended(id, true, actor);
  return view(await findAccount(store, id));
}

/** Ends a suspension: what waits is claimed again. @throws AdminError when there is no such account. */
export async function resumeAccount(store: Store, which: string, actor: AuditActor): Promise<AccountView> {
  const { id } = await findAccount(store, which);
  await store.accounts.setSuspended(id, false, actor);
  return view(await findAccount(store, id));
}

/** Ends what waits of an account. @throws AdminError when there is no such account. */
export async function dropPendingOf(store: Store, which: string, actor: AuditActor): Promise<Dropped> {
  const { id, name } = await findAccount(store, which);
  return { account: name, dropped: await dropPending(store, { accountId: id }, actor) };
}

/** What is accepted meanwhile stays. @returns how many pending submissions are now `error`, IE. */
export async function dropPending(store: Store, whose: Whose, actor: AuditActor): Promise<number> {
  const last = await store.queue.beginDrop(whose, actor);
  let dropped = 0;
  for (let gone = -1; gone !== 0; ) {
    gone = await store.queue.drop(whose, last, DROPPED_AT_ONCE);
    dropped += gone;
  }
  return dropped;
}

export type Unnamed = (account: string, made: boolean) => void;

/**
 * The account that is named, or else the one of the thing's own name, made if there is none.
 * @param unnamed is told the account's name when nobody named it, and whether it was made. When it was there already, two
 * customers who call a thing the same see each other's records; when it was made, a second key of the same person does not
 * see the records of the first.
 * @returns its id. @throws AdminError for what is no name.
 */
export async function ensureAccount(
  store: Store,
  { name, account }: { readonly name: string; readonly account?: string | undefined },
  actor: AuditActor,
  unnamed: Unnamed,
): Promise<string> {
  checkName(account ?? name);
  const { id, made } = await store.accounts.ensure(account ?? name, DEFAULT_TIER, actor);
  if (account === undefined) unnamed(name, made);
  return id;
}

/** @throws AdminError when no account has that name or id. */
export async function findAccount(store: Store, which: string): Promise<Account> {
  const account = await store.accounts.find(which);
  if (!account) throw new AdminError(`there is no account ${which}`);
  return account;
}

async function checkTier(store: Store, tier: string): Promise<void> {
  const names = (await store.tiers.list()).map(({ name }) => name);
  if (!names.includes(tier)) throw new AdminError(`there is no tier ${tier}; there are ${names.join(", ")}`);
}

function view({ createdAtMs, suspendedAtMs, ...account }: Account): AccountView {
  const suspendedAt = suspendedAtMs === null ? null : new Date(suspendedAtMs).toISOString();
  return { ...account, createdAt: new Date(createdAtMs).toISOString(), suspendedAt };
}
