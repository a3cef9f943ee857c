/** The possible lengths of a chart that ends now. */
export const WINDOWS = ["15m", "1h", "24h", "7d", "30d"] as const;
export type Window = (typeof WINDOWS)[number];

/** By what a chart groups the runs that ended. */
export const GROUPINGS = ["verdict", "language", "key", "project"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/**
 * GET /overview?window=1h[&by=key][&account=ID] → Overview. Instead of `window`, the query can have `from` and `to`, in milliseconds
 * since the epoch. Without `account`, the overview is about all accounts that the person may see.
 */
export interface Overview {
  readonly now: Now;
  readonly history: History;
}

/** GET /overview/now[?account=ID] → Now. It is cheap enough for polling every few seconds. */
export interface Now {
  readonly at: string;
  readonly pending: number;
  /** The longest wait of a pending submission that has never started; suspended accounts do not count. 0 if there is none. */
  readonly oldestPendingMs: number;
  readonly running: number;
  /** Submissions that all workers together can run at once. */
  readonly slots: number;
  readonly deliveriesDue: number;
  /** Whether a worker offers a language now. */
  readonly ready: boolean;
}

/** The time of a chart, in whole buckets. */
export interface Buckets {
  /** Null if the query had `from` and `to`. */
  readonly window: Window | null;
  /** Length of a bucket. */
  readonly bucketMs: number;
}

export interface History extends Buckets {
  /** Oldest first, without gaps. The last bucket can end in the future. */
  readonly buckets: readonly Bucket[];
  readonly by: Grouping;
  /** The largest groups, largest first; empty for the grouping by verdict. Runs of smaller groups count only in `buckets`. */
  readonly groups: readonly GroupHistory[];
  readonly wait: Latency;
  readonly run: Latency;
  /** The upper bound of each bin, in milliseconds. One more bin, the last, has all longer times. */
  readonly bounds: readonly number[];
  /** The five endpoints with the most failed deliveries, in descending order. */
  readonly failing: readonly FailingEndpoint[];
}

export interface Bucket {
  readonly at: string;
  /** The number of runs that ended, by verdict. Compile errors count as CE. Verdicts without runs are absent. */
  readonly verdicts: Amounts;
  /** The number of deliveries that ended, by state. */
  readonly deliveries: { readonly delivered: number; readonly failed: number };
  /** The highest value of each number in the bucket; null if none was recorded. */
  readonly load: { readonly pending: number; readonly running: number; readonly slots: number } | null;
}

export interface GroupHistory {
  /** The name of a language, or the id of a key or project; empty for the runs of keys without a project. */
  readonly id: string;
  readonly name: string;
  readonly verdicts: Amounts;
  /** The number of runs that ended in each bucket. */
  readonly amounts: readonly number[];
}

export type Amounts = Readonly<Record<string, number>>;

/** Durations of ended runs: from acceptance to start (History.wait), or from start to end (History.run). */
export interface Latency {
  /** The percentiles over all buckets; null if no run ended. */
  readonly percentiles: Percentiles | null;
  readonly buckets: readonly {
    readonly percentiles: Percentiles | null;
    /** For each bin that has runs, its number (from 0) and the number of runs in it. */
    readonly bins: readonly (readonly [bin: number, amount: number])[];
  }[];
}

/** Percentiles in milliseconds. Each is the upper bound of the bin in which the percentile lies; 2,000,000 for the last bin. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export interface FailingEndpoint {
  readonly id: string;
  readonly url: string;
  /** Whether the endpoint was removed; it then has no page. */
  readonly removed: boolean;
  readonly failed: number;
}

/**
 * GET /use?key=ID|project=ID|endpoint=ID[&window=7d] → UsageHistory. For a key or a project, the amounts are ended runs by verdict; for
 * an endpoint, they are ended deliveries by state.
 */
export interface UsageHistory extends Buckets {
  readonly buckets: readonly { readonly at: string; readonly amounts: Amounts }[];
}

/** GET /health → Health. */
export interface Health {
  readonly ready: boolean;
  readonly cgroupBackend: string | null;
  readonly checks: readonly HealthCheck[];
  /** `latencyMs`: how long the database took to respond; null if it did not respond. */
  readonly database: { readonly kind: "SQLite" | "PostgreSQL"; readonly latencyMs: number | null };
}

export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** The meaning of a failed check, and its remedy, as `assay doctor` prints them. Absent for other checks, and if none is known. */
  readonly means?: string;
  readonly remedy?: string;
}
