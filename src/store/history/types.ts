/** A part of the history, divided into buckets of equal length. The field `at` of a result is the time at which its bucket begins. */
export interface HistoryRange {
  readonly fromMs: number;
  /** The first time that is not in the range. */
  readonly untilMs: number;
  readonly bucketMs: number;
  /** Only these accounts; null for all accounts. */
  readonly accountIds: readonly string[] | null;
}

export type GroupBy = "language" | "key" | "project";

/** The ended submissions of one language, key or project. */
export interface GroupCounts {
  /** The language, or the id of the key or project; empty for submissions without a project. */
  readonly id: string;
  /** The name of the key or project; `id` if there is none. */
  readonly name: string;
  readonly ended: Counts["ended"];
}

/** The key or the project whose ended submissions are counted. */
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
  /** The number of ended submissions by `verdict`, as `classOf` in src/domain/history.ts states it. */
  readonly ended: readonly { readonly at: number; readonly verdict: string; readonly amount: number }[];
  /** The number of ended submissions by duration. `wait`: from acceptance to start; `run`: from start to end; `bin`: see `binOf`. */
  readonly times: readonly {
    readonly at: number;
    readonly kind: "wait" | "run";
    readonly bin: number;
    readonly amount: number;
  }[];
}
