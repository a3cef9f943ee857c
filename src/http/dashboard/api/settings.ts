/**
 * GET /settings (administrators) → Settings; PUT /tiers/:name → Tier; POST /accounts → AccountResource; PATCH /accounts/:id
 * (AccountChanges) → AccountResource.
 */
export interface Settings {
  /** Null: records are kept indefinitely. Set by the configuration of the service; read-only here. */
  readonly retentionMs: number | null;
  readonly maxPending: number;
  readonly tiers: readonly Tier[];
  readonly accounts: readonly UsedAccount[];
}

export interface Tier {
  readonly name: string;
  readonly requestsPerMinute: number;
  readonly concurrency: number;
}

export interface AccountResource {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly createdAt: string;
  /** Null: not suspended. */
  readonly suspendedAt: string | null;
}

/** An account with its current usage of shared resources. */
export interface UsedAccount extends AccountResource {
  readonly pending: number;
  readonly running: number;
  /** Requests of all its keys in the last minute. */
  readonly requests: number;
}

/** POST /accounts/:id/drop-pending (administrators) → Dropped; POST /accounts/:id/suspend and /resume → AccountResource. */
export interface Dropped {
  readonly dropped: number;
}

export interface NewAccount {
  readonly name: string;
  readonly tier: string;
}

export type AccountChanges = Partial<NewAccount>;
