export const WINDOWS = ["1h", "24h", "7d", "30d"] as const;
export type Window = (typeof WINDOWS)[number];

/** GET /overview?window=1h[&account=ID] → Overview. Without an account: all visible accounts. */
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

export interface History {
  readonly window: Window;
  /** Length of a bucket. */
  readonly bucketMs: number;
  /** Oldest first, without gaps; the last one is in progress. */
  readonly buckets: readonly Bucket[];
}

export interface Bucket {
  readonly at: string;
  /** Number of runs that ended, by verdict; verdicts without runs are absent. */
  readonly verdicts: Readonly<Record<string, number>>;
  /** Runs among these with the status `error`. */
  readonly errors: number;
  /** Time from accepted to started, and from started to ended: the upper bound of the bin. Null where no run ended. */
  readonly waitMs: Percentiles | null;
  readonly runMs: Percentiles | null;
}

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
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
