import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { StatsAggregator } from "../../../src/history/stats-aggregator.ts";
import { StoreUnavailable } from "../../../src/store/database/errors.ts";
import type { HistoryStore } from "../../../src/store/history/history.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";
import { addProject, endOne } from "../../support/webhooks/project.ts";

const log = pino({ level: "silent" });
const EVERY_MS = 5;
const DAY_MS = 86_400_000;
const ALL = { fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER, bucketMs: DAY_MS, accountIds: null };

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 20_000; !(await condition()); await sleep(EVERY_MS))
    assert.ok(performance.now() < deadline, what);
}

onEachDatabase((temporaryStore) => {
  test("counts each end once with two services, including ends before the start", async (t) => {
    const { store, clock, another } = await temporaryStore(t);
    clock.nowMs = Date.now();
    const project = await addProject(store);
    await endOne(store, project);
    const both = [store, await another()].map((one) =>
      StatsAggregator.start({ store: one, log, slots: () => 3, everyMs: EVERY_MS }),
    );
    const counted = async () => (await store.history.read(ALL)).ended.reduce((sum, { amount }) => sum + amount, 0);
    await until("the count of earlier ends", async () => (await counted()) === 1);
    for (let n = 0; n < 5; n++) await endOne(store, project);
    await until("the count of later ends", async () => (await counted()) === 6);
    await Promise.all(both.map((one) => one.stop()));
    assert.equal(await counted(), 6);
  });
});

/** A store with a fake history and notifications that the test sends. */
function storeOf(history: Partial<HistoryStore>) {
  let listener = () => {};
  const onEnds = (added: () => void) => {
    listener = added;
    return () => {
      listener = () => {};
    };
  };
  const rest: HistoryStore = {
    count: async () => 0,
    countDeliveries: async () => 0,
    sample: async () => {},
    mergeAndExpire: async () => {},
    read: async () => ({ ended: [], times: [] }),
    groups: async () => [],
    readOf: async () => [],
    deliveries: async () => [],
    failing: async () => [],
    marks: async () => ({ runs: "", deliveries: "", sandboxes: "", settings: "" }),
    totalsMark: async () => "",
    load: async () => [],
  };
  return { store: { history: { ...rest, ...history }, onEnds }, say: () => listener() };
}

test("queries only after a notification, and until nothing is left", async () => {
  const answers = [256, 256, 3];
  let queries = 0;
  const { store, say } = storeOf({
    count: async () => {
      queries++;
      return answers.shift() ?? 0;
    },
  });
  const summariser = StatsAggregator.start({ store, log, slots: () => 3, everyMs: EVERY_MS });
  await until("all counts", () => queries === 3);
  await sleep(20 * EVERY_MS);
  assert.equal(queries, 3);
  say();
  await until("another query", () => queries === 4);
  await sleep(20 * EVERY_MS);
  assert.equal(queries, 4);
  await summariser.stop();
});

test("retries without a notification when the database is unavailable", async () => {
  let queries = 0;
  const { store } = storeOf({
    count: async () => {
      queries++;
      if (queries < 3) throw new StoreUnavailable("away");
      return 0;
    },
  });
  const summariser = StatsAggregator.start({ store, log, slots: () => 3, everyMs: EVERY_MS });
  await until("retries until there is an answer", () => queries === 3);
  await summariser.stop();
});

test("once an hour, removes minutes older than two days and hours older than a month", async () => {
  const calls: Parameters<HistoryStore["mergeAndExpire"]>[0][] = [];
  const { store } = storeOf({ mergeAndExpire: async (times) => void calls.push(times) });
  const start = Date.UTC(2031, 0, 2, 3, 40);
  let nowMs = start;
  const summariser = StatsAggregator.start({ store, log, slots: () => 3, everyMs: EVERY_MS, now: () => nowMs });
  await until("the first removal", () => calls.length === 1);
  await sleep(10 * EVERY_MS);
  nowMs += 3_600_000;
  await until("the second removal", () => calls.length === 2);
  await summariser.stop();
  const hour = Date.UTC(2031, 0, 2, 3);
  assert.deepEqual(calls[0], { mergeBeforeMs: hour - 2 * DAY_MS, deleteBeforeMs: hour - 31 * DAY_MS });
  assert.equal(calls.length, 2);
});

test("every 15 seconds, samples the slots and counts deliveries, which end without a notification", async () => {
  const samples: number[] = [];
  const left = [256, 3];
  const { store } = storeOf({
    sample: async (slots) => void samples.push(slots),
    countDeliveries: async () => left.shift() ?? 0,
  });
  let nowMs = Date.UTC(2031, 0, 2);
  const options = { store, log, slots: () => samples.length + 3, everyMs: EVERY_MS, now: () => nowMs };
  const summariser = StatsAggregator.start(options);
  await until("the deliveries", () => left.length === 0);
  nowMs += 14_999;
  await sleep(20 * EVERY_MS);
  assert.deepEqual(samples, [3]);
  nowMs += 1;
  await until("the next sample", () => samples.length === 2);
  await summariser.stop();
  assert.deepEqual(samples, [3, 4]);
});

test("stops after the current step, however much is left", async () => {
  let steps = 0;
  const { store } = storeOf({
    count: async () => {
      steps++;
      await sleep(10);
      return 256;
    },
  });
  const summariser = StatsAggregator.start({ store, log, slots: () => 3, everyMs: EVERY_MS });
  await until("the first step", () => steps > 0);
  await summariser.stop();
  const stepsThen = steps;
  await sleep(60);
  assert.equal(steps, stepsThen);
});
