import type { Span, Times } from "./cursor.tsx";

const HOUR_MS = 3_600_000;
const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const BOTH = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** The label of a bucket on the axis: the time, or the date in charts of more than two days. */
export function shortTime({ starts, bucketMs }: Times, index: number): string {
  const isLong = bucketMs * starts.length > 48 * HOUR_MS;
  return (isLong ? DATE : TIME).format(new Date(starts[index] ?? 0));
}

/** "25 Nov, 10:00 to 10:15". */
export function longTime({ starts, bucketMs }: Times, [from, to]: Span): string {
  const [start, end] = [new Date(starts[from] ?? 0), new Date((starts[to] ?? 0) + bucketMs)];
  const isSameDay = DATE.format(start) === DATE.format(end);
  return `${BOTH.format(start)} to ${(isSameDay ? TIME : BOTH).format(end)}`;
}
