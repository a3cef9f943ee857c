import type { Kysely } from "kysely";
import type { Attempt } from "../domain/delivery.ts";
import type { Delivery, DeliveryKind, DeliveryStore } from "./port.ts";
import type { Schema } from "./schema.ts";

/** Deliveries with all their attempts, newest first. */
export async function listDeliveries(
  db: Kysely<Schema>,
  { id, endpointId, submissionId, max }: Parameters<DeliveryStore["list"]>[0],
): Promise<Delivery[]> {
  let query = db
    .selectFrom("deliveries")
    .leftJoin("submissions", "submissions.seq", "deliveries.submission_seq")
    .selectAll("deliveries")
    .select("submissions.id as submission_id")
    .orderBy("deliveries.seq", "desc")
    .limit(max);
  if (id !== undefined) query = query.where("deliveries.id", "=", id);
  if (endpointId !== undefined) query = query.where("endpoint_id", "=", endpointId);
  if (submissionId !== undefined) query = query.where("submissions.id", "=", submissionId);
  const rows = await query.execute();
  const attempts = await attemptsOf(
    db,
    rows.map(({ seq }) => seq),
  );
  return rows.map((row) => ({
    id: row.id,
    endpointId: row.endpoint_id,
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
  for (const { delivery_seq, at, latency_ms, status, error, answer } of rows) {
    const attempts = all.get(delivery_seq) ?? [];
    attempts.push({ atMs: at, latencyMs: latency_ms, status, error, answer });
    all.set(delivery_seq, attempts);
  }
  return all;
}
