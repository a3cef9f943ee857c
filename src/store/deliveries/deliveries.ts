import { sql, type Transaction } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import type { Attempt, Headers, Next } from "../../domain/delivery.ts";
import type { AccountReads } from "../database/account-reads.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { readForeign } from "../foreign/foreign-submissions.ts";
import { readJudgementOf } from "../judgements/judgements.ts";
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
import type { Delivery, DeliveryClaim, DeliveryMessage, RecentDeliveries, ReplayBounds } from "./types.ts";
import { insertUncountedDeliveries } from "./uncounted.ts";

/**
 * The outbox of webhook deliveries. The transaction that ends a judgement, or a submission that is not a run of one, adds a
 * delivery for each active endpoint of its project, and a callback if the client of another service's API asked for it. A crash therefore neither
 * loses nor duplicates deliveries. Several processes can send the deliveries of one outbox.
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
     * Claims due deliveries, within the free capacity of the process. Accounts take turns, and so do the endpoints of an account; see
     * choose-deliveries.ts. If the process that claimed a delivery dies, the delivery is due again when its lease expires. A receiver
     * may therefore get a message twice. Deliveries to removed endpoints, and all but tests to inactive endpoints, fail here, as do
     * deliveries that were claimed too often (`MAX_CLAIMS`).
     */
    async claimDue({ leaseMs, ...limits }: DeliveryBudget & { readonly leaseMs: number }): Promise<DeliveryClaim[]> {
      const nowMs = now();
      const request = { ...limits, nowMs, leaseUntilMs: nowMs + leaseMs };
      // `setBack` is also true at the first claim, because this process does not know whether the clock was set back before.
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

    /** The message of a claimed delivery; undefined if the delivery, or the submission or judgement that it reports, was deleted. */
    async message({ id }: Pick<DeliveryClaim, "id">): Promise<DeliveryMessage | undefined> {
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
      const foreign = await readForeign(db, submission);
      return foreign && { foreign };
    },

    /**
     * Stores an attempt, and the state of its delivery after it.
     * @returns false, without changes, if the claim is no longer valid.
     */
    recordAttempt(claim: DeliveryClaim, attempt: Attempt, next: Next): Promise<boolean> {
      return transactions.run((trx) => recordAttempt(trx, claim, attempt, next, now()));
    },

    /**
     * Gives up a claim whose attempt was interrupted: the delivery is due again at once.
     * @returns false, without changes, if the claim is no longer valid.
     */
    async release(claim: DeliveryClaim): Promise<boolean> {
      const result = await transactions.run((trx) => claimed(trx, claim).set({ lease_until: null }).executeTakeFirst());
      return result.numUpdatedRows > 0n;
    },

    /** @returns the first time after `afterMs` at which a delivery becomes due or a lease expires; null if there is none. */
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
     * Deliveries with their attempts, newest first. Each part of `which` that is set restricts the list.
     * @param which.before only deliveries with a lower `seq`.
     * @param which.accountIds only deliveries to endpoints of these accounts; null for all accounts. If it is absent, the service asks
     * for itself, and the read takes no turn (account-reads.ts).
     * @param which.id id of the only delivery to list.
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

    /**
     * For each endpoint id, how many of its newest 20 deliveries are in each state. Removed endpoints and endpoints without
     * deliveries are absent.
     */
    recent: (endpointIds: readonly string[]): Promise<ReadonlyMap<string, RecentDeliveries>> =>
      recentDeliveries(db, endpointIds),

    /**
     * Adds a delivery that sends the message of the delivery `id` again, with an audit entry for `actor`.
     * @returns the id of the new delivery; undefined if there is no delivery `id` or its endpoint is removed or inactive; null if
     * the account has reached `bounds`.
     */
    replay(id: string, actor: AuditActor, bounds?: ReplayBounds): Promise<string | undefined | null> {
      return transactions.run((trx) => replay(trx, abilities, id, bounds ?? null, { actor, atMs: now() }), {
        notifications: (replayed) => (replayed ? [{ kind: "deliveries" }] : []),
      });
    },

    /**
     * Replays, for each active endpoint, the results whose newest delivery to it has failed, oldest first. A result with a pending
     * replay is skipped, so a repeated request replays only newly failed deliveries. Several short transactions do this, so that
     * other writers do not wait until all failed deliveries have been read.
     * @param which.endpointId only results for this endpoint; all endpoints if undefined.
     * @param which.sinceMs only failed deliveries that were created at this time or later.
     * @param which.untilMs only failed deliveries that were created before this time.
     * @param which.max the most replays to add.
     * @param which.maxRows how many failed deliveries one transaction reads; 5,000 by default.
     * @param which.onlyIdle if true, nothing is replayed while earlier replays to the endpoint are pending.
     * @param which.bounds limits of replays for the account of an endpoint; unlimited if undefined.
     * @returns the number of replays. If it is `max`, or a bound was reached, further failed results may be left. Null if a bound was
     * reached before the first replay; undefined if `onlyIdle` is true and earlier replays are pending.
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
          if (!step) return total > 0 ? total : step;
          total += step.replayed;
          afterSeq = step.next;
        }
      }
      return total;
    },

    /**
     * Adds a delivery of a test message, with an audit entry, and claims it for the caller. The endpoint need not be active.
     * @returns undefined if the endpoint does not exist or was removed.
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

/** An update of the claimed delivery. It affects no row if the delivery has ended or was claimed again. */
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

/**
 * Stores since when an endpoint has been failing. The row is written only when the endpoint starts to fail, or works again.
 * @param failedMs when a delivery failed; null if it succeeded.
 */
async function noteHealth(trx: Transaction<Schema>, endpointId: string, failedMs: number | null): Promise<void> {
  await trx
    .updateTable("endpoints")
    .set({ failing_since: failedMs })
    .where("id", "=", endpointId)
    .where("failing_since", failedMs === null ? "is not" : "is", null)
    .execute();
}
