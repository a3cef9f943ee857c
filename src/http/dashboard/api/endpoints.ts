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
  /** End of the first delivery that failed since the last success; null while deliveries succeed, and for an inactive endpoint. */
  readonly failingSince: string | null;
  /** How many of the newest 20 deliveries are in each state. */
  readonly recent: { readonly delivered: number; readonly failed: number; readonly pending: number };
}

/**
 * POST /endpoints → MadeEndpoint. PATCH /endpoints/:id (EndpointChanges) → Endpoint. POST /endpoints/:id/rotate-secret (Rotation) →
 * MadeEndpoint with a new secret. During the overlap, deliveries are signed with both secrets.
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
  /** A warning about the address; null if there is none. */
  readonly caution: string | null;
  /** When deliveries stop being signed with the replaced secret; null if no secret was replaced. */
  readonly formerEndsAt: string | null;
}

/** POST /endpoints/:id/replay-failed (Replays) → Replayed: sends the results again whose newest delivery to this endpoint failed. */
export interface Replays {
  /** If given, only deliveries that were created at this time or later are replayed. */
  readonly since?: string;
  /** If given, only deliveries that were created before this time are replayed. */
  readonly until?: string;
}

export interface Replayed {
  /** The number of results that are sent again. */
  readonly replayed: number;
  /** Whether there may be further results, which the same request would send again. */
  readonly more: boolean;
}

/** GET /endpoints/failing → Failing: active endpoints whose last delivery failed. Those that have failed for the longest time are first. */
export interface Failing {
  readonly endpoints: readonly Endpoint[];
  /** Whether there are more such endpoints than these. */
  readonly more: boolean;
}
