/**
 * What an honest account may take beside a busy one: this many times its time alone, and one run of the busy account, because
 * a run that has begun is not interrupted. Two, because half of the slots are its share.
 */
export const TIMES_ALONE = 2;

/** @param of 0.5 for the median. */
export function percentile(values: readonly number[], of: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * of), sorted.length - 1)] ?? Number.NaN;
}
