import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { binOf, percentiles } from "../../src/domain/history.ts";

/** What is told of durations that were all the same. */
const toldOf = (ms: number) => percentiles(new Map([[binOf(ms), 7]]))?.p50 ?? Number.NaN;

test("a duration is told as the upper bound of its bin: never too low, and at most half too high", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 1_000_000 }), (ms) => {
      const told = toldOf(ms);
      assert.ok(told >= ms && told <= ms * 1.67, `${ms} is told as ${told}`);
    }),
  );
  assert.deepEqual([toldOf(0), toldOf(1), toldOf(-60_000)], [1, 1, 1]);
  assert.deepEqual([toldOf(1_000_000), toldOf(1_000_001), toldOf(9e9)], [1_000_000, 2_000_000, 2_000_000]);
});

test("percentiles are those of all that was counted, in whatever order the bins come", () => {
  const amounts = new Map([
    [binOf(5_000), 4],
    [binOf(10), 95],
    [binOf(60_000), 1],
  ]);
  assert.deepEqual(percentiles(amounts), { p50: 10, p95: 10, p99: 5_000 });
  assert.deepEqual(percentiles(new Map([[binOf(3), 1]])), { p50: 3, p95: 3, p99: 3 });
  assert.equal(percentiles(new Map()), null);
});
