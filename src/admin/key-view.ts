import type { ApiKey } from "../store/access/types.ts";

/** A key for operators, without the key itself and its hash. */
export interface KeyView {
  readonly id: string;
  readonly name: string;
  readonly account: string;
  readonly project: string | null;
  readonly projectId: string | null;
  readonly prefix: string;
  /** Null: the tier's value. */
  readonly requestsPerMinute: number | null;
  readonly concurrency: number | null;
  readonly profiles: readonly string[];
  readonly defaultProfile: string;
  /** `live`, `expired` (a rotated key after its overlap) or `revoked`. */
  readonly state: "live" | "expired" | "revoked";
  readonly createdAt: string;
  readonly revokedAt: string | null;
  /** End of a rotated key. */
  readonly expiresAt: string | null;
  /** Id of the key that this one replaced. */
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
