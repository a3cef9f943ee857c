import type { AuditActor } from "../../domain/audit.ts";
import type { Attempt, Next } from "../../domain/delivery.ts";
import type { Submission } from "../../domain/submission.ts";
import type { Signing } from "../../domain/webhook.ts";
import type { Room } from "./delivery-share.ts";

/** The data of a claimed attempt, with a fence like that of a Lease. */
export interface DeliveryClaim {
  readonly id: string;
  /** Differs in every claim of the delivery. */
  readonly fence: number;
  /** The number of the attempt: 1 for the first. */
  readonly attempt: number;
  readonly kind: DeliveryKind;
  readonly messageId: string;
  /** The account of the endpoint. */
  readonly accountId: string;
  /** Upper bound of the body's size. */
  readonly bodyBytes: number;
  readonly endpoint: {
    readonly id: string;
    readonly url: string;
    /** Sealed; the current secret first, then former secrets that are still valid. */
    readonly secrets: readonly Buffer[];
    readonly signing: Signing;
  };
}

/** `replay`: the same message again, on request. */
export type DeliveryKind = "result" | "replay" | "test";

/** The message of a delivery: an ended submission, or the body of a test. */
export type Message = { readonly submission: Submission } | { readonly body: Buffer };

/** A delivery for lists and pages. */
export interface Delivery {
  readonly id: string;
  /** Increasing, with gaps. */
  readonly seq: number;
  readonly endpointId: string;
  readonly url: string;
  /** The account of the endpoint. */
  readonly accountId: string;
  /** Null for a test. */
  readonly submissionId: string | null;
  readonly messageId: string;
  readonly kind: DeliveryKind;
  readonly state: "pending" | "delivered" | "failed";
  readonly createdAtMs: number;
  /** Time of the next attempt; null for an ended delivery. */
  readonly nextAtMs: number | null;
  readonly endedAtMs: number | null;
  /** The reason for a failure without an attempt, otherwise null. */
  readonly reason: string | null;
  /** In order; the first is number 1. */
  readonly attempts: readonly Attempt[];
}

export type RecentDeliveries = Readonly<Record<Delivery["state"], number>>;

/** Kinds of messages that members can send to endpoints. */
export type SendKind = "tests" | "replays";

/** Counts the send requests of members over all processes. */
export interface SendStore {
  /**
   * Counts a request of the account, unless it had `limit` requests in the last minute.
   * @returns 0, or the seconds until the next request is allowed.
   */
  take(accountId: string, kind: SendKind, limit: number): Promise<number>;

  /** Removes requests that no longer count. To be called periodically. */
  forget(): Promise<void>;
}

/** Limits of replayed deliveries per account. */
export interface ReplayBounds {
  /** Pending at the same time, from the request to the last attempt. */
  readonly pending: number;
  readonly perMinute: number;
}

/**
 * The outbox. The transaction that ends a submission inserts a row for each active endpoint of its
 * project, so that a crash neither loses nor duplicates deliveries. Several processes can serve it.
 */
export interface DeliveryStore {
  /**
   * Claims due deliveries within the free capacity of the process, shared by account and then by endpoint; see
   * delivery-share.ts. After the loss of its holder, a delivery is due again when its lease has expired: a receiver may
   * see an attempt twice, but never none. Deliveries to removed or inactive endpoints end here.
   */
  claimDue(request: Room & { readonly leaseMs: number }): Promise<DeliveryClaim[]>;

  /** The message to send; undefined if it has been deleted. */
  message(claim: DeliveryClaim): Promise<Message | undefined>;

  /** @returns false, without changes, for a void claim. */
  recordAttempt(claim: DeliveryClaim, attempt: Attempt, next: Next): Promise<boolean>;

  /** Releases an attempt with an unknown result: it is due at once. @returns false for a void claim. */
  release(claim: DeliveryClaim): Promise<boolean>;

  /** @returns the first time after `afterMs` at which a delivery is due or a lease expires; null if none waits. */
  nextDueMs(afterMs: number): Promise<number | null>;

  /**
   * Newest first.
   * @param which.before only deliveries with a lower `seq`; `accountIds`: only endpoints of these accounts, null for all.
   */
  list(which: {
    readonly max: number;
    readonly before?: number | undefined;
    readonly accountIds?: readonly string[] | null | undefined;
    readonly endpointId?: string | undefined;
    readonly submissionId?: string | undefined;
    readonly id?: string | undefined;
  }): Promise<Delivery[]>;

  /** States of the newest deliveries by endpoint id; removed endpoints and endpoints without deliveries are absent. */
  recent(endpointIds: readonly string[]): Promise<ReadonlyMap<string, RecentDeliveries>>;

  /**
   * Adds a delivery of the same message, with an audit entry for `actor`.
   * @returns the id of the new delivery; undefined without such a delivery to an active endpoint; null at the bounds.
   */
  replay(id: string, actor: AuditActor, bounds?: ReplayBounds): Promise<string | undefined | null>;

  /**
   * Replays the results whose newest delivery to an active endpoint has failed, oldest first. A result with a pending
   * replay is skipped, so a repeated request replays only newly failed deliveries.
   * Uses several short transactions, so that other writers do not wait for a scan of all failed deliveries.
   * @param which.sinceMs only deliveries created at this time or later.
   * @param which.lookAt failed deliveries that one transaction reads; 5,000 by default.
   * @param which.onlyIdle does nothing while replays to the endpoint are pending.
   * @param which.bounds limits of the endpoint's account.
   * @returns the number of replays; there may be more after `max` or at a bound. Undefined while replays are pending, null
   * at a bound.
   */
  replayFailed(
    which: {
      readonly endpointId?: string | undefined;
      readonly sinceMs: number;
      readonly max: number;
      readonly onlyIdle?: boolean | undefined;
      readonly lookAt?: number;
      readonly bounds?: ReplayBounds | undefined;
    },
    actor: AuditActor,
  ): Promise<number | undefined | null>;

  /**
   * Adds a test message, claimed for the caller, with an audit entry; the endpoint need not be active.
   * @returns undefined without such an endpoint.
   */
  addTest(
    endpointId: string,
    test: { readonly messageId: string; readonly body: Buffer; readonly leaseMs: number },
    actor: AuditActor,
  ): Promise<DeliveryClaim | undefined>;
}
