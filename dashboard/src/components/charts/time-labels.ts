import type { BucketSelection, Times } from "./times.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const BOTH = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** Possible distances between two labels of an axis. */
const INTERVALS_MS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 5, 10].map((days) => days * DAY_MS),
];

interface Label {
  readonly index: number;
  readonly text: string;
}

/** Labels at round local times, such as full hours or the beginnings of days. @param places The width of a label, in buckets. */
export function labels({ starts, bucketMs }: Times, places: number): readonly Label[] {
  const least = places * bucketMs;
  const interval = INTERVALS_MS.find((each) => each >= least) ?? 30 * DAY_MS;
  const steps = starts.map((start) => Math.floor((start - new Date(start).getTimezoneOffset() * MINUTE_MS) / interval));
  const format = interval < DAY_MS ? TIME : DATE;
  const last = starts.length - places;
  return starts.flatMap((start, index) => {
    const isFirst = index > 0 ? steps[index] !== steps[index - 1] : false;
    return isFirst && index <= last ? [{ index, text: format.format(new Date(start)) }] : [];
  });
}

/** The times of a span in words, such as "25 Nov, 10:00 to 10:15". */
export function longTime({ starts, bucketMs }: Times, [from, to]: BucketSelection): string {
  const [start, end] = [new Date(starts[from] ?? 0), new Date((starts[to] ?? 0) + bucketMs)];
  const isSameDay = DATE.format(start) === DATE.format(end);
  return `${BOTH.format(start)} to ${(isSameDay ? TIME : BOTH).format(end)}`;
}
