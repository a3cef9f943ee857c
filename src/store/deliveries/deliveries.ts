import { sql, type Transaction } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import type { Attempt, Headers, Next } from "../../domain/delivery.ts";
import type { AccountReads } from "../database/account-reads.ts";
import type { Database } from "../database/database.ts";
import type { Transactions } from "../database/transactions.ts";
import { readJudge0 } from "../judge0/judge0.ts";
import { readJudgementOf } from "../judgements/judgements.ts";
import type { Schema } from "../schema/schema.ts";
import { readEnded } from "../submissions/read.ts";
import type { DeliveryBudget } from "./choose-deliveries.ts";
import { claimDue, correctAfterClockChange } from "./claim-deliveries.ts";
import { listDeliveries, recentDeliveries } from "./delivery-log.ts";
import {
  addTest,
  endpointsToReplay,
  MAX_ROWS,
  type ReplayCursor,
  type ReplayStep,
  replay,
  replayFailed,
} from "./replay.ts";
import type { Delivery, DeliveryClaim, Message, RecentDeliveries, ReplayBounds } from "./types.ts";
import { insertUncountedDeliveries } from "./uncounted.ts";

/**
 * The outbox. The transaction that ends a submission inserts a row for each active endpoint of its
 * project, so that a crash neither loses nor duplicates deliveries. Several processes can serve it.
 */
export type DeliveryStore = ReturnType<typeof deliveryStore>;

/** The outbox and its log. @param now milliseconds since the epoch. */
export function deliveryStore(
  { db, abilities }: Database,
  transactions: Transactions,
  reads: AccountReads,
  now: () => number,
) {
  let lastMs = Number.POSITIVE_INFINITY;
  return {
    /**
     * Claims due deliveries within the free capacity of the process, shared by account and then by endpoint; see
     * choose-deliveries.ts. After the loss of its holder, a delivery is due again when its lease has expired: a receiver may
     * see an attempt twice, but never none. Deliveries to removed or inactive endpoints end here.
     */
    async claimDue({ leaseMs, ...limits }: DeliveryBudget & { readonly leaseMs: number }): Promise<DeliveryClaim[]> {
      const nowMs = now();
      const request = { ...limits, nowMs, leaseUntilMs: nowMs + leaseMs };
      // Also true at the first claim, because earlier clock changes are unknown.
      const setBack = nowMs < lastMs - 1_000;
      const { claims } = await transactions.run(
        async (trx) => {
          if (setBack) await correctAfterClockChange(trx, request);
          return await claimDue(trx, abilities, request);
        },
        { notifications: ({ more }) => (more ? [{ kind: "deliveries" }] : []) },
      );
      lastMs = nowMs;
      return claims;
    },

    /** The message to send; undefined if it has been deleted. */
    async message({ id }: Pick<DeliveryClaim, "id">): Promise<Message | undefined> {
      const row = await db
        .selectFrom("deliveries")
        .select(["submission_seq", "judgement_seq", "body", "callback"])
        .where("id", "=", id)
        .executeTakeFirst();
      if (row?.body) return { body: row.body };
      if (row?.judgement_seq) {
        const judgement = await readJudgementOf(db, row.judgement_seq);
        return judgement && { judgement };
      }
      const submission = row?.submission_seq ? await readEnded(db, row.submission_seq) : undefined;
      if (!submission || row?.callback !== 1) return submission && { submission };
      const judge0 = await readJudge0(db, submission);
      return judge0 && { judge0 };
    },

    /** @returns false, without changes, for a void claim. */
    recordAttempt(claim: DeliveryClaim, attempt: Attempt, next: Next): Promise<boolean> {
      return transactions.run((trx) => recordAttempt(trx, claim, attempt, next, now()));
    },

    /** Releases an attempt with an unknown result: it is due at once. @returns false for a void claim. */
    async release(claim: DeliveryClaim): Promise<boolean> {
      const result = await transactions.run((trx) => claimed(trx, claim).set({ lease_until: null }).executeTakeFirst());
      return result.numUpdatedRows > 0n;
    },

    /** @returns the first time after `afterMs` at which a delivery is due or a lease expires; null if none waits. */
    async nextDueMs(afterMs: number): Promise<number | null> {
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

    /**
     * Newest first.
     * @param which.before only deliveries with a lower `seq`; `accountIds`: only endpoints of these accounts, null for all. A search
     * without accounts is one of the service itself, and takes no turn.
     */
    list(which: {
      readonly max: number;
      readonly before?: number | undefined;
      readonly accountIds?: readonly string[] | null | undefined;
      readonly endpointId?: string | undefined;
      readonly submissionId?: string | undefined;
      readonly id?: string | undefined;
    }): Promise<Delivery[]> {
      const { accountIds } = which;
      return accountIds === undefined
        ? listDeliveries(db, which)
        : reads.run(accountIds, () => listDeliveries(db, which));
    },

    /** States of the newest deliveries by endpoint id; removed endpoints and endpoints without deliveries are absent. */
    recent: (endpointIds: readonly string[]): Promise<ReadonlyMap<string, RecentDeliveries>> =>
      recentDeliveries(db, endpointIds),

    /**
     * Adds a delivery of the same message, with an audit entry for `actor`.
     * @returns the id of the new delivery; undefined without such a delivery to an active endpoint; null at the bounds.
     */
    replay(id: string, actor: AuditActor, bounds?: ReplayBounds): Promise<string | undefined | null> {
      return transactions.run((trx) => replay(trx, abilities, id, bounds ?? null, { actor, atMs: now() }), {
        notifications: (replayed) => (replayed ? [{ kind: "deliveries" }] : []),
      });
    },

    /**
     * Replays the results whose newest delivery to an active endpoint has failed, oldest first. A result with a pending
     * replay is skipped, so a repeated request replays only newly failed deliveries.
     * Uses several short transactions, so that other writers do not wait for a scan of all failed deliveries.
     * @param which.sinceMs only deliveries created at this time or later; `untilMs`: before this time.
     * @param which.maxRows failed deliveries that one transaction reads; 5,000 by default.
     * @param which.onlyIdle does nothing while replays to the endpoint are pending.
     * @param which.bounds limits of the endpoint's account.
     * @returns the number of replays; there may be more after `max` or at a bound. Undefined while replays are pending, null
     * at a bound.
     */
    async replayFailed(
      {
        endpointId: only,
        sinceMs,
        untilMs = Number.MAX_SAFE_INTEGER,
        max,
        onlyIdle = false,
        maxRows = MAX_ROWS,
        bounds,
      }: {
        readonly endpointId?: string | undefined;
        readonly sinceMs: number;
        readonly untilMs?: number | undefined;
        readonly max: number;
        readonly onlyIdle?: boolean | undefined;
        readonly maxRows?: number;
        readonly bounds?: ReplayBounds | undefined;
      },
      actor: AuditActor,
    ): Promise<number | undefined | null> {
      let total = 0;
      for (const endpointId of await endpointsToReplay(db, only)) {
        const before = total;
        let afterSeq: number | null = 0;
        while (afterSeq !== null && total < max) {
          const place: ReplayCursor = { endpointId, afterSeq, maxRows };
          const which = {
            sinceMs,
            untilMs,
            max: max - total,
            onlyIdle: onlyIdle && total === before,
            bounds: bounds ?? null,
          };
          const step: ReplayStep | undefined | null = await transactions.run(
            (trx) => replayFailed(trx, abilities, place, which, { actor, atMs: now() }),
            { notifications: (done) => (done?.replayed ? [{ kind: "deliveries" }] : []) },
          );
          if (step === null && total > 0) return total;
          if (!step) return step;
          total += step.replayed;
          afterSeq = step.next;
        }
      }
      return total;
    },

    /**
     * Adds a test message, claimed for the caller, with an audit entry; the endpoint need not be active.
     * @returns undefined without such an endpoint.
     */
    addTest(
      endpointId: string,
      test: { readonly messageId: string; readonly body: Buffer; readonly leaseMs: number },
      actor: AuditActor,
    ): Promise<DeliveryClaim | undefined> {
      return transactions.run((trx) => addTest(trx, endpointId, test, { actor, atMs: now() }));
    },
  };
}

/** An update that only affects a delivery with a valid claim. */
function claimed(trx: Transaction<Schema>, claim: DeliveryClaim) {
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
  const willRepeat = next.state === "pending";
  const row = await claimed(trx, claim)
    .set({
      state: next.state,
      attempts: claim.attempt,
      lease_until: null,
      next_at: willRepeat ? next.atMs : null,
      ended_at: willRepeat ? null : nowMs,
    })
    .returning(["seq", "endpoint_id"])
    .executeTakeFirst();
  if (!row) return false;
  if (!willRepeat) await insertUncountedDeliveries(trx, [row], next.state, nowMs);
  if (!willRepeat) await noteHealth(trx, row.endpoint_id, next.state === "delivered" ? null : nowMs);
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
      sent_headers: jsonOf(attempt.sentHeaders),
      answer_headers: jsonOf(attempt.answerHeaders),
    })
    .execute();
  return true;
}

function jsonOf(headers: Headers | null | undefined): string | null {
  return headers ? JSON.stringify(headers) : null;
}

/** Writes only when the endpoint begins to fail or to work. @param failedMs null after a success. */
async function noteHealth(trx: Transaction<Schema>, endpointId: string, failedMs: number | null): Promise<void> {
  await trx
    .updateTable("endpoints")
    .set({ failing_since: failedMs })
    .where("id", "=", endpointId)
    .where("failing_since", failedMs === null ? "is not" : "is", null)
    .execute();
}
