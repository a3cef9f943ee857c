import { type Selectable, sql, type Transaction } from "kysely";
import type { Signing } from "../../domain/webhook.ts";
import type { QueueOwner } from "../../fairness/turn.ts";
import type { Abilities } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import { callbackUrls } from "../foreign/rows.ts";
import { chooseDeliveries, type DeliveryBudget, type Due, type DueEndpoint } from "./choose-deliveries.ts";
import type { DeliveryClaim, DeliveryKind } from "./types.ts";
import { insertUncountedDeliveries } from "./uncounted.ts";

/** The most claims of a delivery. Without this bound, a delivery that crashes the process would be claimed again without end. */
const MAX_CLAIMS = 20;

const FAILED = { state: "failed", next_at: null, lease_until: null };

/**
 * The most deliveries that one transaction ends without an attempt. An endpoint can have 100,000 of them, and other transactions
 * wait until this one has ended.
 */
const MAX_ENDED = 500;

/** The most bytes of JSON for one byte of output: a control character becomes `\u0001`. */
const JSON_BYTES = 6;
/** Upper bound of the fields of a record that the table `outcomes` does not have. */
const RECORD_BYTES = 4_096;
/** Upper bound of a run, with its message, in the record of a judgement. */
const RUN_BYTES = 4_096;

export interface DueRequest extends DeliveryBudget {
  readonly nowMs: number;
  readonly leaseUntilMs: number;
}

export interface ClaimedDeliveries {
  readonly claims: DeliveryClaim[];
  /** Whether the claim has ended `MAX_ENDED` deliveries to inactive or removed endpoints, so that the next claim may find more. */
  readonly more: boolean;
}

/**
 * Claims due deliveries in fair order (see choose-deliveries.ts), and ends those that cannot be sent. The statements read a few
 * rows of each endpoint with pending deliveries, even if very many deliveries wait for a receiver that does not answer.
 */
export async function claimDue(
  trx: Transaction<Schema>,
  { lock }: Pick<Abilities, "lock">,
  request: DueRequest,
): Promise<ClaimedDeliveries> {
  // Claims are serialised: a concurrent claim would make the count of attempts under way wrong.
  await lock(trx, "deliveries");
  const { nowMs } = request;
  const waiting = await waitingEndpoints(trx, nowMs);
  const { candidates, more } = await failUnsendable(trx, waiting, nowMs);
  const dueOf = (endpoint: DueEndpoint, most: number) => oldestDue(trx, endpoint.id, nowMs, most);
  const chosen = await chooseDeliveries(candidates, request, dueOf);
  await takeTurns(trx, waiting, new Set(chosen.map(({ owner }) => owner.id)));
  const taken: Taken[] = [];
  // Rows are updated in a fixed order, to avoid deadlocks between processes that update the same rows.
  for (const one of chosen.toSorted((a, b) => a.seq - b.seq)) {
    const row = await take(trx, one, request);
    if (row) taken.push(row);
  }
  const inOrder = new Map(chosen.map((one, index) => [one.seq, { ...one, index }]));
  taken.sort((a, b) => (inOrder.get(a.seq)?.index ?? 0) - (inOrder.get(b.seq)?.index ?? 0));
  const bytes = (seq: number) => inOrder.get(seq)?.bodyBytes ?? 0;
  return { claims: await toClaims(trx, taken, nowMs, bytes), more };
}

/** Longer than any delay or lease, and longer than the difference between synchronised clocks. */
const FAR_MS = 60_000;

/**
 * Corrects times after the clock was set back: pending deliveries that would be due far in the future become due now, and leases
 * that would expire far in the future expire at `leaseUntilMs`.
 */
export async function correctAfterClockChange(
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

interface WaitingEndpoint extends DueEndpoint {
  /** Infinite if all pending deliveries of the endpoint are due later or under way. */
  readonly oldestMs: number;
  readonly removed: boolean;
  readonly active: boolean;
}

interface WaitingRow {
  readonly id: string;
  readonly active: number;
  readonly removed_at: number | null;
  readonly account_id: string;
  readonly turn: number;
  readonly serving: number | string;
  readonly oldest: number | null;
}

/**
 * Endpoints with pending deliveries; a delivery under way is pending too. The ids of the endpoints are read from an index, one after
 * another, so that endpoints without pending deliveries cost nothing.
 */
async function waitingEndpoints(trx: Transaction<Schema>, nowMs: number): Promise<WaitingEndpoint[]> {
  const { rows } = await sql<WaitingRow>`
    with recursive waiting (id) as (
      select (select min(endpoint_id) from deliveries where state = 'pending')
      union all
      select (select min(endpoint_id) from deliveries where state = 'pending' and endpoint_id > waiting.id)
      from waiting where waiting.id is not null
    )
    select endpoints.id, endpoints.active, endpoints.removed_at, accounts.id as account_id,
      accounts.delivery_turn as turn,
      (select count(*) from deliveries where endpoint_id = endpoints.id and lease_until > ${nowMs}) as serving,
      (select next_at from deliveries
        where endpoint_id = endpoints.id and state = 'pending' and next_at <= ${nowMs}
          and coalesce(lease_until, 0) <= ${nowMs}
        order by next_at limit 1) as oldest
    from waiting
    join endpoints on endpoints.id = waiting.id
    join projects on projects.id = endpoints.project_id
    join accounts on accounts.id = projects.account_id`.execute(trx);
  const accounts = new Map<string, QueueOwner>();
  return rows.map(({ id, active, removed_at, account_id, turn, serving: amount, oldest }) => {
    const owner = accounts.get(account_id) ?? { id: account_id, turn, underWay: 0 };
    accounts.set(account_id, owner);
    const underWay = Number(amount);
    owner.underWay += underWay;
    const oldestMs = oldest ?? Number.POSITIVE_INFINITY;
    return { id, underWay, oldestMs, owner, removed: removed_at !== null, active: active === 1 };
  });
}

/** Gives the served accounts a turn after those of all waiting accounts. */
async function takeTurns(
  trx: Transaction<Schema>,
  waiting: readonly DueEndpoint[],
  served: ReadonlySet<string>,
): Promise<void> {
  if (served.size === 0) return;
  const last = waiting.reduce((most, { owner }) => Math.max(most, owner.turn), 0);
  await trx
    .updateTable("accounts")
    .set({ delivery_turn: last + 1 })
    .where("id", "in", [...served])
    .execute();
}

async function oldestDue(trx: Transaction<Schema>, endpointId: string, nowMs: number, most: number): Promise<Due[]> {
  const rows = await due(trx, nowMs)
    .leftJoin("outcomes", "outcomes.submission_seq", "deliveries.submission_seq")
    .leftJoin("judgements", "judgements.seq", "deliveries.judgement_seq")
    .select(["deliveries.seq", "fence"])
    .select(({ fn, val }) => {
      const length = (
        column: "deliveries.body" | "outcomes.stdout" | "outcomes.stderr" | "outcomes.body" | "judgements.states",
      ) => fn.coalesce(fn<number>("octet_length", [column]), val(0));
      return [
        length("deliveries.body").as("own"),
        length("outcomes.stdout").as("stdout"),
        length("outcomes.stderr").as("stderr"),
        length("outcomes.body").as("rest"),
        length("judgements.states").as("tests"),
      ];
    })
    .where("endpoint_id", "=", endpointId)
    .orderBy("next_at")
    .orderBy("deliveries.seq")
    .limit(most)
    .execute();
  return rows.map(({ seq, fence, own, stdout, stderr, rest, tests }) => {
    const record = JSON_BYTES * (stdout + stderr) + 2 * rest + tests * RUN_BYTES + RECORD_BYTES;
    const bodyBytes = own > 0 ? own : record;
    return { seq, fence, bodyBytes };
  });
}

function due(trx: Transaction<Schema>, nowMs: number) {
  return trx
    .selectFrom("deliveries")
    .where("state", "=", sql.lit("pending"))
    .where("next_at", "<=", nowMs)
    .where((eb) => eb.or([eb("lease_until", "is", null), eb("lease_until", "<=", nowMs)]));
}

/** The columns of a delivery that a claim needs. */
export const TAKEN = [
  "seq",
  "id",
  "fence",
  "attempts",
  "kind",
  "message_id",
  "endpoint_id",
  "submission_seq",
  "callback",
] as const;
type Taken = Pick<Selectable<Schema["deliveries"]>, (typeof TAKEN)[number]>;

/**
 * Claims one delivery, or ends it as failed if it has been claimed MAX_CLAIMS times.
 * @returns undefined if it has now failed, or another process has claimed it first.
 */
async function take(
  trx: Transaction<Schema>,
  { seq, fence }: Due,
  request: Pick<DueRequest, "nowMs" | "leaseUntilMs">,
): Promise<Taken | undefined> {
  const tooOften = fence >= MAX_CLAIMS;
  const reason = `the delivery was interrupted ${MAX_CLAIMS} times`;
  const change = tooOften
    ? { ...FAILED, ended_at: request.nowMs, reason }
    : { fence: fence + 1, lease_until: request.leaseUntilMs };
  const row = await trx
    .updateTable("deliveries")
    .set(change)
    .where("seq", "=", seq)
    .where("fence", "=", fence)
    .where("state", "=", sql.lit("pending"))
    .returning(TAKEN)
    .executeTakeFirst();
  if (!tooOften) return row;
  if (row) await insertUncountedDeliveries(trx, [row], "failed", request.nowMs);
  return undefined;
}

/**
 * Ends due deliveries that cannot be sent, with the reason. A test can be sent to an inactive endpoint.
 * @returns `candidates`: the endpoints whose other due deliveries can be sent; `more`: see ClaimedDeliveries.
 */
async function failUnsendable(
  trx: Transaction<Schema>,
  waiting: readonly WaitingEndpoint[],
  nowMs: number,
): Promise<{ readonly candidates: DueEndpoint[]; readonly more: boolean }> {
  let left = MAX_ENDED;
  const candidates: DueEndpoint[] = [];
  for (const endpoint of waiting) {
    const { id, active, removed, oldestMs } = endpoint;
    if (oldestMs === Number.POSITIVE_INFINITY) continue;
    if (active && !removed) candidates.push(endpoint);
    else if (left > 0) {
      const reason = removed ? "the endpoint was removed" : "the endpoint is not active";
      let unsendable = due(trx, nowMs).select("seq").where("endpoint_id", "=", id).orderBy("next_at").limit(left);
      if (!removed) unsendable = unsendable.where("kind", "!=", "test");
      const failed = await trx
        .updateTable("deliveries")
        .set({ ...FAILED, ended_at: nowMs, reason })
        .where("state", "=", sql.lit("pending")) // in the meantime, an attempt may have ended a delivery
        .where("seq", "in", unsendable)
        .returning(["seq", "endpoint_id"])
        .execute();
      await insertUncountedDeliveries(trx, failed, "failed", nowMs);
      left -= failed.length;
      if (!removed && left > 0) candidates.push(endpoint);
    }
  }
  return { candidates, more: left <= 0 };
}

/** The claims in the order of the rows. @param bodyBytes returns the upper bound of the body of the delivery with this `seq`. */
export async function toClaims(
  trx: Transaction<Schema>,
  taken: readonly Taken[],
  nowMs: number,
  bodyBytes: (seq: number) => number,
): Promise<DeliveryClaim[]> {
  if (taken.length === 0) return [];
  const ids = [...new Set(taken.map(({ endpoint_id }) => endpoint_id))];
  const rows = await trx
    .selectFrom("endpoints")
    .innerJoin("projects", "projects.id", "endpoints.project_id")
    .select(["endpoints.id", "url", "secret", "signing", "account_id"])
    .where("endpoints.id", "in", ids)
    .execute();
  const former = await trx
    .selectFrom("former_secrets")
    .select(["endpoint_id", "secret"])
    .where("endpoint_id", "in", ids)
    .where("ends_at", ">", nowMs)
    .orderBy("ends_at", "desc")
    .execute();
  const callbacks = await callbackUrls(trx, taken);
  const endpoints = new Map(rows.map((row) => [row.id, row]));
  return taken.map(({ seq, id, fence, attempts, kind, message_id, endpoint_id, submission_seq, callback }) => {
    const row = endpoints.get(endpoint_id);
    if (!row) throw new Error(`the delivery ${id} has no endpoint`);
    const formerOnes = former.filter((one) => one.endpoint_id === endpoint_id).map(({ secret }) => secret);
    return {
      id,
      fence,
      attempt: attempts + 1,
      kind: kind as DeliveryKind,
      messageId: message_id,
      accountId: row.account_id,
      bodyBytes: bodyBytes(seq),
      endpoint: { id: row.id, url: row.url, secrets: [row.secret, ...formerOnes], signing: row.signing as Signing },
      callbackUrl: callback === 1 ? (callbacks.get(submission_seq ?? 0) ?? null) : null,
    };
  });
}
