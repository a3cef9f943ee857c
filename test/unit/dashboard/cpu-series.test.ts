import assert from "node:assert/strict";
import { test } from "node:test";
import {
  byteSteps,
  cpuIntervals,
  memoryPeak,
  memoryTop,
  stepsWithin,
  timeEnd,
} from "../../../dashboard/src/run/cpu-series.ts";
import type { Samples } from "../../../src/domain/samples.ts";
import { SAMPLES } from "../../support/store/samples.ts";

const MIB = 1_048_576;
const course = (changes: Partial<Samples>): Samples => ({ ...SAMPLES, ...changes });

test("CPUs in use are differences from the start to the end", () => {
  const samples = course({ atMs: [10, 20, 30], cpuMs: [10, 10, 25], end: { atMs: 40, cpuMs: 26 } });
  assert.deepEqual(cpuIntervals(samples), [
    { fromMs: 0, toMs: 10, cpus: 1 },
    { fromMs: 10, toMs: 20, cpus: 0 },
    { fromMs: 20, toMs: 30, cpus: 1.5 },
    { fromMs: 30, toMs: 40, cpus: 0.1 },
  ]);
});

test("a short rest after the last sample is no peak of its own", () => {
  const samples = course({ atMs: [10, 20], cpuMs: [10, 20], end: { atMs: 20.5, cpuMs: 24 } });
  assert.deepEqual(cpuIntervals(samples).at(-1), { fromMs: 10, toMs: 20.5, cpus: 14 / 10.5 });
});

test("the limit is on the memory axis unless it would flatten the curve", () => {
  const of = (peakBytes: number) => memoryTop(course({ memoryBytes: [0], peakBytes, limitBytes: 256 * MIB }));
  assert.equal(of(64 * MIB), 256 * MIB);
  assert.equal(of(300 * MIB), 300 * MIB);
  assert.equal(of(10 * MIB), 12 * MIB);
});

test("the time axis has the limit if the run came near it", () => {
  const of = (limitMs: number | null) => timeEnd(course({ end: { atMs: 1_000, cpuMs: 0 }, limitMs }));
  assert.deepEqual([null, 900, 1_400, 10_000].map(of), [1_000, 1_000, 1_400, 1_000]);
});

test("the memoryPeak sample and the steps of a memory axis", () => {
  assert.deepEqual(stepsWithin(2_004), [0, 500, 1_000, 1_500, 2_000]);
  assert.deepEqual(memoryPeak(course({ atMs: [1, 2, 3], memoryBytes: [5, 9, 7] })), { atMs: 2, bytes: 9 });
  assert.deepEqual(
    byteSteps(64 * MIB),
    [0, 20, 40, 60].map((count) => count * MIB),
  );
  assert.deepEqual(
    byteSteps(1.5 * 1024 * MIB),
    [0, 0.5, 1, 1.5].map((count) => count * 1024 * MIB),
  );
});
