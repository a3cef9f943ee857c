import type { Attempt } from "../../domain/delivery.ts";
import type { Judge0Submission } from "../../domain/judge0/submission.ts";
import type { Judgement } from "../../domain/judgement.ts";
import type { Submission } from "../../domain/submission.ts";
import type { Signing } from "../../domain/webhook.ts";

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
  /** The URL of a callback, which is a PUT to it instead of a POST to the endpoint; otherwise null. */
  readonly callbackUrl: string | null;
}

/** `replay`: the same message again, on request. */
export type DeliveryKind = "result" | "replay" | "test";

/** The message of a delivery: an ended submission or judgement, a callback, or the body of a test. */
export type Message =
  | { readonly judge0: Judge0Submission }
  | { readonly submission: Submission }
  | { readonly judgement: Judgement }
  | { readonly body: Buffer };

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
  /** The attempts in order; the first is number 1. */
  readonly attempts: readonly Attempt[];
}

export type RecentDeliveries = Readonly<Record<Delivery["state"], number>>;

/** Kinds of messages that members can send to endpoints. */
export type SendKind = "tests" | "replays";

/** Limits of replayed deliveries per account. */
export interface ReplayBounds {
  /** Pending at the same time, from the request to the last attempt. */
  readonly pending: number;
  readonly perMinute: number;
}

/** A receiver of a project's results. */
export interface Endpoint {
  readonly id: string;
  readonly projectId: string;
  readonly url: string;
  /** Sealed; the store does not receive the plain secret. */
  readonly secret: Buffer;
  readonly signing: Signing;
  readonly active: boolean;
  readonly createdAtMs: number;
  /** End of the first delivery that failed since the last success; null while deliveries succeed. */
  readonly failingSinceMs: number | null;
}

/** Seals a secret before it is stored. Called in the transaction, with the lock of the secrets, possibly more than once. */
export type Seal = () => Buffer;

/** A sealed current or former secret of an endpoint that was not removed. */
export interface SealedSecret {
  readonly table: "endpoints" | "former_secrets";
  /** Id of the row. */
  readonly id: string;
  readonly endpointId: string;
  readonly sealed: Buffer;
}

/** The position before a part of the secrets. */
export type SecretCursor = Pick<SealedSecret, "table" | "id">;
