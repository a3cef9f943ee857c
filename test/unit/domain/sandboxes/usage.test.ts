import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeUsage, encodeUsage, MAX_USAGE_SAMPLES, UsageHistory } from "../../../../src/domain/sandboxes/usage.ts";

const PAGE = 4_096;
const measured = (n: number, memoryBytes = 0) => ({
  memoryBytes,
  memoryPeakBytes: memoryBytes,
  cpuUsec: n * 1_000,
  processes: n % 7,
  oomKills: 0,
  diskBytes: n,
  inodes: 1,
});

test("a history covers the whole life with a bounded number of samples, and loses no peak and no CPU time", () => {
  const history = new UsageHistory();
  const most = 86_400;
  for (let n = 0; n <= most; n++) {
    history.add(measured(n, n === 12_345 ? 999 * PAGE : PAGE), n * 1_000);
    assert.ok(history.samples().length <= MAX_USAGE_SAMPLES);
  }
  const samples = history.samples();
  assert.ok(samples.length > MAX_USAGE_SAMPLES / 2);
  assert.deepEqual([samples[0]?.atMs, samples.at(-1)?.atMs], [0, most * 1_000]);
  assert.equal(samples.at(-1)?.cpuUsec, most * 1_000);
  assert.equal(Math.max(...samples.map(({ memoryBytes }) => memoryBytes)), 999 * PAGE);
  for (const [i, { atMs, cpuUsec }] of samples.entries()) {
    const before = samples[i - 1];
    assert.ok(!before || (atMs > before.atMs && cpuUsec > before.cpuUsec));
  }
});

test("measurements that come often become one sample in five seconds, and the newest is always the last", () => {
  const history = new UsageHistory();
  for (let n = 0; n < 100; n++) history.add(measured(n), n * 200);
  const times = history.samples().map(({ atMs }) => atMs);
  assert.deepEqual(times, [0, 5_000, 10_000, 15_000, 19_800]);
  assert.equal(history.lastMs, 19_800);
  history.add(measured(200), 1_000);
  assert.equal(history.lastMs, 19_800, "a clock that was set back adds nothing");
});

test("the stored form is short, and gives the same samples", () => {
  const history = new UsageHistory();
  for (let n = 0; n < 100_000; n++)
    history.add(measured(n * 977, (n % 1_000) * PAGE * 100), 1_800_000_000_000 + n * 950);
  const samples = history.samples();
  const text = encodeUsage(samples);
  assert.ok(text.length <= 40 * MAX_USAGE_SAMPLES, `${text.length} bytes for ${samples.length} samples`);
  assert.deepEqual(decodeUsage(text), samples);
  assert.deepEqual(decodeUsage(encodeUsage([])), []);
});
