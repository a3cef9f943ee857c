import assert from "node:assert/strict";
import { test } from "node:test";
import { linear, logarithmic } from "../../../dashboard/src/components/charts/scale.ts";
import { labels, longTime } from "../../../dashboard/src/components/charts/time-labels.ts";

const MINUTE_MS = 60_000;
/** A quarter past nine, in the local time of the machine. */
const START = new Date(2026, 2, 10, 9, 15).getTime();
const timesOf = (amount: number, bucketMs: number, first = START) => ({
  bucketMs,
  starts: Array.from({ length: amount }, (_, i) => first + i * bucketMs),
});

test("a linear axis has steps of 1, 2 or 5 and ends above all values", () => {
  const ticks = (top: number) => linear(top, String).ticks.map(({ value }) => value);
  assert.deepEqual(ticks(0), [0, 1]);
  assert.deepEqual(ticks(1), [0, 0.5, 1]);
  assert.deepEqual(ticks(193), [0, 50, 100, 150, 200]);
  assert.deepEqual(ticks(3_200), [0, 1_000, 2_000, 3_000, 4_000]);
  for (const top of [0.3, 7, 42, 999, 12_345]) assert.ok((ticks(top).at(-1) ?? 0) >= top && ticks(top).length <= 6);
  assert.equal(linear(193, String).position(50), 0.25);
});

test("a logarithmic axis has powers of ten at equal distances, or smaller steps for a small range", () => {
  const axis = logarithmic(1, 10_000, String);
  assert.deepEqual(
    axis.ticks.map(({ label }) => label),
    ["1", "10", "100", "1000", "10000"],
  );
  const near = (value: number, wanted: number) => assert.ok(Math.abs(axis.position(value) - wanted) < 1e-9);
  near(10, 0.25);
  near(100, 0.5);
  near(0.1, 0);
  near(1e9, 1);
  assert.deepEqual(
    logarithmic(15, 70, String).ticks.map(({ value }) => value),
    [20, 50],
  );
});

test("labels of time are at full hours or at the beginning of days, apart, and none overflows", () => {
  const day = timesOf(96, 15 * MINUTE_MS);
  assert.deepEqual(
    labels(day, 10).map(({ text }) => text),
    ["12:00", "15:00", "18:00", "21:00", "00:00", "03:00", "06:00"],
  );
  const [first] = labels(day, 10);
  assert.equal(new Date(day.starts[first?.index ?? 0] ?? 0).getMinutes(), 0);
  assert.deepEqual(
    labels(timesOf(84, 2 * 60 * MINUTE_MS, new Date(2026, 2, 10).getTime()), 12).map(({ text }) => text),
    ["11 Mar", "12 Mar", "13 Mar", "14 Mar", "15 Mar", "16 Mar"],
  );
  assert.deepEqual(labels(timesOf(5, MINUTE_MS), 8), []);
});

test("a span of buckets is named from its beginning to its end", () => {
  const day = timesOf(96, 15 * MINUTE_MS);
  assert.equal(longTime(day, [0, 0]), "10 Mar, 09:15 to 09:30");
  assert.equal(longTime(day, [0, 95]), "10 Mar, 09:15 to 11 Mar, 09:15");
});
