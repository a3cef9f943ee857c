/** A part of the history, in buckets. */
export interface Range {
  readonly fromMs: number;
  /** Exclusive. */
  readonly untilMs: number;
  readonly bucketMs: number;
  /** Null for all. */
  readonly accountIds: readonly string[] | null;
}

export type GroupBy = "language" | "key" | "project";

/** Ended submissions of one language, key or project. */
export interface Group {
  /** The language, or an id; empty for keys without a project. */
  readonly id: string;
  readonly name: string;
  readonly ended: Counts["ended"];
}

export type EndsOf = { readonly keyId: string } | { readonly projectId: string };

export interface DeliveryCount {
  readonly at: number;
  readonly state: "delivered" | "failed";
  readonly amount: number;
}

export interface FailingEndpoint {
  readonly id: string;
  readonly url: string;
  readonly removed: boolean;
  readonly failed: number;
}

/** The highest values in a bucket. */
export interface LoadCount {
  readonly at: number;
  readonly pending: number;
  readonly running: number;
  readonly slots: number;
}

export interface Counts {
  /** `verdict`: see `classOf` in src/domain/history.ts. */
  readonly ended: readonly { readonly at: number; readonly verdict: string; readonly amount: number }[];
  /** `wait`: from acceptance to start; `run`: from start to end; bins as in src/domain/history.ts. */
  readonly times: readonly {
    readonly at: number;
    readonly kind: "wait" | "run";
    readonly bin: number;
    readonly amount: number;
  }[];
}
