import { sql, type Transaction } from "kysely";
import type { Attempt, Next } from "../domain/delivery.ts";
import { bringNear, claimDue, TAKEN, toClaims } from "./claim-deliveries.ts";
import { listDeliveries, recentDeliveries } from "./delivery-log.ts";
import type { Engine } from "./engine.ts";
import { insertDelivery } from "./outbox.ts";
import type { DeliveryClaim, DeliveryStore } from "./port.ts";
import { readEnded } from "./read.ts";
import type { Schema } from "./schema.ts";
import type { Transactions } from "./transactions.ts";

/** The outbox and its log. @param now milliseconds since the epoch. */
export function deliveryStore({ db, abilities }: Engine, transactions: Transactions, now: () => number): DeliveryStore {
  let lastMs = Number.POSITIVE_INFINITY;
  return {
    async claimDue({ leaseMs, ...limits }) {
      const nowMs = now();
      const request = { ...limits, nowMs, leaseUntilMs: nowMs + leaseMs };
      // Nor does who comes first know what the clock did before.
      const setBack = nowMs < lastMs - 1_000;
      const { claims } = await transactions.run(
        async (trx) => {
          if (setBack) await bringNear(trx, request);
          return await claimDue(trx, abilities, request);
        },
        { words: ({ more }) => (more ? [{ kind: "deliveries" }] : []) },
      );
      lastMs = nowMs;
      return claims;
    },

    async message({ id }) {
      const row = await db
        .selectFrom("deliveries")
        .select(["submission_seq", "body"])
        .where("id", "=", id)
        .executeTakeFirst();
      if (row?.body) return { body: row.body };
      const submission = row?.submission_seq ? await readEnded(db, row.submission_seq) : undefined;
      return submission && { submission };
    },

    recordAttempt(claim, attempt, next) {
      return transactions.run((trx) => recordAttempt(trx, claim, attempt, next, now()));
    },

    async release(claim) {
      const result = await transactions.run((trx) => held(trx, claim).set({ lease_until: null }).executeTakeFirst());
      return result.numUpdatedRows > 0n;
    },

    async nextDueMs(afterMs) {
      const { due } = await db
        .selectFrom("deliveries")
        .select((eb) => eb.fn.min("next_at").as("due"))
        .where("state", "=", sql.lit("pending"))
        .where("next_at", ">", afterMs)
        .executeTakeFirstOrThrow();
      const { expiry } = await db
        .selectFrom("deliveries")
        .select((eb) => eb.fn.min("lease_until").as("expiry"))
        .where("lease_until", ">", afterMs)
        .executeTakeFirstOrThrow();
      return due === null || expiry === null ? (due ?? expiry) : Math.min(due, expiry);
    },

    list(which) {
      return listDeliveries(db, which);
    },

    recent: (endpointIds) => recentDeliveries(db, endpointIds),

    replay(id) {
      return transactions.run((trx) => replay(trx, id, now()), {
        words: (replayed) => (replayed === undefined ? [] : [{ kind: "deliveries" }]),
      });
    },

    addTest(endpointId, test) {
      return transactions.run((trx) => addTest(trx, endpointId, test, now()));
    },
  };
}

/** An update that holds only while the claim is ours. */
function held(trx: Transaction<Schema>, claim: DeliveryClaim) {
  return trx
    .updateTable("deliveries")
    .where("id", "=", claim.id)
    .where("state", "=", sql.lit("pending"))
    .where("fence", "=", claim.fence);
}

async function recordAttempt(
  trx: Transaction<Schema>,
  claim: DeliveryClaim,
  attempt: Attempt,
  next: Next,
  nowMs: number,
): Promise<boolean> {
  const again = next.state === "pending";
  const row = await held(trx, claim)
    .set({
      state: next.state,
      attempts: claim.attempt,
      lease_until: null,
      next_at: again ? next.atMs : null,
      ended_at: again ? null : nowMs,
    })
    .returning("seq")
    .executeTakeFirst();
  if (!row) return false;
  await trx
    .insertInto("attempts")
    .values({
      delivery_seq: row.seq,
      number: claim.attempt,
      at: attempt.atMs,
      latency_ms: attempt.latencyMs,
      status: attempt.status,
      error: attempt.error,
      answer: attempt.answer,
    })
    .execute();
  return true;
}

async function replay(trx: Transaction<Schema>, id: string, nowMs: number): Promise<string | undefined> {
  const row = await trx
    .selectFrom("deliveries")
    .innerJoin("endpoints", "endpoints.id", "deliveries.endpoint_id")
    .select(["endpoint_id", "submission_seq", "message_id", "body"])
    .where("deliveries.id", "=", id)
    .where("active", "=", 1)
    .where("removed_at", "is", null)
    .executeTakeFirst();
  return row && (await insertDelivery(trx, { ...row, kind: "replay", created_at: nowMs }));
}

async function addTest(
  trx: Transaction<Schema>,
  endpointId: string,
  test: { readonly messageId: string; readonly body: Buffer; readonly leaseMs: number },
  nowMs: number,
): Promise<DeliveryClaim | undefined> {
  const endpoint = await trx
    .selectFrom("endpoints")
    .select("id")
    .where("id", "=", endpointId)
    .where("removed_at", "is", null)
    .executeTakeFirst();
  if (!endpoint) return undefined;
  const { messageId: message_id, body } = test;
  const delivery = { endpoint_id: endpointId, submission_seq: null, message_id, kind: "test", body } as const;
  const lease = { fence: 1, lease_until: nowMs + test.leaseMs };
  const id = await insertDelivery(trx, { ...delivery, created_at: nowMs }, lease);
  const row = await trx.selectFrom("deliveries").select(TAKEN).where("id", "=", id).executeTakeFirstOrThrow();
  return (await toClaims(trx, [row], nowMs, () => body.length))[0];
}
