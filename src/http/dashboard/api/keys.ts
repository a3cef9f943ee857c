import type { AccountRef } from "./session.ts";

/**
 * GET /keys[?account=ID][&project=ID][&state=live][&name=TEXT][&profile=NAME][&before=NEXT&limit=100] → Keys. `name` is a part of the name
 * of a key, or the first characters of the key itself; `profile` is a profile that the key allows.
 */
export interface Keys {
  readonly keys: readonly KeyResource[];
  readonly next: string | null;
}

export interface KeyResource {
  readonly id: string;
  readonly name: string;
  readonly account: AccountRef;
  readonly project: { readonly id: string; readonly name: string } | null;
  /** The first characters of the key. */
  readonly prefix: string;
  /** The key's own limits; null if the limit of the account's tier holds. */
  readonly requestsPerMinute: number | null;
  readonly concurrency: number | null;
  /** The limits in force: for each, that of the key if it has one, otherwise that of the tier. */
  readonly limits: { readonly requestsPerMinute: number; readonly concurrency: number };
  /** The requests of the key in the last minute, and its submissions that are now pending or running. */
  readonly usage: { readonly requests: number; readonly pending: number; readonly running: number };
  readonly profiles: readonly string[];
  readonly defaultProfile: string;
  readonly state: "live" | "expired" | "revoked";
  readonly createdAt: string;
  readonly revokedAt: string | null;
  readonly expiresAt: string | null;
  /** Id of the key that this one replaced when it was rotated; otherwise null. */
  readonly replaces: string | null;
  readonly lastUsedAt: string | null;
  /** Whether this is the account's key `playground`, which no client has. Runs from the dashboard are charged to it. */
  readonly ofPlayground: boolean;
}

/** POST /keys (NewKey) → MadeKey. PATCH /keys/:id (Partial<KeyLimits>) → KeyResource. POST /keys/:id/revoke → KeyResource. */
export interface NewKey extends Partial<KeyLimits> {
  readonly name: string;
  /** A request has either `projectId`, or `accountId` for a key without a project. The results of such a key are sent to no endpoint. */
  readonly projectId?: string;
  readonly accountId?: string;
}

/** Only administrators may exceed the limits of the tier. */
export interface KeyLimits {
  readonly requestsPerMinute: number | null;
  readonly concurrency: number | null;
  readonly profiles: readonly string[];
  readonly defaultProfile: string;
}

/** POST /keys/:id/rotate (Rotation) → MadeKey: makes a new key. The old key stays valid for `overlapMs`. */
export interface Rotation {
  readonly overlapMs: number;
}

/** The response about a new key. No other response contains the key itself (`secret`). */
export interface MadeKey {
  readonly key: KeyResource;
  readonly secret: string;
}
