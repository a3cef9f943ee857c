import type { Check } from "./readiness.ts";

/** The state of a service or worker: the source of the operator's `/status` and of the gauges. */
export interface ServiceStatus {
  readonly version: string;
  readonly engine: {
    readonly ready: boolean;
    /** When this process last saw `ready`; null if never. */
    readonly readyAtMs: number | null;
    /** The checks that failed. */
    readonly failures: readonly Check[];
    /** Submissions that can run at the same time now. */
    readonly workers: number;
    readonly languages: readonly string[];
  };
  /** Slots of this process; null if it runs no submissions. */
  readonly slots: SlotCounts | null;
  /** Null if the database failed or did not respond in time. */
  readonly database: { readonly latencyMs: number; readonly backlog: Backlog } | null;
  /** The file system of the data directory; null if it cannot be read. */
  readonly disk: { readonly freeBytes: number; readonly sizeBytes: number } | null;
  /** When the certificate in the certificate file expires; null if there is no readable certificate. */
  readonly certificateEndsAtMs: number | null;
}

export interface SlotCounts {
  readonly wanted: number;
  readonly alive: number;
  readonly busy: number;
  /** Language runtimes that wait in slots for a submission, and the memory that they may take together. */
  readonly runtimes?: { readonly waiting: number; readonly bytes: number; readonly budgetBytes: number };
}

/** Waiting and running work in the whole database. */
export interface Backlog {
  readonly pending: number;
  /** How long the oldest submission that has never started has been pending, ignoring suspended accounts; 0 if there is none. */
  readonly oldestPendingMs: number;
  /** Pending submissions that wait for the concurrency of their own key or for the end of a suspension. */
  readonly held: number;
  /** The share of the pending submissions that the account with the most of them has, from 0 to 1; 0 if nothing is pending. */
  readonly largestShare: number;
  /** Running submissions by language. */
  readonly running: Readonly<Record<string, number>>;
  /** Webhook deliveries that are not finished. */
  readonly deliveries: number;
  /** How long the oldest due delivery has been due; 0 if none is due. */
  readonly oldestDueMs: number;
}

/** One account's use of shared resources. */
export interface AccountShare {
  readonly id: string;
  readonly name: string;
  readonly pending: number;
  readonly running: number;
  /** Requests of all keys of the account in the last minute, as they count for the rate limit. */
  readonly requests: number;
}

export interface Shares {
  /** The accounts with the highest use. Those with the most pending submissions are first. */
  readonly accounts: readonly AccountShare[];
  /** The number of all accounts that use anything. */
  readonly amount: number;
}

/** Submissions that ended recently in the whole database. */
export interface Recent {
  readonly withinMs: number;
  readonly verdicts: Readonly<Record<string, number>>;
}

/** The snapshots in the directory of a process. `heldBytes` has those that the process is writing as well. */
export interface SnapshotCounts {
  readonly amount: number;
  readonly heldBytes: number;
  readonly mostBytes: number;
}

/** The sandboxes of a process that have not ended, and what they hold of what it may have. */
export interface SandboxCounts {
  readonly held: {
    readonly sandboxes: number;
    readonly memoryBytes: number;
    readonly diskBytes: number;
    readonly connections: number;
  };
  readonly most: { readonly sandboxes: number; readonly memoryBytes: number; readonly diskBytes: number };
  /** The open connections of all sandboxes to the network; null if none of them can have a network. */
  readonly egress: { readonly open: number } | null;
}
