import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { binOf, percentiles } from "../../../src/domain/history.ts";

/** The reported value if all durations are equal. */
const reported = (ms: number) => percentiles(new Map([[binOf(ms), 7]]))?.p50 ?? Number.NaN;

test("reports a duration as the upper bound of its bin: never too low, and at most 67 % too high", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 1_000_000 }), (ms) => {
      const value = reported(ms);
      assert.ok(value >= ms && value <= ms * 1.67, `${ms} is reported as ${value}`);
    }),
  );
  assert.deepEqual([reported(0), reported(1), reported(-60_000)], [1, 1, 1]);
  assert.deepEqual([reported(1_000_000), reported(1_000_001), reported(9e9)], [1_000_000, 2_000_000, 2_000_000]);
});

test("percentiles do not depend on the order of bins", () => {
  const amounts = new Map([
    [binOf(5_000), 4],
    [binOf(10), 95],
    [binOf(60_000), 1],
  ]);
  assert.deepEqual(percentiles(amounts), { p50: 10, p95: 10, p99: 5_000 });
  assert.deepEqual(percentiles(new Map([[binOf(3), 1]])), { p50: 3, p95: 3, p99: 3 });
  assert.equal(percentiles(new Map()), null);
});
