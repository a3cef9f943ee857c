/**
 * Units of relative times: the name, the length in milliseconds, and half of the next smaller unit. If a future time is shorter than
 * a unit by at most this half, it is rounded up: 23 h 30 min count as a day.
 */
const UNITS = [
  ["day", 86_400_000, 1_800_000],
  ["hour", 3_600_000, 30_000],
  ["minute", 60_000, 0],
] as const;

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const NUMBER = new Intl.NumberFormat("en");
const EXACT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });
const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const LONG_AGO_DAYS = 60;
/** Tolerated difference between the clocks of service and browser. A time that is in the future by at most this is "just now". */
const APART_MS = 10_000;

/** A time relative to `now`, such as "3 minutes ago" or "in 2 days". It is a date if the difference is more than 60 days. */
export function relative(at: string, now: number): string {
  const ms = Date.parse(at) - now;
  const [unit, size] = UNITS.find(([, each, half]) => (ms < 0 ? -ms >= each : ms >= each - half)) ?? ["second", 0];
  if (unit === "second") return ms > APART_MS ? "in less than a minute" : "just now";
  // A link that was made a second ago and is valid for 7 days expires "in 7 days".
  const count = ms < 0 ? Math.trunc(ms / size) : Math.round(ms / size);
  return unit === "day" && Math.abs(count) > LONG_AGO_DAYS ? DAY.format(new Date(at)) : RELATIVE.format(count, unit);
}

/** Makes a sentence of an error message of the API, which has neither a capital letter nor a full stop. */
export function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}

export function exact(at: string): string {
  return EXACT.format(new Date(at));
}

export function count(value: number): string {
  return NUMBER.format(value);
}

/** A number with its noun, such as "1 key" or "2 keys". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A duration in the largest unit that fits, such as "850 ms", "2.5 s", "12 min" or "3 d". */
export function duration(ms: number): string {
  if (ms < 1_000) return `${short(ms)} ms`;
  if (ms < 60_000) return `${short(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${short(ms / 60_000)} min`;
  return ms < 86_400_000 ? `${short(ms / 3_600_000)} h` : `${short(ms / 86_400_000)} d`;
}

/** A number of bytes in the largest unit that fits, such as "64 MiB". */
export function size(bytes: number): string {
  if (bytes < 1024) return `${count(bytes)} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  return `${short(bytes / 1024 ** power)} ${units[power - 1]}`;
}

function short(value: number): string {
  return value >= 100 ? count(Math.round(value)) : String(Number(value.toPrecision(2 + Number(value >= 10))));
}
