import type { AuditActor } from "../domain/audit.ts";
import type { Account } from "../store/access/types.ts";
import type { Store } from "../store/store.ts";
import type { Whose } from "../store/submissions/types.ts";
import { AdminError } from "./error.ts";
import { checkName } from "./rules.ts";

/** The tier of accounts for which no tier is named. */
const DEFAULT_TIER = "beta";

export interface AccountView {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  /** The limits of each of its keys that has no limits of its own. */
  readonly requestsPerMinute: number;
  readonly concurrency: number;
  readonly createdAt: string;
  /** Null: not suspended. */
  readonly suspendedAt: string | null;
}

/** @throws AdminError if the name is invalid or taken, or the tier unknown. */
export async function createAccount(
  store: Store,
  { name, tier = DEFAULT_TIER }: { readonly name: string; readonly tier?: string | undefined },
  actor: AuditActor,
): Promise<AccountView> {
  checkName(name);
  await checkTier(store, tier);
  const { made } = await store.accounts.ensure(name, tier, actor);
  if (!made) throw new AdminError(`the account ${name} already exists`);
  return view(await findAccount(store, name));
}

export async function listAccounts(store: Store): Promise<AccountView[]> {
  return (await store.accounts.list()).map(view);
}

/**
 * Changes the name, the tier or both; undefined keeps the present value. A new tier applies at once to all keys of the account
 * that have no limits of their own.
 * @param which name or id.
 * @throws AdminError if the account or tier is unknown, the name is invalid, or another account has it.
 */
export async function updateAccount(
  store: Store,
  which: string,
  { name, tier }: { readonly name?: string | undefined; readonly tier?: string | undefined },
  actor: AuditActor,
): Promise<AccountView> {
  const { id } = await findAccount(store, which);
  // The tier is checked before any change, so that the request is applied completely or not at all.
  if (tier !== undefined) await checkTier(store, tier);
  if (name !== undefined) {
    checkName(name);
    if (!(await store.accounts.rename(id, name, actor))) throw new AdminError(`the account ${name} already exists`);
  }
  if (tier !== undefined) await store.accounts.setTier(id, tier, actor);
  return view(await findAccount(store, id));
}

/** Records removed per transaction: few enough not to delay a service on the same database. */
const ERASED_AT_ONCE = 16;

/**
 * Deletes the ended submissions and judgements of an account, with their programs, inputs, outputs and deliveries, and its
 * problems with their tests. The account, its projects and its keys stay.
 * @returns the number of deleted records, and the number of submissions that stay because they have not ended.
 * @throws AdminError if the account is unknown.
 */
export async function eraseRecords(
  store: Store,
  which: string,
  actor: AuditActor,
): Promise<{ readonly account: string; readonly erased: number; readonly notEnded: number }> {
  const { id, name } = await findAccount(store, which);
  const endedBeforeMs = await store.retention.beginErase(id, actor);
  let erased = 0;
  for (let deleted = -1; deleted !== 0; erased += deleted) {
    deleted = await store.retention.erase(id, endedBeforeMs, ERASED_AT_ONCE);
  }
  return { account: name, erased, notEnded: await store.retention.unended(id) };
}

/** Submissions dropped in one transaction. The transaction delays claims, so it must be short. */
const DROPPED_AT_ONCE = 100;

/** An account and its number of dropped submissions. */
export interface Dropped {
  readonly account: string;
  readonly dropped: number;
}

/**
 * Suspends an account: from now on, requests with its keys are rejected, and none of its submissions is claimed. Running
 * submissions finish, pending submissions wait until the account is resumed, and records stay. @throws AdminError if the account
 * is unknown.
 */
export async function suspendAccount(store: Store, which: string, actor: AuditActor): Promise<AccountView> {
  const { id } = await findAccount(store, which);
  await store.accounts.setSuspended(id, true, actor);
  return view(await findAccount(store, id));
}

/** Ends a suspension: the keys work again, and pending submissions can run. @throws AdminError if the account is unknown. */
export async function resumeAccount(store: Store, which: string, actor: AuditActor): Promise<AccountView> {
  const { id } = await findAccount(store, which);
  await store.accounts.setSuspended(id, false, actor);
  return view(await findAccount(store, id));
}

/** Ends the pending submissions of an account. @throws AdminError if the account is unknown. */
export async function dropPendingOf(store: Store, which: string, actor: AuditActor): Promise<Dropped> {
  const { id, name } = await findAccount(store, which);
  return { account: name, dropped: await dropPending(store, { accountId: id }, actor) };
}

/**
 * Ends the pending submissions of an account or of a key, except for those that are accepted during the call.
 * @returns the number of submissions that now have the status `error` and the verdict IE.
 */
export async function dropPending(store: Store, whose: Whose, actor: AuditActor): Promise<number> {
  const last = await store.queue.beginDrop(whose, actor);
  let dropped = 0;
  for (let ended = -1; ended !== 0; ) {
    ended = await store.queue.drop(whose, last, DROPPED_AT_ONCE);
    dropped += ended;
  }
  return dropped;
}

export type Unnamed = (account: string, made: boolean) => void;

/**
 * The named account, or else the account with the name of the key or project, which is created if needed.
 * @param unnamed called if no account was named, with the name of the account and whether it was created. Callers report both,
 * because the keys of one account share records, and keys of different accounts do not.
 * @returns its id. @throws AdminError for an invalid name.
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

/** @throws AdminError if no account has that name or id. */
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
