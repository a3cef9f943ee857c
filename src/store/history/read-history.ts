import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Schema } from "../database/schema.ts";
import { WHOLE } from "./load.ts";
import type {
  Counts,
  DeliveryCount,
  EndsOf,
  FailingEndpoint,
  GroupBy,
  GroupCounts,
  HistoryRange,
  LoadCount,
} from "./types.ts";

/* Reads of the aggregates. The time of a read depends on the number of their rows in the range, not on the number of records. */

type Amount = { readonly amount: number | string };

export async function readEnds(db: Kysely<Schema>, range: HistoryRange, of?: EndsOf): Promise<Counts> {
  if (range.accountIds?.length === 0) return { ended: [], times: [] };
  const { table, only } = of ? ofKeys(of) : { table: sql`history`, only: sql`` };
  const ended = await sql<{ at: number; verdict: string } & Amount>`
    select ${bucket(range)} as at, verdict, sum(amount) as amount from ${table}
    where ${within(range)} ${only} group by 1, 2`.execute(db);
  if (of) return { ended: ended.rows.map(counted), times: [] };
  const times = await sql<{ at: number; kind: "wait" | "run"; bin: number } & Amount>`
    select ${bucket(range)} as at, kind, bin, sum(amount) as amount from history_times
    where ${within(range)} group by 1, 2, 3`.execute(db);
  return { ended: ended.rows.map(counted), times: times.rows.map(counted) };
}

function ofKeys(of: EndsOf) {
  if ("keyId" in of) return { table: sql`history_keys`, only: sql`and key_id = ${of.keyId}` };
  return {
    table: sql`history_keys`,
    only: sql`and exists (select 1 from api_keys where id = key_id and project_id = ${of.projectId})`,
  };
}

/** The table and the column of each grouping. A key never changes its project, so the runs of the key are runs of the project. */
const GROUPED: Readonly<Record<GroupBy, { readonly from: RawBuilder<unknown>; readonly column: RawBuilder<unknown> }>> =
  {
    language: { from: sql`history`, column: sql`language` },
    key: { from: sql`history_keys`, column: sql`key_id` },
    project: {
      from: sql`(select history_keys.*, coalesce(project_id, '') as project from history_keys
        join api_keys on api_keys.id = history_keys.key_id) as of_projects`,
      column: sql`project`,
    },
  };

export async function readGroups(
  db: Kysely<Schema>,
  range: HistoryRange,
  by: GroupBy,
  most: number,
): Promise<GroupCounts[]> {
  if (range.accountIds?.length === 0) return [];
  const { from, column } = GROUPED[by];
  const { rows: largest } = await sql<{ id: string } & Amount>`
    select ${column} as id, sum(amount) as amount from ${from} where ${within(range)}
    group by 1 order by 2 desc, 1 limit ${most}`.execute(db);
  if (largest.length === 0) return [];
  const ids = largest.map(({ id }) => id);
  const { rows } = await sql<{ id: string; at: number; verdict: string } & Amount>`
    select ${column} as id, ${bucket(range)} as at, verdict, sum(amount) as amount from ${from}
    where ${within(range)} and ${column} in (${sql.join(ids)}) group by 1, 2, 3`.execute(db);
  const found = Map.groupBy(rows.map(counted), ({ id }) => id);
  const names = await namesOf(db, by, ids);
  return ids.map((id) => ({
    id,
    name: names.get(id) ?? id,
    ended: (found.get(id) ?? []).map(({ at, verdict, amount }) => ({ at, verdict, amount })),
  }));
}

async function namesOf(db: Kysely<Schema>, by: GroupBy, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (by === "language") return new Map();
  const table = by === "key" ? "api_keys" : "projects";
  const rows = await db.selectFrom(table).select(["id", "name"]).where("id", "in", ids).execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

export async function readDeliveries(
  db: Kysely<Schema>,
  range: HistoryRange,
  endpointId: string | undefined,
): Promise<DeliveryCount[]> {
  if (range.accountIds?.length === 0) return [];
  const only = endpointId === undefined ? sql`` : sql`and endpoint_id = ${endpointId}`;
  const { rows } = await sql<{ at: number; state: DeliveryCount["state"] } & Amount>`
    select ${bucket(range)} as at, state, sum(amount) as amount from history_deliveries
    where ${within(range)} ${only} group by 1, 2`.execute(db);
  return rows.map(counted);
}

export async function readFailing(db: Kysely<Schema>, range: HistoryRange, most: number): Promise<FailingEndpoint[]> {
  if (range.accountIds?.length === 0) return [];
  const { rows } = await sql<{ id: string; url: string; removed_at: number | null; failed: number | string }>`
    select endpoints.id, url, removed_at, failed from (
      select endpoint_id, sum(amount) as failed from history_deliveries where ${within(range)} and state = 'failed'
      group by endpoint_id order by 2 desc, 1 limit ${most}
    ) as most join endpoints on endpoints.id = endpoint_id order by failed desc, endpoints.id`.execute(db);
  return rows.map(({ id, url, removed_at, failed }) => ({
    id,
    url,
    removed: removed_at !== null,
    failed: Number(failed),
  }));
}

export async function readLoad(db: Kysely<Schema>, range: HistoryRange): Promise<LoadCount[]> {
  // The slots serve all accounts. The whole service has a row for each minute in which it ran; an account has rows only for minutes in
  // which it had pending or running submissions.
  const whole = await sql<{ at: number } & Record<"pending" | "running" | "slots", number>>`
    select ${bucket(range)} as at, max(pending) as pending, max(running) as running, max(slots) as slots from history_load
    where ${within({ ...range, accountIds: [WHOLE] })} group by 1`.execute(db);
  const all = whole.rows.map(({ at, pending, running, slots }) => ({ at, pending, running, slots }));
  if (range.accountIds === null) return all;
  if (range.accountIds.length === 0) return all.map((row) => ({ ...row, pending: 0, running: 0 }));
  const own = await sql<{ at: number } & Record<"pending" | "running", number | string>>`
    select ${bucket(range)} as at, max(pending) as pending, max(running) as running from (
      select at, sum(pending) as pending, sum(running) as running from history_load where ${within(range)} group by at
    ) as summed group by 1`.execute(db);
  const ofAccounts = new Map(own.rows.map((row) => [row.at, row]));
  return all.map(({ at, slots }) => {
    const { pending = 0, running = 0 } = ofAccounts.get(at) ?? {};
    return { at, pending: Number(pending), running: Number(running), slots };
  });
}

function bucket({ bucketMs }: HistoryRange): RawBuilder<number> {
  return sql`at - at % ${sql.lit(bucketMs)}`;
}

/** The condition for the rows of the range. An index begins with its columns: that of accounts, or the primary key. */
function within({ fromMs, untilMs, accountIds }: HistoryRange): RawBuilder<unknown> {
  const among = accountIds ? sql`and account_id in (${sql.join(accountIds)})` : sql``;
  return sql`at >= ${fromMs} and at < ${untilMs} ${among}`;
}

/** PostgreSQL returns sums as text, because they can be larger than a 64-bit integer. */
function counted<Row extends Amount>(row: Row): Row & { amount: number } {
  return { ...row, amount: Number(row.amount) };
}
