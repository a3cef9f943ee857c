import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import type { Range } from "../../store/history/types.ts";
import { WINDOWS, type Window } from "./api/overview.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const WINDOW_MS: Readonly<Record<Window, number>> = {
  "15m": 15 * MINUTE_MS,
  "1h": HOUR_MS,
  "24h": DAY_MS,
  "7d": 7 * DAY_MS,
  "30d": 30 * DAY_MS,
};

/** Divisors of a day, so that buckets begin at full hours. */
const BUCKETS_MS = [
  ...[1, 2, 5, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 6].map((hours) => hours * HOUR_MS),
];
/** Some hundred buckets, so that a chart is neither coarse nor crowded. */
const MOST_BUCKETS = 120;
const LEAST_BUCKETS = 5;

/** The history has minutes for this time, hours before that, and nothing that is older than a month (src/history/stats-aggregator.ts). */
const MINUTES_KEPT_MS = 2 * DAY_MS;
const KEPT_MS = 30 * DAY_MS;

const ms = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional();

/** The parameters of a range. */
export const ranged = z.strictObject({ window: z.enum(WINDOWS).optional(), from: ms, to: ms });

export type Ranged = Omit<Range, "accountIds"> & { readonly window: Window | null; readonly starts: readonly number[] };

/**
 * Whole buckets that contain the range: a window up to now, or `from` to `to`, within the time that the history keeps.
 * @throws ClientError invalidRequest for both or half of a range.
 */
export function rangeOf({ window, from, to }: z.output<typeof ranged>, byDefault: Window, nowMs: number): Ranged {
  if ((from === undefined) !== (to === undefined) || (from !== undefined && window !== undefined))
    throw clientError("invalidRequest", ["the query", "needs window, or from and to"]);
  if (from === undefined || to === undefined) {
    const name = window ?? byDefault;
    const lengthMs = WINDOW_MS[name];
    const bucketMs = bucketFor(lengthMs, 0);
    const last = nowMs - (nowMs % bucketMs);
    return { ...whole(last - lengthMs + bucketMs, last, bucketMs), window: name };
  }
  const untilMs = Math.min(Math.max(to, nowMs - KEPT_MS), nowMs);
  const fromMs = Math.min(Math.max(from, nowMs - KEPT_MS), untilMs);
  const bucketMs = bucketFor(untilMs - fromMs, nowMs - fromMs);
  const last = untilMs - 1 - ((untilMs - 1) % bucketMs);
  const first = Math.min(fromMs - (fromMs % bucketMs), last - (LEAST_BUCKETS - 1) * bucketMs);
  return { ...whole(first, last, bucketMs), window: null };
}

function bucketFor(lengthMs: number, ageMs: number): number {
  const least = ageMs > MINUTES_KEPT_MS ? HOUR_MS : MINUTE_MS;
  const fits = (bucketMs: number) => bucketMs >= least && lengthMs / bucketMs <= MOST_BUCKETS;
  return BUCKETS_MS.find(fits) ?? 6 * HOUR_MS;
}

function whole(first: number, last: number, bucketMs: number) {
  const amount = (last - first) / bucketMs + 1;
  const starts = Array.from({ length: amount }, (_, i) => first + i * bucketMs);
  return { fromMs: first, untilMs: last + bucketMs, bucketMs, starts };
}
