import type { RunVerdict } from "./outcome.ts";

/**
 * Durations are stored as counts in fixed bins, so that counts of different times and accounts can be added. There are six bins for each
 * power of ten. A percentile is given as the upper bound of its bin, so it is at most 67 % too high.
 */
const STEPS = [1, 1.5, 2, 3, 5, 7];
const POWERS = [1, 10, 100, 1_000, 10_000, 100_000];

/** The upper bounds of the bins in milliseconds. One more bin counts longer durations. */
export const BOUNDS = POWERS.flatMap((power) => STEPS.map((step) => Math.ceil(step * power))).concat(1_000_000);

/** What a percentile in the last bin is given as: twice the last bound. A run whose worker was lost repeatedly can take that long. */
const LONGEST_MS = 2_000_000;

/** @returns the number of the bin of a duration; 0 for a negative duration, which is measured if a clock is set back. */
export function binOf(ms: number): number {
  const at = BOUNDS.findIndex((bound) => ms <= bound);
  return at < 0 ? BOUNDS.length : at;
}

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** @param amounts the number of durations in each bin. @returns the upper bound of the bin of each percentile; null without durations. */
export function percentiles(amounts: ReadonlyMap<number, number>): Percentiles | null {
  const bins = [...amounts].sort(([a], [b]) => a - b);
  const total = bins.reduce((sum, [, amount]) => sum + amount, 0);
  if (total === 0) return null;
  const at = (share: number) => {
    let seen = 0;
    for (const [bin, amount] of bins) {
      seen += amount;
      if (seen >= total * share) return BOUNDS[bin] ?? LONGEST_MS;
    }
    return LONGEST_MS;
  };
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** The verdict by which the history counts a run; CE for a program that the compiler rejected, whose verdict is RE. A compiler that exceeds
 * a limit counts by that limit, unlike in a judgement, where each failure of the compiler is CE. */
export function classOf({ verdict, cause }: Pick<RunVerdict, "verdict" | "cause">): string {
  return cause === "compile_error" ? "CE" : verdict;
}
