import type { Check } from "./readiness.ts";

/** How a service or a worker stands at one moment: what the operator's `/status` tells, and what gauges are made of. */
export interface Status {
  readonly version: string;
  readonly engine: {
    readonly ready: boolean;
    /** When it was seen ready last; null: never yet. */
    readonly readyAtMs: number | null;
    /** What keeps it from being ready. */
    readonly failures: readonly Check[];
    /** Submissions that can be run at once now. */
    readonly workers: number;
    readonly languages: readonly string[];
  };
  /** Those of this process; null when it runs nothing itself. */
  readonly slots: SlotCounts | null;
  /** Null when it did not answer in time. */
  readonly database: { readonly latencyMs: number; readonly backlog: Backlog } | null;
  /** Of the file system of the data directory; null when that cannot be looked at. */
  readonly disk: { readonly freeBytes: number; readonly sizeBytes: number } | null;
  /** When the certificate in the file ends; null: there is none, or it cannot be read. */
  readonly certificateEndsAtMs: number | null;
}

export interface SlotCounts {
  readonly wanted: number;
  readonly alive: number;
  readonly busy: number;
}

/** What waits and what runs, in the whole database. */
export interface Backlog {
  readonly pending: number;
  /** Without those of suspended accounts. 0: nothing is pending. */
  readonly oldestPendingMs: number;
  /** Of the pending: those that wait for the concurrency of their own key, or for the end of a suspension. */
  readonly held: number;
  /** Of the pending, the part of the account that has the most: 0 to 1. 0: nothing is pending. */
  readonly largestShare: number;
  readonly running: Readonly<Record<string, number>>;
  readonly deliveries: number;
  /** How long the first delivery has been due; 0: none is. */
  readonly oldestDueMs: number;
}

/** What one account uses of what all accounts share. */
export interface AccountShare {
  readonly id: string;
  readonly name: string;
  readonly pending: number;
  readonly running: number;
  /** Of all its keys in the last minute, as the quota counts them. */
  readonly requests: number;
}

export interface Shares {
  /** Those that use the most, the most pending first. */
  readonly accounts: readonly AccountShare[];
  /** How many accounts use anything. */
  readonly amount: number;
}

/** What has ended lately, in the whole database. */
export interface Recent {
  readonly withinMs: number;
  readonly verdicts: Readonly<Record<string, number>>;
}
