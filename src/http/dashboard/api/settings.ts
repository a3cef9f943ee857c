/**
 * GET /settings → Settings. PUT /tiers/:name (Tier without `name`) → Tier. POST /accounts (NewAccount) → AccountResource.
 * PATCH /accounts/:id (AccountChanges) → AccountResource. These routes, and those of Dropped, are only for administrators.
 */
export interface Settings {
  /** How long records are kept, by the configuration of the service; null if they are kept indefinitely. */
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
  /** Null if the account is not suspended. */
  readonly suspendedAt: string | null;
}

/** An account with its current usage of shared resources. */
export interface UsedAccount extends AccountResource {
  readonly pending: number;
  readonly running: number;
  /** Requests of all keys of the account in the last minute. */
  readonly requests: number;
}

/**
 * POST /accounts/:id/drop-pending → Dropped: ends the account's pending submissions before they run. POST /accounts/:id/suspend and
 * POST /accounts/:id/resume → AccountResource.
 */
export interface Dropped {
  /** The number of submissions that were ended. */
  readonly dropped: number;
}

export interface NewAccount {
  readonly name: string;
  readonly tier: string;
}

export type AccountChanges = Partial<NewAccount>;
