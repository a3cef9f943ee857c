import type { ListPage } from "../store/access/types.ts";
import type { Store } from "../store/store.ts";
import { findAccount } from "./accounts.ts";
import { AdminError } from "./error.ts";

const MOST_ROWS = 1_000;

/** The requested page of a list. */
export interface ListedPart {
  /** Name or id of the account whose rows are listed; undefined for all accounts. */
  readonly account?: string | undefined;
  /** Id of the last row of the previous page; undefined for the first page. */
  readonly after?: string | undefined;
  /** The most rows of the page; 1,000 if undefined. */
  readonly limit?: number | undefined;
}

/**
 * Converts a requested page into the form that the store takes.
 * @param accountsOf returns the accounts of the row with that id, after which the page starts.
 * @throws AdminError if the account or row is unknown, or `limit` is not from 1 to 1,000.
 */
export async function partFor(
  store: Store,
  { account, after, limit = MOST_ROWS }: ListedPart,
  accountsOf: (id: string) => Promise<readonly string[] | undefined>,
): Promise<ListPage> {
  if (limit < 1 || limit > MOST_ROWS) throw new AdminError(`from 1 to ${MOST_ROWS} rows can be listed at once`);
  const accountIds = account === undefined ? null : [(await findAccount(store, account)).id];
  const owners = after === undefined ? null : await accountsOf(after);
  const isListed = owners && (accountIds === null || owners.some((owner) => accountIds.includes(owner)));
  if (owners !== null && !isListed) throw new AdminError(`unknown id ${after}`);
  return { accountIds, after, max: limit };
}
