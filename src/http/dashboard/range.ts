import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import type { HistoryRange } from "../../store/history/types.ts";
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

/** Possible lengths of a bucket. Each divides a day, so that buckets begin at the same times every day (UTC). */
const BUCKETS_MS = [
  ...[1, 2, 5, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 6].map((hours) => hours * HOUR_MS),
];

/** A chart has the shortest buckets of which it needs no more than this. */
const MOST_BUCKETS = 120;
/** A range of `from` and `to` is extended into the past until it has this many buckets. */
const LEAST_BUCKETS = 5;

/** The history has minutes for this time, and only hours for earlier times (src/history/stats-aggregator.ts). */
const MINUTES_KEPT_MS = 2 * DAY_MS;
/** How far a chart can go back. The history keeps hours for one day more. */
const KEPT_MS = 30 * DAY_MS;

const ms = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional();

/** The query parameters of a range: `window`, or `from` and `to` in milliseconds since the epoch. */
export const ranged = z.strictObject({ window: z.enum(WINDOWS).optional(), from: ms, to: ms });

export type Ranged = Omit<HistoryRange, "accountIds"> & {
  readonly window: Window | null;
  readonly starts: readonly number[];
};

/**
 * The whole buckets of a chart. For a window, they have its length, and the last one contains the present time. For `from` and `to`, they
 * contain that range, as far as it is neither in the future nor older than the history.
 * @throws ClientError invalidRequest for `window` together with `from` or `to`, and for only one of `from` and `to`.
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
