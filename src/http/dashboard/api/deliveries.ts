/**
 * GET /deliveries?endpoint=ID|submission=ID[&before=NEXT] → Deliveries, newest first. POST /deliveries/:id/replay → DeliveryResource:
 * the new delivery. POST /endpoints/:id/test → DeliveryResource: the test, after its only attempt.
 */
export interface Deliveries {
  readonly deliveries: readonly DeliveryResource[];
  readonly next: string | null;
}

export interface DeliveryResource {
  readonly id: string;
  readonly endpointId: string;
  /** The URL to which the delivery is or was sent. */
  readonly url: string;
  readonly submissionId: string | null;
  readonly webhookId: string;
  readonly kind: "result" | "replay" | "test";
  readonly state: "pending" | "delivered" | "failed";
  readonly createdAt: string;
  /** Time of the next attempt; null once the delivery has ended. */
  readonly nextAt: string | null;
  readonly endedAt: string | null;
  /** The reason, if the delivery failed without an attempt; otherwise null. */
  readonly reason: string | null;
  readonly attempts: readonly {
    readonly number: number;
    readonly at: string;
    readonly latencyMs: number;
    readonly status: number | null;
    readonly error: string | null;
    /** The beginning of the body of the response, without control characters. */
    readonly answer: string | null;
    /** The headers of the request. Null if no request was made, or if a release that did not store headers made it. */
    readonly sentHeaders: Headers | null;
    /** The first headers of the response, without control characters. */
    readonly answerHeaders: Headers | null;
  }[];
}

export type Headers = readonly (readonly [name: string, value: string])[];

/** GET /deliveries/:id/body → SentBody: the beginning of the request's body, which is the same in every attempt. */
export interface SentBody {
  /** Null if the record from which the body is made has been deleted. */
  readonly text: string | null;
  /** Whether the body is longer than `text`. */
  readonly isCut: boolean;
}
