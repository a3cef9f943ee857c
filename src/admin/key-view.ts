import type { ApiKey } from "../store/access/types.ts";

/** A key for commands and the dashboard, without the secret text of the key and its hash. */
export interface KeyView {
  readonly id: string;
  readonly name: string;
  readonly account: string;
  readonly project: string | null;
  readonly projectId: string | null;
  readonly prefix: string;
  /** Null, like a null `concurrency`: the value of the tier holds. */
  readonly requestsPerMinute: number | null;
  readonly concurrency: number | null;
  readonly profiles: readonly string[];
  readonly defaultProfile: string;
  /** `live`, `expired` (a rotated key after its overlap) or `revoked`. */
  readonly state: "live" | "expired" | "revoked";
  readonly createdAt: string;
  readonly revokedAt: string | null;
  /** When a rotated key stops working; null for a key that was not rotated. */
  readonly expiresAt: string | null;
  /** Id of the key that this one replaced in a rotation; null if it replaced none. */
  readonly replaces: string | null;
  readonly lastUsedAt: string | null;
}

export function keyView(key: ApiKey): KeyView {
  return {
    id: key.id,
    name: key.name,
    account: key.accountName,
    project: key.projectName,
    projectId: key.projectId,
    prefix: key.prefix,
    requestsPerMinute: key.requestsPerMinute,
    concurrency: key.concurrency,
    profiles: key.profiles,
    defaultProfile: key.defaultProfile,
    state: key.isLive ? "live" : key.revokedAtMs === null ? "expired" : "revoked",
    createdAt: new Date(key.createdAtMs).toISOString(),
    revokedAt: iso(key.revokedAtMs),
    expiresAt: iso(key.expiresAtMs),
    replaces: key.replaces,
    lastUsedAt: iso(key.lastUsedAtMs),
  };
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
