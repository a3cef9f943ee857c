import type { AccountRef } from "./session.ts";

/** GET /endpoints[?account=ID][&project=ID][&before=NEXT&limit=100] → Endpoints. */
export interface Endpoints {
  readonly endpoints: readonly Endpoint[];
  readonly next: string | null;
}

/** GET /endpoints/:id → Endpoint; DELETE → 204. */
export interface Endpoint {
  readonly id: string;
  readonly url: string;
  readonly project: { readonly id: string; readonly name: string };
  readonly account: AccountRef;
  readonly signing: "standard" | "raw";
  readonly active: boolean;
  readonly createdAt: string;
  /** End of the first delivery that failed since the last success; null while deliveries succeed. */
  readonly failingSince: string | null;
  /** States of the newest deliveries. */
  readonly recent: { readonly delivered: number; readonly failed: number; readonly pending: number };
}

/**
 * POST /endpoints → MadeEndpoint. PATCH /endpoints/:id → Endpoint. POST /endpoints/:id/rotate-secret with a Rotation →
 * MadeEndpoint: for the overlap, deliveries are also signed with the old secret.
 */
export interface NewEndpoint {
  readonly projectId: string;
  readonly url: string;
  readonly signing?: "standard" | "raw";
}

export interface EndpointChanges {
  readonly active?: boolean;
  readonly signing?: "standard" | "raw";
}

export interface MadeEndpoint {
  readonly endpoint: Endpoint;
  readonly secret: string;
  /** A warning about the address; null: none. */
  readonly caution: string | null;
  /** When deliveries stop being signed with the replaced secret; null if none was replaced. */
  readonly formerEndsAt: string | null;
}

/** POST /endpoints/:id/replay-failed → Replayed: sends results again whose newest delivery to this endpoint failed. */
export interface Replays {
  /** Only deliveries created since then, and before `until`. */
  readonly since?: string;
  readonly until?: string;
}

export interface Replayed {
  readonly replayed: number;
  /** More may remain: repeat the request. */
  readonly more: boolean;
}

/** GET /endpoints/failing → Failing: active endpoints whose last delivery failed, those that fail longest first. */
export interface Failing {
  readonly endpoints: readonly Endpoint[];
  /** Whether there are more. */
  readonly more: boolean;
}
