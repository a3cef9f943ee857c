import { type Kysely, type RawBuilder, sql } from "kysely";
import { dueNow, runningNow, waiting } from "../queue/backlog.ts";
import type { Schema } from "../schema/schema.ts";

/** Texts that change whenever something of the accounts has changed. */
export interface Marks {
  /** Submissions that were accepted, started or ended. */
  readonly runs: string;
  /** Deliveries that were added, attempted or ended. */
  readonly deliveries: string;
  /** Recorded changes: projects, keys, endpoints, problems. */
  readonly settings: string;
}

const HOUR_MS = 3_600_000;

/**
 * Each statement reads the end of an index, or an index that has only the queue, regardless of the number of records.
 * @param accountIds only these accounts; null for all.
 */
export async function readMarks(db: Kysely<Schema>, accountIds: readonly string[] | null): Promise<Marks> {
  if (accountIds?.length === 0) return { runs: "", deliveries: "", settings: "" };
  const among = accountIds ?? undefined;
  const pending = (await waiting(among).execute(db)).rows.map((row) => Number(row.pending));
  const running = (await runningNow(among).execute(db)).rows.map((row) => Number(row.amount));
  const due = (await dueNow(among).execute(db)).rows[0];
  const ends = (await lastOf(accountIds).execute(db)).rows[0];
  return {
    runs: [ends?.submission, sum(pending), sum(running)].join(),
    deliveries: [ends?.delivery, due?.amount, due?.next_at].join(),
    settings: String(ends?.entry),
  };
}

/** A mark of the counted ends and the load of the last hour. Only the newest minutes change, so nothing older is read. */
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
}

/** The last row of each account is at the end of its part of an index. */
const lastOf = (accountIds: readonly string[] | null): RawBuilder<Last> => {
  if (!accountIds)
    return sql`select (select max(seq) from submissions) as submission, (select max(seq) from deliveries) as delivery,
      (select max(seq) from audit) as entry`;
  const ids = sql.join(accountIds);
  const most = sql.lit(Number.MAX_SAFE_INTEGER);
  // Compared and sorted by tuples, so that no plan can read the rows of all accounts by seq alone.
  const last = (table: "submissions" | "audit") => sql`(select seq from ${sql.table(table)}
    where (account_id, seq) >= (accounts.id, 0) and (account_id, seq) < (accounts.id, ${most})
    order by account_id desc, seq desc limit 1)`;
  return sql`select max(${last("submissions")}) as submission, max(${last("audit")}) as entry,
    (select max((select max(seq) from deliveries where endpoint_id = endpoints.id)) from endpoints
      join projects on projects.id = endpoints.project_id where projects.account_id in (${ids})) as delivery
    from accounts where accounts.id in (${ids})`;
};

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
