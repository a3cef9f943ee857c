import { type Selectable, sql, type Transaction } from "kysely";
import type { Signing } from "../domain/webhook.ts";
import type { Abilities } from "./engine.ts";
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

interface Due {
  readonly seq: number;
  readonly fence: number;
  readonly next_at: number | null;
  /** How many its endpoint would have under way with this one. */
  readonly turn: number;
}

/**
 * Takes what is due, fairest first: an endpoint with nothing under way goes before one with
 * some, so a receiver that is slow or down takes up its own share of attempts and no more.
 * Each statement looks at a few rows of an index, however long the queue of a dead receiver is.
 */
export async function claimDue(
  trx: Transaction<Schema>,
  { lock }: Pick<Abilities, "lock">,
  request: DueRequest,
): Promise<DeliveryClaim[]> {
  // One after the other: what is under way to an endpoint can only be counted while nobody adds to it.
  await lock(trx, "deliveries");
  await failUnsendable(trx, request.nowMs);
  const due: Due[] = [];
  for (const endpoint of await leastServed(trx, request)) due.push(...(await dueOf(trx, endpoint, request)));
  due.sort((a, b) => a.turn - b.turn || Number(a.next_at) - Number(b.next_at) || a.seq - b.seq);
  const chosen = due.slice(0, request.max);
  const taken: Taken[] = [];
  // In one order everywhere: two processes that take the same rows wait for one another, and not in a circle.
  for (const one of chosen.toSorted((a, b) => a.seq - b.seq)) {
    const row = await take(trx, one, request);
    if (row) taken.push(row);
  }
  const places = new Map(chosen.map(({ seq }, place) => [seq, place]));
  taken.sort((a, b) => (places.get(a.seq) ?? 0) - (places.get(b.seq) ?? 0));
  return await toClaims(trx, taken);
}

/** Further ahead than any delay or lease goes, and than clocks of machines differ that are kept in step. */
const FAR_MS = 60_000;

/** The clock was set back: what would wait until it is there again is due now, and claims end a lease from now. */
export async function bringNear(
  trx: Transaction<Schema>,
  { nowMs, leaseUntilMs }: Pick<DueRequest, "nowMs" | "leaseUntilMs">,
): Promise<void> {
  const pending = trx.updateTable("deliveries").where("state", "=", sql.lit("pending"));
  await pending
    .set({ next_at: nowMs })
    .where("next_at", ">", nowMs + FAR_MS)
    .execute();
  await pending
    .set({ lease_until: leaseUntilMs })
    .where("lease_until", ">", nowMs + FAR_MS)
    .execute();
}

interface Serving {
  readonly id: string;
  /** Attempts under way. */
  readonly serving: number;
}

async function leastServed(trx: Transaction<Schema>, request: DueRequest): Promise<Serving[]> {
  const { nowMs, perEndpoint, max } = request;
  const { rows } = await sql<Serving>`
    select id, serving from (
      select endpoints.id,
        (select count(*) from deliveries where endpoint_id = endpoints.id and lease_until > ${nowMs}) as serving,
        (select next_at from deliveries
          where endpoint_id = endpoints.id and state = 'pending' and next_at <= ${nowMs}
            and coalesce(lease_until, 0) <= ${nowMs}
          order by next_at limit 1) as oldest
      from endpoints
    ) as all_endpoints
    where oldest is not null and serving < ${perEndpoint}
    order by serving, oldest, id
    limit ${max}`.execute(trx);
  return rows.map(({ id, serving }) => ({ id, serving: Number(serving) }));
}

async function dueOf(trx: Transaction<Schema>, endpoint: Serving, request: DueRequest): Promise<Due[]> {
  const rows = await due(trx, request.nowMs)
    .select(["seq", "fence", "next_at"])
    .where("endpoint_id", "=", endpoint.id)
    .orderBy("next_at")
    .orderBy("seq")
    .limit(Math.min(request.perEndpoint - endpoint.serving, request.max))
    .execute();
  return rows.map((row, place) => ({ ...row, turn: endpoint.serving + place }));
}

function due(trx: Transaction<Schema>, nowMs: number) {
  return trx
    .selectFrom("deliveries")
    .where("state", "=", sql.lit("pending"))
    .where("next_at", "<=", nowMs)
    .where((eb) => eb.or([eb("lease_until", "is", null), eb("lease_until", "<=", nowMs)]));
}

/** What a claim takes of its row. */
export const TAKEN = ["seq", "id", "fence", "attempts", "kind", "message_id", "endpoint_id"] as const;
type Taken = Pick<Selectable<Schema["deliveries"]>, (typeof TAKEN)[number]>;

/** @returns undefined when another process, which may have chosen it too, was first; or when it was taken too often. */
async function take(trx: Transaction<Schema>, { seq, fence }: Due, request: DueRequest): Promise<Taken | undefined> {
  const tooOften = fence >= MAX_CLAIMS;
  const reason = `it was interrupted ${MAX_CLAIMS} times`;
  const change = tooOften
    ? { ...OVER, ended_at: request.nowMs, reason }
    : { fence: fence + 1, lease_until: request.leaseUntilMs };
  const row = await trx
    .updateTable("deliveries")
    .set(change)
    .where("seq", "=", seq)
    .where("fence", "=", fence)
    .where("state", "=", sql.lit("pending"))
    .returning(TAKEN)
    .executeTakeFirst();
  return tooOften ? undefined : row;
}

/** Ends what is due and will never be sent, and says why. A test may go to an endpoint that is not active yet. */
async function failUnsendable(trx: Transaction<Schema>, nowMs: number): Promise<void> {
  const endpoints = await trx
    .selectFrom("endpoints")
    .select(["id", "removed_at"])
    .where((eb) => eb.or([eb("active", "=", 0), eb("removed_at", "is not", null)]))
    .where((eb) => eb.exists(due(trx, nowMs).select("seq").where("endpoint_id", "=", sql.ref<string>("endpoints.id"))))
    .execute();
  for (const { id, removed_at } of endpoints) {
    const reason = removed_at === null ? "the endpoint is not active" : "the endpoint was removed";
    let update = trx
      .updateTable("deliveries")
      .set({ ...OVER, ended_at: nowMs, reason })
      .where("state", "=", sql.lit("pending")) // still, should its attempt have been recorded meanwhile
      .where("seq", "in", due(trx, nowMs).select("seq").where("endpoint_id", "=", id));
    if (removed_at === null) update = update.where("kind", "!=", "test");
    await update.execute();
  }
}

/** In the order of the rows. */
export async function toClaims(trx: Transaction<Schema>, taken: readonly Taken[]): Promise<DeliveryClaim[]> {
  if (taken.length === 0) return [];
  const ids = [...new Set(taken.map(({ endpoint_id }) => endpoint_id))];
  const rows = await trx
    .selectFrom("endpoints")
    .select(["id", "url", "secret", "signing"])
    .where("id", "in", ids)
    .execute();
  const endpoints = new Map(rows.map((row) => [row.id, { ...row, signing: row.signing as Signing }]));
  return taken.map(({ id, fence, attempts, kind, message_id, endpoint_id }) => {
    const endpoint = endpoints.get(endpoint_id);
    if (!endpoint) throw new Error(`the delivery ${id} has no endpoint`);
    return { id, fence, attempt: attempts + 1, kind: kind as DeliveryKind, messageId: message_id, endpoint };
  });
}
