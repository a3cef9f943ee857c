import type { Attempt } from "../../domain/delivery.ts";
import type { ForeignSubmission } from "../../domain/foreign-api.ts";
import type { Judgement } from "../../domain/judgement.ts";
import type { Submission } from "../../domain/submission.ts";
import type { Signing } from "../../domain/webhook.ts";

/** The right to make the next attempt of a delivery, and the data that the attempt needs. */
export interface DeliveryClaim {
  readonly id: string;
  /** Increases with every claim of the delivery: only the newest claim is valid. */
  readonly fence: number;
  /** The number of the attempt: 1 for the first. */
  readonly attempt: number;
  readonly kind: DeliveryKind;
  readonly messageId: string;
  /** The account of the endpoint. */
  readonly accountId: string;
  /** Upper bound of the size of the request's body. */
  readonly bodyBytes: number;
  readonly endpoint: {
    readonly id: string;
    readonly url: string;
    /** The sealed secrets that sign the message: the current one first, then former ones that are still valid. */
    readonly secrets: readonly Buffer[];
    readonly signing: Signing;
  };
  /** For a callback, the URL that gets a PUT instead of the POST to the endpoint; null for other deliveries. */
  readonly callbackUrl: string | null;
}

/** `result`: the end of a submission or judgement. `replay`: the message of an earlier delivery, again. `test`: a test message. */
export type DeliveryKind = "result" | "replay" | "test";

/** The message of a delivery: an ended submission or judgement, the submission of a callback, or the body of a test. */
export type DeliveryMessage =
  | { readonly foreign: ForeignSubmission }
  | { readonly submission: Submission }
  | { readonly judgement: Judgement }
  | { readonly body: Buffer };

/** A delivery for lists and pages. */
export interface Delivery {
  readonly id: string;
  /** A newer delivery has a higher number; numbers can be missing in between. */
  readonly seq: number;
  readonly endpointId: string;
  /** The URL of the endpoint, or that of the callback. */
  readonly url: string;
  /** The account of the endpoint. */
  readonly accountId: string;
  /** Null for the result of a judgement, and for a test. */
  readonly submissionId: string | null;
  readonly messageId: string;
  readonly kind: DeliveryKind;
  readonly state: "pending" | "delivered" | "failed";
  readonly createdAtMs: number;
  /** Time of the next attempt; null for an ended delivery. */
  readonly nextAtMs: number | null;
  readonly endedAtMs: number | null;
  /** Why the delivery failed, if it was ended without a further attempt, as after the removal of its endpoint; otherwise null. */
  readonly reason: string | null;
  /** The attempts in order; the first is number 1. */
  readonly attempts: readonly Attempt[];
}

/** How many of the newest deliveries of an endpoint are in each state. */
export type RecentDeliveries = Readonly<Record<Delivery["state"], number>>;

/** Requests of members that make the service send to an endpoint: a test message, or replays. */
export type SendKind = "tests" | "replays";

/** Limits of the replays of an account. */
export interface ReplayBounds {
  /** The most that are pending at the same time: a replay is pending from its request to its last attempt. */
  readonly pending: number;
  /** The most that are added in a minute. */
  readonly perMinute: number;
}

/** A webhook endpoint: it receives the results of a project. */
export interface Endpoint {
  readonly id: string;
  readonly projectId: string;
  readonly url: string;
  /** The sealed secret: it is encrypted with a key that the store does not have (src/webhooks/). */
  readonly secret: Buffer;
  readonly signing: Signing;
  readonly active: boolean;
  readonly createdAtMs: number;
  /**
   * When the first delivery failed since the last success; null if none has failed since. Deliveries that were ended without an attempt,
   * for example because the endpoint was inactive, do not count.
   */
  readonly failingSinceMs: number | null;
}

/**
 * Returns the sealed secret to store. The store calls it in a transaction that holds SECRETS_LOCK, and again if the transaction is
 * repeated.
 */
export type Seal = () => Buffer;

/** The sealed current secret, or a sealed former one, of an endpoint that was not removed. */
export interface SealedSecret {
  readonly table: "endpoints" | "former_secrets";
  /** Id of the row. */
  readonly id: string;
  readonly endpointId: string;
  readonly sealed: Buffer;
}

/** The last secret of a part: the next part begins after it. */
export type SecretCursor = Pick<SealedSecret, "table" | "id">;
