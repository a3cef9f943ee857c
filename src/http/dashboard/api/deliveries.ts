/** POST /endpoints/:id/test → DeliveryResource, after its single attempt. */
/** GET /deliveries?endpoint=ID|submission=ID[&before=NEXT] → Deliveries, newest first. POST /deliveries/:id/replay → DeliveryResource. */
export interface Deliveries {
  readonly deliveries: readonly DeliveryResource[];
  readonly next: string | null;
}

export interface DeliveryResource {
  readonly id: string;
  readonly endpointId: string;
  /** The URL to which it is or was sent. */
  readonly url: string;
  readonly submissionId: string | null;
  readonly webhookId: string;
  readonly kind: "result" | "replay" | "test";
  readonly state: "pending" | "delivered" | "failed";
  readonly createdAt: string;
  readonly nextAt: string | null;
  readonly endedAt: string | null;
  /** Reason of a failure without an attempt. */
  readonly reason: string | null;
  readonly attempts: readonly {
    readonly number: number;
    readonly at: string;
    readonly latencyMs: number;
    readonly status: number | null;
    readonly error: string | null;
    /** The beginning of the response, without control characters. */
    readonly answer: string | null;
    /** The headers of the request; null if none was made, or by an earlier release. */
    readonly sentHeaders: Headers | null;
    /** The first headers of the response, without control characters. */
    readonly answerHeaders: Headers | null;
  }[];
}

export type Headers = readonly (readonly [name: string, value: string])[];

/** GET /deliveries/:id/body → SentBody: the beginning of the body, which is the same in every attempt. */
export interface SentBody {
  /** Null: the record was deleted. */
  readonly text: string | null;
  /** Whether the body is longer. */
  readonly isCut: boolean;
}
