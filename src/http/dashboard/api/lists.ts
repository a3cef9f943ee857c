/**
 * A list, as GET /submissions and GET /judgements. With the same parameters:
 * GET …/total → Total.
 * GET …/live?mark= → text/event-stream with the events `state` (ListChange), at the start only if the first page has another mark,
 * and `alive` every 15 seconds.
 * GET /submissions/csv → the first CSV_ROWS matches.
 */
export interface Total {
  readonly matches: number;
  /** False: there can be more, because only the newest 10,000 rows of an account are counted. */
  readonly isWhole: boolean;
}

export interface ListChange<Row> {
  /** New and changed rows of the first page, in order, and of rows that were in it and have not ended. */
  readonly rows: readonly Row[];
  readonly next: string | null;
  /** Whether there can be rows between these and those that the page has already. */
  readonly gap: boolean;
}

/** Time ranges up to now. */
export const RANGES = ["15m", "1h", "24h", "7d", "30d"] as const;
export type Range = (typeof RANGES)[number];

export const CSV_ROWS = 50_000;
