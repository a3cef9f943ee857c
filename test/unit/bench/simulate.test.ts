import assert from "node:assert/strict";
import { test } from "node:test";
import { type Scenario, simulate } from "../../../bench/capacity/simulate.ts";

const COSTS = { databaseMs: 1, workerMs: 20 };
const PLAIN: Scenario = {
  name: "plain",
  ...{ perSecond: 200, seconds: 60, accounts: 1_000, shards: 4, cores: 2, databaseCores: 1 },
  ...{ maxPending: 1_000, concurrency: 100 },
};
const near = (value: number, wanted: number, by: number) =>
  assert.ok(Math.abs(value / wanted - 1) < by, `${value} is not about ${wanted}`);

test("equal seeds give equal results, different seeds different ones", () => {
  assert.deepEqual(simulate(PLAIN, COSTS, 7), simulate(PLAIN, COSTS, 7));
  assert.notDeepEqual(simulate(PLAIN, COSTS, 7), simulate(PLAIN, COSTS, 8));
});

test("utilisation is the arrival rate times the cost", () => {
  const { workerUse, databaseUse, refusedShare } = simulate(PLAIN, COSTS, 1);
  // One run in a hundred takes five times as long.
  near(workerUse, (200 * 20 * 1.04) / (8 * 1_000), 0.05);
  near(databaseUse, (200 * 1) / (4 * 1_000), 0.05);
  assert.equal(refusedShare, 0);
});

test("the wait of one queue with one core agrees with queueing theory", () => {
  const one = { ...PLAIN, shards: 1, cores: 1, perSecond: 30, seconds: 3_000, maxPending: 1e9 };
  const { p50WaitMs, workerUse } = simulate(one, { databaseMs: 0, workerMs: 20 }, 3);
  near(workerUse, 0.6 * 1.04, 0.05);
  // At 62 % utilisation half of the submissions that find the core busy wait less than about 10 ms; at 95 %, 150 ms.
  assert.ok(p50WaitMs > 3 && p50WaitMs < 20, String(p50WaitMs));
});

test("above capacity, the queue is full and the rest is refused", () => {
  const { refusedShare, workerUse } = simulate({ ...PLAIN, perSecond: 800, maxPending: 50, shards: 1 }, COSTS, 1);
  near(refusedShare, 1 - 100 / (800 * 1.04), 0.05);
  near(workerUse, 1, 0.05);
});

test("a busy account reaches its limit and does not delay the others", () => {
  const hot = { ...PLAIN, shards: 1, cores: 4, hotShare: 0.9, perSecond: 250 };
  const free = simulate(hot, COSTS, 1);
  const bounded = simulate({ ...hot, concurrency: 2 }, COSTS, 1);
  assert.ok(free.p99WaitMs > 300, "without a bound, all wait behind the busy account");
  assert.ok(bounded.othersP99WaitMs < 60, String(bounded.othersP99WaitMs));
});

test("an unavailable shard refuses requests only during the outage and only its share", () => {
  const { refusedShare } = simulate({ ...PLAIN, lostShardSeconds: 20 }, COSTS, 1);
  // The outage lasts a third of the time. The shard of the most popular accounts has more than a quarter of the load,
  // but not all.
  assert.ok(refusedShare > 0.06 && refusedShare < 0.25, String(refusedShare));
});

test("work on lost cores is run again after its lease, and only later work waits", () => {
  const lost = simulate({ ...PLAIN, shards: 1, cores: 8, lostCores: 0.5 }, COSTS, 1);
  const whole = simulate({ ...PLAIN, shards: 1, cores: 8 }, COSTS, 1);
  assert.ok(lost.p99WaitMs > 2 * whole.p99WaitMs, `${lost.p99WaitMs} with lost cores, without ${whole.p99WaitMs}`);
});
