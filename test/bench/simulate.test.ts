import assert from "node:assert/strict";
import { test } from "node:test";
import { type Scenario, simulate } from "../../bench/capacity/simulate.ts";

const COSTS = { databaseMs: 1, workerMs: 20 };
const PLAIN: Scenario = {
  name: "plain",
  ...{ perSecond: 200, seconds: 60, accounts: 1_000, shards: 4, cores: 2, databaseCores: 1 },
  ...{ maxPending: 1_000, concurrency: 100 },
};
const near = (value: number, wanted: number, by: number) =>
  assert.ok(Math.abs(value / wanted - 1) < by, `${value} is not about ${wanted}`);

test("the same seed tells the same story, another one another", () => {
  assert.deepEqual(simulate(PLAIN, COSTS, 7), simulate(PLAIN, COSTS, 7));
  assert.notDeepEqual(simulate(PLAIN, COSTS, 7), simulate(PLAIN, COSTS, 8));
});

test("what is used is what arrives times what it costs", () => {
  const { workerUse, databaseUse, refusedShare } = simulate(PLAIN, COSTS, 1);
  // One run in a hundred takes five times as long.
  near(workerUse, (200 * 20 * 1.04) / (8 * 1_000), 0.05);
  near(databaseUse, (200 * 1) / (4 * 1_000), 0.05);
  assert.equal(refusedShare, 0);
});

test("one queue and one core wait as the formula for such a queue says", () => {
  const one = { ...PLAIN, shards: 1, cores: 1, perSecond: 30, seconds: 3_000, maxPending: 1e9 };
  const { p50WaitMs, workerUse } = simulate(one, { databaseMs: 0, workerMs: 20 }, 3);
  near(workerUse, 0.6 * 1.04, 0.05);
  // Half of those that come while it is busy 62 % of the time wait less than some 10 ms; were it busy for 95 %, 150 ms.
  assert.ok(p50WaitMs > 3 && p50WaitMs < 20, String(p50WaitMs));
});

test("beyond what cores can do the queue is full, and the rest is refused", () => {
  const { refusedShare, workerUse } = simulate({ ...PLAIN, perSecond: 800, maxPending: 50, shards: 1 }, COSTS, 1);
  near(refusedShare, 1 - 100 / (800 * 1.04), 0.05);
  near(workerUse, 1, 0.05);
});

test("a hot account takes its limit and leaves the others theirs", () => {
  const hot = { ...PLAIN, shards: 1, cores: 4, hotShare: 0.9, perSecond: 250 };
  const free = simulate(hot, COSTS, 1);
  const bounded = simulate({ ...hot, concurrency: 2 }, COSTS, 1);
  assert.ok(free.p99WaitMs > 300, "without a bound all wait for the hot one's queue");
  assert.ok(bounded.othersP99WaitMs < 60, String(bounded.othersP99WaitMs));
});

test("a shard that is away refuses for as long, and no more than its share", () => {
  const { refusedShare } = simulate({ ...PLAIN, lostShardSeconds: 20 }, COSTS, 1);
  // A third of the time, and the shard of the most popular accounts: more than a quarter, less than all.
  assert.ok(refusedShare > 0.06 && refusedShare < 0.25, String(refusedShare));
});

test("work on cores that are gone is run again after its lease, and only later work waits", () => {
  const lost = simulate({ ...PLAIN, shards: 1, cores: 8, lostCores: 0.5 }, COSTS, 1);
  const whole = simulate({ ...PLAIN, shards: 1, cores: 8 }, COSTS, 1);
  assert.ok(lost.p99WaitMs > 2 * whole.p99WaitMs, `${lost.p99WaitMs} after ${whole.p99WaitMs}`);
});
