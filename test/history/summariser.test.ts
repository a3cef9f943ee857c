import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { Summariser } from "../../src/history/summariser.ts";
import { StoreUnavailable } from "../../src/store/errors.ts";
import type { HistoryStore } from "../../src/store/observe-port.ts";
import { onEachEngine } from "../store/temporary.ts";
import { addProject, endOne } from "../webhooks/project.ts";

const log = pino({ level: "silent" });
const EVERY_MS = 5;
const DAY_MS = 86_400_000;
const ALL = { fromMs: 0, bucketMs: DAY_MS, accountIds: null };

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 20_000; !(await condition()); await sleep(EVERY_MS))
    assert.ok(performance.now() < deadline, what);
}

onEachEngine((temporaryStore) => {
  test("what ends is in the history soon, whichever of two services counts it, and what ended before it started as well", async (t) => {
    const { store, clock, another } = await temporaryStore(t);
    clock.nowMs = Date.now();
    const project = await addProject(store);
    await endOne(store, project);
    const both = [store, await another()].map((one) => Summariser.start({ store: one, log, everyMs: EVERY_MS }));
    const counted = async () => (await store.history.read(ALL)).ended.reduce((sum, { amount }) => sum + amount, 0);
    await until("what was there is counted", async () => (await counted()) === 1);
    for (let n = 0; n < 5; n++) await endOne(store, project);
    await until("what came is counted", async () => (await counted()) === 6);
    await Promise.all(both.map((one) => one.stop()));
    assert.equal(await counted(), 6);
  });
});

/** A store whose history is another one, and whose words the test says. */
function storeOf(history: Partial<HistoryStore>) {
  let listener = () => {};
  const onWork = (heard: () => void) => {
    listener = heard;
    return () => {
      listener = () => {};
    };
  };
  const rest: HistoryStore = {
    count: async () => 0,
    shrink: async () => {},
    read: async () => ({ ended: [], times: [] }),
  };
  return { store: { history: { ...rest, ...history }, onWork }, say: () => listener() };
}

test("it looks only after something happened, and on until nothing is left", async () => {
  const answers = [256, 256, 3];
  let asked = 0;
  const { store, say } = storeOf({
    count: async () => {
      asked++;
      return answers.shift() ?? 0;
    },
  });
  const summariser = Summariser.start({ store, log, everyMs: EVERY_MS });
  await until("it counts all", () => asked === 3);
  await sleep(20 * EVERY_MS);
  assert.equal(asked, 3);
  say();
  await until("it looks again", () => asked === 4);
  await sleep(20 * EVERY_MS);
  assert.equal(asked, 4);
  await summariser.stop();
});

test("a database that does not answer is asked again, though nobody says anything", async () => {
  let asked = 0;
  const { store } = storeOf({
    count: async () => {
      asked++;
      if (asked < 3) throw new StoreUnavailable("away");
      return 0;
    },
  });
  const summariser = Summariser.start({ store, log, everyMs: EVERY_MS });
  await until("it asks until there is an answer", () => asked === 3);
  await summariser.stop();
});

test("minutes are kept for two days and hours for a month, both a little longer; that is seen to once an hour", async () => {
  const asked: Parameters<HistoryStore["shrink"]>[0][] = [];
  const { store } = storeOf({ shrink: async (times) => void asked.push(times) });
  const start = Date.UTC(2031, 0, 2, 3, 40);
  let nowMs = start;
  const summariser = Summariser.start({ store, log, everyMs: EVERY_MS, now: () => nowMs });
  await until("it shrinks", () => asked.length === 1);
  await sleep(10 * EVERY_MS);
  nowMs += 3_600_000;
  await until("it shrinks again", () => asked.length === 2);
  await summariser.stop();
  const hour = Date.UTC(2031, 0, 2, 3);
  assert.deepEqual(asked[0], { hoursBeforeMs: hour - 2 * DAY_MS, forgetBeforeMs: hour - 31 * DAY_MS });
  assert.equal(asked.length, 2);
});

test("it stops after the step that is under way, however much is left", async () => {
  let steps = 0;
  const { store } = storeOf({
    count: async () => {
      steps++;
      await sleep(10);
      return 256;
    },
  });
  const summariser = Summariser.start({ store, log, everyMs: EVERY_MS });
  await until("it has begun", () => steps > 0);
  await summariser.stop();
  const then = steps;
  await sleep(60);
  assert.equal(steps, then);
});
