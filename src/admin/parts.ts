import type { Part } from "../store/access/port.ts";
import type { Store } from "../store/port.ts";
import { findAccount } from "./accounts.ts";
import { AdminError } from "./error.ts";

const MOST_ROWS = 1_000;

/** Which part of a list an operator asks for. */
export interface ListedPart {
  /** Name or id: only what belongs to it. */
  readonly account?: string | undefined;
  /** Id of the last row of the part before. */
  readonly after?: string | undefined;
  /** Rows at most. */
  readonly limit?: number | undefined;
}

/**
 * The part as the store reads it.
 * @param accountsOf the accounts to which the row of that id belongs, behind which the part begins.
 * @throws AdminError when there is no such account or row, or `limit` is not from 1 to 1,000.
 */
export async function partFor(
  store: Store,
  { account, after, limit = MOST_ROWS }: ListedPart,
  accountsOf: (id: string) => Promise<readonly string[] | undefined>,
): Promise<Part> {
  if (limit < 1 || limit > MOST_ROWS) throw new AdminError(`from 1 to ${MOST_ROWS} rows can be listed at once`);
  const accountIds = account === undefined ? null : [(await findAccount(store, account)).id];
  const owners = after === undefined ? null : await accountsOf(after);
  const isListed = owners && (accountIds === null || owners.some((owner) => accountIds.includes(owner)));
  if (owners !== null && !isListed) throw new AdminError(`there is nothing of the id ${after}`);
  return { accountIds, after, max: limit };
}
