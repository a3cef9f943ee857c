import { type Kysely, sql } from "kysely";
import type { Attempt, Headers } from "../../domain/delivery.ts";
import type { Schema } from "../database/schema.ts";
import type { DeliveryStore } from "./deliveries.ts";
import type { Delivery, DeliveryKind, RecentDeliveries } from "./types.ts";

/** Deliveries with all their attempts, newest first. */
export async function listDeliveries(
  db: Kysely<Schema>,
  { id, endpointId, submissionId, accountIds, before, max }: Parameters<DeliveryStore["list"]>[0],
): Promise<Delivery[]> {
  if (accountIds?.length === 0) return [];
  let query = db
    .selectFrom("deliveries")
    .innerJoin("endpoints", "endpoints.id", "deliveries.endpoint_id")
    .innerJoin("projects", "projects.id", "endpoints.project_id")
    .leftJoin("submissions", "submissions.seq", "deliveries.submission_seq")
    .selectAll("deliveries")
    .select(["submissions.id as submission_id", "projects.account_id"])
    .select(({ fn, selectFrom }) => {
      const callback = selectFrom("foreign_submissions")
        .select("callback_url")
        .whereRef("foreign_submissions.submission_seq", "=", "deliveries.submission_seq")
        .where("deliveries.callback", "=", 1);
      return fn.coalesce(callback, "endpoints.url").as("url");
    })
    .limit(max);
  if (id !== undefined) query = query.where("deliveries.id", "=", id);
  if (endpointId !== undefined)
    query = query.where(ofEndpointBefore(endpointId, before)).orderBy("endpoint_id", "desc");
  else if (before !== undefined) query = query.where("deliveries.seq", "<", before);
  if (submissionId !== undefined) query = query.where("submissions.id", "=", submissionId);
  if (accountIds) query = query.where("projects.account_id", "in", accountIds);
  const rows = await query.orderBy("deliveries.seq", "desc").execute();
  const attempts = await attemptsOf(
    db,
    rows.map(({ seq }) => seq),
  );
  return rows.map((row) => ({
    id: row.id,
    seq: row.seq,
    endpointId: row.endpoint_id,
    url: row.url,
    accountId: row.account_id,
    submissionId: row.submission_id,
    messageId: row.message_id,
    kind: row.kind as DeliveryKind,
    state: row.state as Delivery["state"],
    createdAtMs: row.created_at,
    nextAtMs: row.next_at,
    endedAtMs: row.ended_at,
    reason: row.reason,
    attempts: attempts.get(row.seq) ?? [],
  }));
}

/**
 * The condition for deliveries of an endpoint whose `seq` is lower than `before`. It compares (endpoint_id, seq) as a pair: otherwise,
 * the database could choose the index on `seq`, and read the deliveries of all accounts.
 */
function ofEndpointBefore(endpointId: string, before = Number.MAX_SAFE_INTEGER) {
  return sql<boolean>`(endpoint_id, deliveries.seq) >= (${endpointId}, 0)
    and (endpoint_id, deliveries.seq) < (${endpointId}, ${before})`;
}

/** How many of the newest deliveries of an endpoint are counted. */
const RECENT = 20;

/** Counts the newest deliveries of each endpoint by state. An index has them in this order, so older ones are not read. */
export async function recentDeliveries(
  db: Kysely<Schema>,
  endpointIds: readonly string[],
): Promise<ReadonlyMap<string, RecentDeliveries>> {
  if (endpointIds.length === 0) return new Map();
  const countSql = (state: Delivery["state"]) => sql`(
    select count(*) from (
      select state from deliveries where endpoint_id = endpoints.id order by seq desc limit ${sql.lit(RECENT)}
    ) as newest where state = ${sql.lit(state)})`;
  const { rows } = await sql<{ id: string } & Record<Delivery["state"], number | string>>`
    select id, ${countSql("delivered")} as delivered, ${countSql("failed")} as failed, ${countSql("pending")} as pending
    from endpoints where removed_at is null and id in (${sql.join(endpointIds)})`.execute(db);
  return new Map(
    rows
      .map(({ id, delivered, failed, pending }) => {
        return [id, { delivered: Number(delivered), failed: Number(failed), pending: Number(pending) }] as const;
      })
      .filter(([, { delivered, failed, pending }]) => delivered + failed + pending > 0),
  );
}

async function attemptsOf(db: Kysely<Schema>, seqs: readonly number[]): Promise<Map<number, Attempt[]>> {
  const all = new Map<number, Attempt[]>();
  if (seqs.length === 0) return all;
  const rows = await db
    .selectFrom("attempts")
    .selectAll()
    .where("delivery_seq", "in", seqs)
    .orderBy("delivery_seq")
    .orderBy("number")
    .execute();
  for (const { delivery_seq, at, latency_ms, status, error, answer, sent_headers, answer_headers } of rows) {
    const attempts = all.get(delivery_seq) ?? [];
    const headers = { sentHeaders: headersIn(sent_headers), answerHeaders: headersIn(answer_headers) };
    attempts.push({ atMs: at, latencyMs: latency_ms, status, error, answer, ...headers });
    all.set(delivery_seq, attempts);
  }
  return all;
}

function headersIn(json: string | null): Headers | null {
  return json === null ? null : (JSON.parse(json) as Headers);
}
