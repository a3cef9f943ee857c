/**
 * GET /submissions and GET /judgements are lists. Below the path of each, these routes take the same parameters:
 * GET …/total → Total.
 * GET …/live?mark= → text/event-stream with the events `state` (ListChange), and `alive` after at most 15 seconds without another event.
 * A `state` is sent at the start only if the mark of the first page is not `mark`.
 * GET /submissions/csv → the first CSV_ROWS matches. Only submissions have this route.
 */
export interface Total {
  readonly matches: number;
  /** False if there can be more matches, because only the newest 10,000 rows of each account are counted. */
  readonly isWhole: boolean;
}

export interface ListChange<Row> {
  /** New and changed rows: first those of the first page, in its order, then those that left the first page before they had ended. */
  readonly rows: readonly Row[];
  /** `next` of the first page. */
  readonly next: string | null;
  /** Whether the list can have rows between these and the rows that the client already has. */
  readonly gap: boolean;
}

/** Time ranges up to now. */
export const RANGES = ["15m", "1h", "24h", "7d", "30d"] as const;
export type TimeRange = (typeof RANGES)[number];

export const CSV_ROWS = 50_000;
