import { type Kysely, sql } from "kysely";
import type { AccountShare, Shares } from "../../domain/status.ts";
import type { Schema } from "../database/schema.ts";
import { WINDOW_MS } from "../quota/recent-requests.ts";

interface Counted {
  readonly account_id: string;
  readonly name: string;
  readonly amount: number | string;
}

/**
 * Statements that count, by account, pending submissions, running submissions, and requests of the last minute. Statuses are literals,
 * for the reason in backlog.ts.
 */
export const SHARES = {
  pending: () =>
    byAccount(sql`select key_id, count(*) as amount from submissions where status = 'pending' group by key_id`),
  running: () =>
    byAccount(sql`select key_id, count(*) as amount from submissions where status = 'running' group by key_id`),
  requests: (nowMs: number) =>
    byAccount(sql`select key_id, count(*) as amount from quota where at > ${nowMs - WINDOW_MS} group by key_id`),
};

/** @returns the `max` accounts that use most of the shared resources, and the number of all accounts that use any. */
export async function readShares(db: Kysely<Schema>, max: number, nowMs: number): Promise<Shares> {
  const accounts = new Map<string, AccountShare>();
  for (const what of ["pending", "running", "requests"] as const) {
    for (const { account_id: id, name, amount } of (await SHARES[what](nowMs).execute(db)).rows) {
      const before = accounts.get(id) ?? { id, name, pending: 0, running: 0, requests: 0 };
      accounts.set(id, { ...before, [what]: Number(amount) });
    }
  }
  const sorted = [...accounts.values()].sort(
    (a, b) => b.pending - a.pending || b.running - a.running || b.requests - a.requests || a.name.localeCompare(b.name),
  );
  return { accounts: sorted.slice(0, max), amount: sorted.length };
}

function byAccount(counted: ReturnType<typeof sql>) {
  return sql<Counted>`
    select accounts.id as account_id, accounts.name, sum(counted.amount) as amount
    from (${counted}) as counted
    join api_keys on api_keys.id = counted.key_id
    join accounts on accounts.id = api_keys.account_id
    group by accounts.id, accounts.name`;
}
