import { sql, type Transaction } from "kysely";
import type { Signing } from "../domain/webhook.ts";
import type { DeliveryClaim, DeliveryKind } from "./port.ts";
import type { Schema } from "./schema.ts";

/** Claims of one delivery: one whose attempt ends the process each time must not go on for ever. */
const MAX_CLAIMS = 20;

const OVER = { state: "failed", next_at: null, lease_until: null };

export interface DueRequest {
  readonly nowMs: number;
  readonly leaseUntilMs: number;
  readonly max: number;
  /** Of one endpoint at a time. */
  readonly perEndpoint: number;
}

export async function claimDue(trx: Transaction<Schema>, request: DueRequest): Promise<DeliveryClaim[]> {
  await failUnsendable(trx, request.nowMs);
  const claimed: number[] = [];
  for (const { seq, fence } of await choose(trx, request)) {
    // Another process may have chosen it, too: the first one to write has it.
    const row = await trx
      .updateTable("deliveries")
      .set({ fence: fence + 1, lease_until: request.leaseUntilMs })
      .where("seq", "=", seq)
      .where("fence", "=", fence)
      .where("state", "=", "pending")
      .returning("seq")
      .executeTakeFirst();
    if (row) claimed.push(row.seq);
  }
  return await readClaims(trx, claimed);
}

/**
 * What is due, fairest first: an endpoint with nothing under way goes before one with some,
 * so a receiver that is slow or down takes up its own share of attempts and no more.
 */
async function choose(trx: Transaction<Schema>, request: DueRequest): Promise<{ seq: number; fence: number }[]> {
  const { nowMs, perEndpoint, max } = request;
  const { rows } = await sql<{ seq: number; fence: number }>`
    with serving as (
      select endpoint_id, count(*) as amount from deliveries where lease_until > ${nowMs} group by endpoint_id
    ),
    due as (
      select seq, deliveries.endpoint_id, fence, next_at,
        row_number() over (partition by deliveries.endpoint_id order by next_at, seq) as position
      from endpoints
      join deliveries on deliveries.seq in (
        select waiting.seq from deliveries as waiting
        where waiting.endpoint_id = endpoints.id and waiting.state = 'pending'
          and waiting.next_at <= ${nowMs} and coalesce(waiting.lease_until, 0) <= ${nowMs}
        order by waiting.next_at, waiting.seq
        limit ${perEndpoint}
      )
    )
    select due.seq, due.fence from due
    left join serving on serving.endpoint_id = due.endpoint_id
    where coalesce(serving.amount, 0) + due.position <= ${perEndpoint}
    order by coalesce(serving.amount, 0) + due.position, due.next_at, due.seq
    limit ${max}`.execute(trx);
  return rows;
}

/** Ends what is due and will never be sent, and says why. A test may go to an endpoint that is not active yet. */
async function failUnsendable(trx: Transaction<Schema>, nowMs: number): Promise<void> {
  const due = (reason: string) =>
    trx
      .updateTable("deliveries")
      .set({ ...OVER, ended_at: nowMs, reason })
      .where("state", "=", "pending")
      .where("next_at", "<=", nowMs)
      .where((eb) => eb.or([eb("lease_until", "is", null), eb("lease_until", "<=", nowMs)]));
  await due("the endpoint was removed")
    .where("endpoint_id", "in", (eb) => eb.selectFrom("endpoints").select("id").where("removed_at", "is not", null))
    .execute();
  await due("the endpoint is not active")
    .where("kind", "!=", "test")
    .where("endpoint_id", "in", (eb) => eb.selectFrom("endpoints").select("id").where("active", "=", 0))
    .execute();
  await due(`it was interrupted ${MAX_CLAIMS} times`).where("fence", ">=", MAX_CLAIMS).execute();
}

/** In the order of `seqs`. */
export async function readClaims(trx: Transaction<Schema>, seqs: readonly number[]): Promise<DeliveryClaim[]> {
  if (seqs.length === 0) return [];
  const rows = await trx
    .selectFrom("deliveries")
    .innerJoin("endpoints", "endpoints.id", "deliveries.endpoint_id")
    .select(["seq", "deliveries.id", "fence", "attempts", "kind", "message_id"])
    .select(["endpoint_id", "url", "secret", "signing"])
    .where("seq", "in", seqs)
    .execute();
  rows.sort((a, b) => seqs.indexOf(a.seq) - seqs.indexOf(b.seq));
  return rows.map((row) => ({
    id: row.id,
    fence: row.fence,
    attempt: row.attempts + 1,
    kind: row.kind as DeliveryKind,
    messageId: row.message_id,
    endpoint: { id: row.endpoint_id, url: row.url, secret: row.secret, signing: row.signing as Signing },
  }));
}
