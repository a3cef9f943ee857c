import { sql, type Transaction } from "kysely";
import type { Attempt, Next } from "../../domain/delivery.ts";
import type { Engine } from "../engine/engine.ts";
import type { Transactions } from "../engine/transactions.ts";
import type { Schema } from "../schema/schema.ts";
import { readEnded } from "../submissions/read.ts";
import { bringNear, claimDue } from "./claim-deliveries.ts";
import { listDeliveries, recentDeliveries } from "./delivery-log.ts";
import type { DeliveryClaim, DeliveryStore } from "./port.ts";
import {
  addTest,
  endpointsToReplay,
  MAX_LOOKED_AT,
  type ReplayPlace,
  type ReplayStep,
  replay,
  replayFailed,
} from "./replay.ts";

/** The outbox and its log. @param now milliseconds since the epoch. */
export function deliveryStore(
  { db, capabilities: abilities }: Engine,
  transactions: Transactions,
  now: () => number,
): DeliveryStore {
  let lastMs = Number.POSITIVE_INFINITY;
  return {
    async claimDue({ leaseMs, ...limits }) {
      const nowMs = now();
      const request = { ...limits, nowMs, leaseUntilMs: nowMs + leaseMs };
      // Also true at the first claim, because earlier clock changes are unknown.
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

    replay(id, actor, bounds) {
      return transactions.run((trx) => replay(trx, abilities, id, bounds ?? null, { actor, atMs: now() }), {
        words: (replayed) => (replayed ? [{ kind: "deliveries" }] : []),
      });
    },

    async replayFailed({ endpointId: only, sinceMs, max, onlyIdle = false, lookAt = MAX_LOOKED_AT, bounds }, actor) {
      let total = 0;
      for (const endpointId of await endpointsToReplay(db, only)) {
        const before = total;
        let afterSeq: number | null = 0;
        while (afterSeq !== null && total < max) {
          const place: ReplayPlace = { endpointId, afterSeq, lookAt };
          const which = { sinceMs, max: max - total, onlyIdle: onlyIdle && total === before, bounds: bounds ?? null };
          const step: ReplayStep | undefined | null = await transactions.run(
            (trx) => replayFailed(trx, abilities, place, which, { actor, atMs: now() }),
            { words: (done) => (done?.replayed ? [{ kind: "deliveries" }] : []) },
          );
          if (step === null && total > 0) return total;
          if (!step) return step;
          total += step.replayed;
          afterSeq = step.next;
        }
      }
      return total;
    },

    addTest(endpointId, test, actor) {
      return transactions.run((trx) => addTest(trx, endpointId, test, { actor, atMs: now() }));
    },
  };
}

/** An update that only affects a delivery with a valid claim. */
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
