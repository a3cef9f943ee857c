/** Lengths of charts that end now. */
export const WINDOWS = ["15m", "1h", "24h", "7d", "30d"] as const;
export type Window = (typeof WINDOWS)[number];

/** Groupings of ended runs. */
export const GROUPINGS = ["verdict", "language", "key", "project"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/**
 * GET /overview?window=1h[&by=key][&account=ID] → Overview, or with `from` and `to`, milliseconds since the epoch, instead of
 * `window`. Without an account: all visible accounts.
 */
export interface Overview {
  readonly now: Now;
  readonly history: History;
}

/** GET /overview/now[?account=ID] → Now; cheap enough for polling every few seconds. */
export interface Now {
  readonly at: string;
  readonly pending: number;
  readonly oldestPendingMs: number;
  readonly running: number;
  /** Submissions that all workers together can run at once. */
  readonly slots: number;
  readonly deliveriesDue: number;
  readonly ready: boolean;
}

/** Times of charts, in whole buckets. */
export interface Buckets {
  /** Null for a range of `from` and `to`. */
  readonly window: Window | null;
  /** Length of a bucket. */
  readonly bucketMs: number;
}

export interface History extends Buckets {
  /** Oldest first, without gaps; the last one can be in progress. */
  readonly buckets: readonly Bucket[];
  readonly by: Grouping;
  /** The largest groups, largest first; empty for the grouping by verdict. The others are the rest of the buckets' verdicts. */
  readonly groups: readonly Group[];
  readonly wait: Latency;
  readonly run: Latency;
  /** Upper bound in milliseconds of each bin but the last, which has longer times. */
  readonly bounds: readonly number[];
  /** Endpoints with failed deliveries, those with the most first. */
  readonly failing: readonly FailingEndpoint[];
}

export interface Bucket {
  readonly at: string;
  /** Number of runs that ended, by verdict, or CE for a compile error; verdicts without runs are absent. */
  readonly verdicts: Amounts;
  /** Deliveries that ended. */
  readonly deliveries: { readonly delivered: number; readonly failed: number };
  /** The most at once; null: not recorded. */
  readonly load: { readonly pending: number; readonly running: number; readonly slots: number } | null;
}

export interface Group {
  /** A language, or an id; empty for runs of keys without a project. */
  readonly id: string;
  readonly name: string;
  readonly verdicts: Amounts;
  /** Runs in each bucket. */
  readonly amounts: readonly number[];
}

export type Amounts = Readonly<Record<string, number>>;

/** Durations of ended runs: from accepted to started (`wait`), and from started to ended (`run`). */
export interface Latency {
  /** The percentiles over all buckets; null if no run ended. */
  readonly percentiles: Percentiles | null;
  readonly buckets: readonly {
    readonly percentiles: Percentiles | null;
    /** Bins with runs: number of the bin, and of runs. */
    readonly bins: readonly (readonly [bin: number, amount: number])[];
  }[];
}

/** Upper bounds of the bins of these shares. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export interface FailingEndpoint {
  readonly id: string;
  readonly url: string;
  /** Removed endpoints have no page. */
  readonly removed: boolean;
  readonly failed: number;
}

/**
 * GET /use?key=ID|project=ID|endpoint=ID[&window=7d] → UsageHistory: ended runs by verdict, of an endpoint ended deliveries by state.
 */
export interface UsageHistory extends Buckets {
  readonly buckets: readonly { readonly at: string; readonly amounts: Amounts }[];
}

/** GET /health → Health. */
export interface Health {
  readonly ready: boolean;
  readonly cgroupBackend: string | null;
  readonly checks: readonly HealthCheck[];
  readonly database: { readonly kind: "SQLite" | "PostgreSQL"; readonly latencyMs: number | null };
}

export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** Explanation and remedy from the doctor; only for failed checks. */
  readonly means?: string;
  readonly remedy?: string;
}
