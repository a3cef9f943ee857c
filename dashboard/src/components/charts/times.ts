/** The times of charts that share a cursor and a selection. */
export interface Times {
  /** Starts of the buckets, in milliseconds since the epoch. */
  readonly starts: readonly number[];
  readonly bucketMs: number;
}

/** The indexes of the first and the last bucket of a selection. */
export type BucketSelection = readonly [from: number, to: number];

/** The span with these two buckets at its ends, in either order. */
export function selectionOf(one: number, other: number): BucketSelection {
  return [Math.min(one, other), Math.max(one, other)];
}

/** The start and the end of a span, in milliseconds since the epoch. */
export function timesOf(
  { starts, bucketMs }: Times,
  [from, to]: BucketSelection,
): { readonly fromMs: number; readonly toMs: number } {
  return { fromMs: starts[from] ?? 0, toMs: (starts[to] ?? 0) + bucketMs };
}
