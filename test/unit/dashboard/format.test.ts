import assert from "node:assert/strict";
import { test } from "node:test";
import { counted, duration, relative, size } from "../../../dashboard/src/components/format.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const from = (ms: number) => relative(new Date(NOW + ms).toISOString(), NOW);

test("formats a time in the largest unit that has passed, and as a date after some days", () => {
  assert.deepEqual(
    [-30_000, -60_000, -3_599_000, -7_200_000, -86_400_000, -40 * 86_400_000, -90 * 86_400_000].map(from),
    ["just now", "1 minute ago", "59 minutes ago", "2 hours ago", "yesterday", "40 days ago", "1 Dec 2025"],
  );
  // The clock of the service may be a little ahead.
  assert.equal(from(5_000), "just now");
  assert.deepEqual([30_000, 120_000, 86_400_000].map(from), ["in less than a minute", "in 2 minutes", "tomorrow"]);
});

test("rounds a future time to the nearest unit", () => {
  const DAY_MS = 86_400_000;
  assert.deepEqual([7 * DAY_MS - 1_000, 6.4 * DAY_MS, DAY_MS - 1_000, 3_599_000, 12 * 3_600_000, 59_000].map(from), [
    "in 7 days",
    "in 6 days",
    "tomorrow",
    "in 1 hour",
    "in 12 hours",
    "in less than a minute",
  ]);
});

test("formats a duration and a size with a fitting unit and few digits", () => {
  assert.deepEqual(
    [0, 0.0432, 9.14, 130.25, 999, 1_000, 1_450, 59_900, 90_000, 7_200_000, 2_592_000_000].map(duration),
    ["0 ms", "0.043 ms", "9.1 ms", "130 ms", "999 ms", "1 s", "1.4 s", "59.9 s", "1.5 min", "2 h", "30 d"],
  );
  assert.deepEqual([0, 1_023, 1_024, 1_536, 268_435_456, 2 ** 40].map(size), [
    "0 B",
    "1,023 B",
    "1 KiB",
    "1.5 KiB",
    "256 MiB",
    "1 TiB",
  ]);
  assert.deepEqual(
    [counted(1, "key"), counted(2, "key"), counted(0, "entry", "entries")],
    ["1 key", "2 keys", "0 entries"],
  );
});
