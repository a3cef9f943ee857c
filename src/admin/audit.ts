import type { AuditEntry } from "../store/access/types.ts";
import type { Store } from "../store/store.ts";
import { findAccount } from "./accounts.ts";
import { AdminError } from "./error.ts";

const MAX_ENTRIES = 10_000;

export interface AuditView {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  /** Id of the changed object, or name of a tier. */
  readonly subject: string;
  /** Name of the account of the subject; null for a subject without an account, such as a tier. */
  readonly account: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  /**
   * Network address of the client. Null for commands, for entries from before addresses were recorded, and for the entry that
   * counts refused sign-ins from many networks.
   */
  readonly address: string | null;
}

/**
 * Lists the newest entries, newest first.
 * @param account name or id of the account whose entries are listed; undefined for all entries.
 * @throws AdminError if the account is unknown, or `max` is not from 1 to 10,000.
 */
export async function listAudit(
  store: Store,
  { max, account }: { readonly max: number; readonly account?: string | undefined },
): Promise<AuditView[]> {
  if (max < 1 || max > MAX_ENTRIES) throw new AdminError(`from 1 to ${MAX_ENTRIES} entries can be listed`);
  const accountIds = account === undefined ? null : [(await findAccount(store, account)).id];
  const entries = await store.audit.list({ max, accountIds });
  return entries.map(auditView);
}

export function auditView({ atMs, actor, action, subject, accountName, detail, address }: AuditEntry): AuditView {
  return { at: new Date(atMs).toISOString(), actor, action, subject, account: accountName, detail, address };
}
