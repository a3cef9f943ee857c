import type { AccountRef } from "./session.ts";

/** GET /keys[?account=ID][&project=ID][&state=live][&name=TEXT][&before=NEXT&limit=100] → Keys; `name`: part of the name or beginning of the key. */
export interface Keys {
  readonly keys: readonly KeyResource[];
  readonly next: string | null;
}

export interface KeyResource {
  readonly id: string;
  readonly name: string;
  readonly account: AccountRef;
  readonly project: { readonly id: string; readonly name: string } | null;
  /** First characters of the key. */
  readonly prefix: string;
  /** The key's own limit; null: the limit of the tier. */
  readonly requestsPerMinute: number | null;
  readonly concurrency: number | null;
  /** The effective limits: of the key, or of its tier. */
  readonly limits: { readonly requestsPerMinute: number; readonly concurrency: number };
  /** Current usage: requests in the last minute, pending and running submissions. */
  readonly usage: { readonly requests: number; readonly pending: number; readonly running: number };
  readonly profiles: readonly string[];
  readonly defaultProfile: string;
  readonly state: "live" | "expired" | "revoked";
  readonly createdAt: string;
  readonly revokedAt: string | null;
  readonly expiresAt: string | null;
  readonly replaces: string | null;
  readonly lastUsedAt: string | null;
  /** No client has this key: it counts runs of the playground. */
  readonly ofPlayground: boolean;
}

/** POST /keys → MadeKey. PATCH /keys/:id (KeyLimits) → KeyResource. POST /keys/:id/revoke → KeyResource. */
export interface NewKey extends Partial<KeyLimits> {
  readonly name: string;
  /** Either the project, or the account of a key without one, whose results are sent to no endpoint. */
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

/** POST /keys/:id/rotate → MadeKey: the old key stays valid for the overlap. */
export interface Rotation {
  readonly overlapMs: number;
}

/** The only response with the secret. */
export interface MadeKey {
  readonly key: KeyResource;
  readonly secret: string;
}
