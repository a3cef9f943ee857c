/** The greatest number of new rows that are kept until the person shows them. */
const MAX_UNSEEN = 500;

export interface ListRow {
  readonly id: string;
  readonly completedAt: string | null;
}

/** New rows that the person has not been shown yet, newest first. */
export interface Unseen<Row> {
  readonly rows: readonly Row[];
  readonly next: string | null;
  /** Whether there can be further rows between these and those of the list. */
  readonly gap: boolean;
  /** Whether there were more than MAX_UNSEEN rows. The oldest ones are absent then, and `next` does not lead to them. */
  readonly isCut: boolean;
}

export const NONE: Unseen<never> = { rows: [], next: null, gap: false, isCut: false };

/** New rows that the person has not been shown, with those that have just come. @returns at most `MAX_UNSEEN`. */
export function merged<Row extends ListRow>(before: Unseen<Row>, now: Unseen<Row>): Unseen<Row> {
  if (now.gap) return now;
  const updated = new Map(now.rows.map((row) => [row.id, row]));
  const knownIds = new Set(before.rows.map(({ id }) => id));
  const rows = [
    ...now.rows.filter(({ id }) => !knownIds.has(id)),
    ...before.rows.map((row) => updated.get(row.id) ?? row),
  ];
  if (rows.length <= MAX_UNSEEN) return { ...before, rows };
  return { ...before, rows: rows.slice(0, MAX_UNSEEN), gap: true, isCut: true };
}
