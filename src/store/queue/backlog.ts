import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Backlog } from "../../domain/status.ts";
import type { Schema } from "../database/schema.ts";

/**
 * Counts waiting and running work, at every scrape. Each statement uses an index that has only the queue, so the number of records does not
 * matter. Statuses are literals, because the planner cannot use a partial index with a parameter.
 * @param accountIds only work of these accounts; undefined for all accounts.
 */
export async function backlog(db: Kysely<Schema>, nowMs: number, accountIds?: readonly string[]): Promise<Backlog> {
  const { rows: keys } = await waiting(accountIds).execute(db);
  const { rows: running } = await runningNow(accountIds).execute(db);
  const { rows: due } = await dueNow(accountIds).execute(db);
  const pending = sum(keys.map((key) => Number(key.pending)));
  const oldest = keys.reduce(
    (least, { suspended_at, oldest_at }) => (suspended_at === null ? Math.min(least, oldest_at ?? nowMs) : least),
    nowMs,
  );
  return {
    pending,
    largestShare: pending === 0 ? 0 : Math.max(...byAccount(keys)) / pending,
    oldestPendingMs: Math.max(nowMs - oldest, 0),
    held: sum(keys.map(heldOf)),
    running: Object.fromEntries(running.map(({ language, amount }) => [language, Number(amount)])),
    deliveries: Number(due[0]?.amount ?? 0),
    oldestDueMs: Math.max(nowMs - (due[0]?.next_at ?? nowMs), 0),
  };
}

/** @returns for each verdict, the number of submissions that ended after `sinceMs`. */
export async function endedSince(db: Kysely<Schema>, sinceMs: number): Promise<Record<string, number>> {
  const { rows } = await ended(sinceMs).execute(db);
  return Object.fromEntries(rows.map(({ verdict, amount }) => [verdict, Number(amount)]));
}

/** The numbers of pending submissions of the accounts, without the ids of the accounts. */
function byAccount(keys: readonly WaitingKey[]): number[] {
  const accounts = Map.groupBy(keys, ({ account_id }) => account_id);
  return [...accounts.values()].map((ofOne) => sum(ofOne.map((key) => Number(key.pending))));
}

/** A key with pending submissions. */
interface WaitingKey {
  readonly account_id: string;
  readonly suspended_at: number | null;
  readonly pending: number | string;
  /** When the oldest pending submission that has never started was created; null if all of them have started. */
  readonly oldest_at: number | null;
  readonly running: number | string;
  readonly concurrency: number;
}

/** How many submissions of a key would wait even with more workers: all of a suspended account, and those above the key's concurrency. */
function heldOf({ pending, running, concurrency, suspended_at }: WaitingKey): number {
  if (suspended_at !== null) return Number(pending);
  return Math.min(Number(pending), Math.max(Number(running) + Number(pending) - concurrency, 0));
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

function among(column: RawBuilder<unknown>, accountIds: readonly string[] | undefined): RawBuilder<unknown> {
  if (!accountIds) return sql``;
  return accountIds.length === 0 ? sql`and false` : sql`and ${column} in (${sql.join(accountIds)})`;
}

/**
 * Selects the keys with pending submissions. A submission that has given up its slot between two runs is pending as well, but does not count
 * for `oldest_at`, because its age is mostly the time of its runs.
 */
export const waiting = (accountIds?: readonly string[]) => sql<WaitingKey>`
  select waiting.pending, oldest.created_at as oldest_at, coalesce(running.amount, 0) as running,
    coalesce(api_keys.concurrency, tiers.concurrency) as concurrency, accounts.id as account_id, accounts.suspended_at
  from (
    select key_id, count(*) as pending, min(case when started_at is null then seq end) as first
    from submissions where status = 'pending' group by key_id
  ) as waiting
  left join submissions as oldest on oldest.seq = waiting.first
  join api_keys on api_keys.id = waiting.key_id
  join accounts on accounts.id = api_keys.account_id
  join tiers on tiers.name = accounts.tier
  left join (
    select key_id, count(*) as amount from submissions where status = 'running' group by key_id
  ) as running on running.key_id = waiting.key_id
  where true ${among(sql`accounts.id`, accountIds)}`;

/** An expression instead of the column: with the column, SQLite would read all records of the account by the index of accounts. */
const RUNNING_ACCOUNT = sql`account_id || ''`;

export const runningNow = (accountIds?: readonly string[]) => sql<{ language: string; amount: number | string }>`
  select language, count(*) as amount from submissions
  where status = 'running' ${among(RUNNING_ACCOUNT, accountIds)} group by language`;

export const dueNow = (accountIds?: readonly string[]) => sql<{ amount: number | string; next_at: number | null }>`
  select count(*) as amount, min(next_at) as next_at from deliveries where state = 'pending' ${
    accountIds
      ? sql`and endpoint_id in (select endpoints.id from endpoints
    join projects on projects.id = endpoints.project_id where true ${among(sql`projects.account_id`, accountIds)})`
      : sql``
  }`;

export const ended = (sinceMs: number) => sql<{ verdict: string; amount: number | string }>`
  select verdict, count(*) as amount from submissions where completed_at > ${sinceMs} group by verdict`;
