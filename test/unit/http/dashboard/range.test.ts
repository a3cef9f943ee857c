import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { WINDOWS } from "../../../../src/http/dashboard/api/overview.ts";
import { rangeOf } from "../../../../src/http/dashboard/range.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.UTC(2031, 0, 2, 3, 4, 5, 678);

test("each window has some hundred whole buckets, and its last one is in progress", () => {
  for (const [window, amount, bucketMs] of [
    ["15m", 15, MINUTE_MS],
    ["1h", 60, MINUTE_MS],
    ["24h", 96, 15 * MINUTE_MS],
    ["7d", 84, 2 * HOUR_MS],
    ["30d", 120, 6 * HOUR_MS],
  ] as const) {
    const range = rangeOf({ window }, "1h", NOW);
    assert.deepEqual([range.window, range.starts.length, range.bucketMs], [window, amount, bucketMs]);
    assert.ok((range.starts.at(-1) ?? 0) <= NOW && range.untilMs > NOW);
  }
  assert.equal(rangeOf({}, "7d", NOW).window, "7d");
});

test("a range of times is contained in its buckets, however small, old, long or absurd it is", () => {
  const time = fc.oneof(fc.integer({ min: NOW - 32 * DAY_MS, max: NOW + DAY_MS }), fc.maxSafeNat());
  fc.assert(
    fc.property(time, time, (one, other) => {
      const [from, to] = [Math.min(one, other), Math.max(one, other)];
      const { fromMs, untilMs, bucketMs, starts, window } = rangeOf({ from, to }, "1h", NOW);
      assert.equal(window, null);
      assert.ok(starts.length >= 5 && starts.length <= 122, `${starts.length} buckets`);
      assert.deepEqual([starts[0], (starts.at(-1) ?? 0) + bucketMs], [fromMs, untilMs]);
      for (const start of starts) assert.equal(start % bucketMs, 0);
      const kept = (ms: number) => Math.min(Math.max(ms, NOW - 30 * DAY_MS), NOW);
      assert.ok(fromMs <= kept(from) && untilMs >= kept(to));
      // The history has only hours of that time.
      if (kept(from) < NOW - 2 * DAY_MS) assert.ok(bucketMs >= HOUR_MS);
    }),
  );
});

test("half a range, or a window besides, is rejected", () => {
  for (const query of [{ from: 1 }, { to: 1 }, { from: 1, to: 2, window: "1h" as const }])
    assert.throws(() => rangeOf(query, WINDOWS[0], NOW), /400|window/);
});
