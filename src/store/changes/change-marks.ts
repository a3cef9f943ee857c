import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Schema } from "../database/schema.ts";
import { dueNow, runningNow, waiting } from "../queue/backlog.ts";

/** Texts whose changes show that something of the accounts has changed. */
export interface Marks {
  /** Changes when a submission is accepted, starts or ends. */
  readonly runs: string;
  /** Changes when a delivery is added or attempted, or ends. */
  readonly deliveries: string;
  /** Changes with each audit entry, such as a change of a project, key, endpoint or problem. */
  readonly settings: string;
  /** Changes when a sandbox is created, is paused or resumed, or ends. */
  readonly sandboxes: string;
}

const HOUR_MS = 3_600_000;

/**
 * Reads the marks of accounts. Each statement reads the end of an index, or an index that has only the queue, so the number of records does
 * not matter. @param accountIds null for all accounts.
 */
export async function readMarks(db: Kysely<Schema>, accountIds: readonly string[] | null): Promise<Marks> {
  if (accountIds?.length === 0) return { runs: "", deliveries: "", settings: "", sandboxes: "" };
  const among = accountIds ?? undefined;
  const pending = (await waiting(among).execute(db)).rows.map((row) => Number(row.pending));
  const running = (await runningNow(among).execute(db)).rows.map((row) => Number(row.amount));
  const due = (await dueNow(among).execute(db)).rows[0];
  const ends = (await lastOf(accountIds).execute(db)).rows[0];
  return {
    runs: [ends?.submission, sum(pending), sum(running)].join(),
    deliveries: [ends?.delivery, due?.amount, due?.next_at].join(),
    settings: String(ends?.entry),
    sandboxes: [ends?.sandbox, ...Object.values((await livingNow(accountIds).execute(db)).rows[0] ?? {})].join(),
  };
}

/** A text that changes when ends are counted or the load is recorded. Only rows of the newest minutes change, so one hour is read. */
export async function readTotalsMark(
  db: Kysely<Schema>,
  accountIds: readonly string[] | null,
  nowMs: number,
): Promise<string> {
  if (accountIds?.length === 0) return "";
  const since = sql`at >= ${nowMs - HOUR_MS} ${accountIds ? sql`and account_id in (${sql.join(accountIds)})` : sql``}`;
  const { rows } = await sql<Record<string, unknown>>`select
    (select sum(amount) from history where ${since}) as ends,
    (select sum(amount) from history_deliveries where ${since}) as deliveries,
    (select sum(pending + running + slots) from history_load where ${since}) as load`.execute(db);
  return Object.values(rows[0] ?? {}).join();
}

interface Last {
  readonly submission: number | string | null;
  readonly delivery: number | string | null;
  readonly entry: number | string | null;
  readonly sandbox: number | string | null;
}

/** Selects the numbers of the last rows of accounts. The last row of each account is at the end of the account's part of an index. */
const lastOf = (accountIds: readonly string[] | null): RawBuilder<Last> => {
  if (!accountIds)
    return sql`select (select max(seq) from submissions) as submission, (select max(seq) from deliveries) as delivery,
      (select max(seq) from audit) as entry, (select max(seq) from sandboxes) as sandbox`;
  const ids = sql.join(accountIds);
  const most = sql.lit(Number.MAX_SAFE_INTEGER);
  // The condition and the order have both columns, so that no plan can read the rows of all accounts by `seq` alone.
  const last = (table: "submissions" | "audit" | "sandboxes") => sql`(select seq from ${sql.table(table)}
    where (account_id, seq) >= (accounts.id, 0) and (account_id, seq) < (accounts.id, ${most})
    order by account_id desc, seq desc limit 1)`;
  return sql`select max(${last("submissions")}) as submission, max(${last("audit")}) as entry, max(${last("sandboxes")}) as sandbox,
    (select max((select max(seq) from deliveries where endpoint_id = endpoints.id)) from endpoints
      join projects on projects.id = endpoints.project_id where projects.account_id in (${ids})) as delivery
    from accounts where accounts.id in (${ids})`;
};

/** Selects sums that differ whenever other sandboxes live or are paused. An index has only the sandboxes that have not ended. */
const livingNow = (accountIds: readonly string[] | null): RawBuilder<Record<string, unknown>> => sql`
  select count(*) as living, sum(seq) as rows,
    sum(case state when 'paused' then seq when 'creating' then -seq else 0 end) as states
  from sandboxes where ended_at is null ${accountIds ? sql`and account_id in (${sql.join(accountIds)})` : sql``}`;

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
