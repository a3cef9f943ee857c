import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { nextStep, Purger } from "../../../src/retention/purger.ts";
import { StoreUnavailable } from "../../../src/store/database/errors.ts";
import { noting } from "../../support/metrics/noting.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";
import { addProject, endOne } from "../../support/webhooks/project.ts";

const log = pino({ level: "silent" });
const DAY_MS = 86_400_000;
const PATIENCE_MS = 20_000;

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; !(await condition()); await sleep(10)) {
    assert.ok(performance.now() < deadline, what);
  }
}

onEachDatabase((temporaryStore) => {
  test("two services remove old records in steps and keep new ones", async (t) => {
    const { store, clock, another } = await temporaryStore(t);
    const project = await addProject(store);
    const exists = async (id: string) => (await store.submissions.get(id, project.key.accountId)) !== undefined;
    clock.nowMs = Date.now() - 31 * DAY_MS;
    const old: string[] = [];
    for (let n = 0; n < 50; n++) old.push(await endOne(store, project));
    clock.nowMs = Date.now();
    const young = await endOne(store, project);
    const { meter, times } = noting();
    const purgers = [store, await another()].map((one) =>
      Purger.start({ store: one, retentionMs: 30 * DAY_MS, log, meter }),
    );
    await until("the removal", async () => !(await Promise.all(old.map(exists))).includes(true));
    await Promise.all(purgers.map((purger) => purger.stop()));
    assert.ok(await exists(young));
    assert.equal(times("purged"), old.length);
  });
});

test("retries when the database is unavailable", async () => {
  let calls = 0;
  const purge = async () => {
    calls++;
    if (calls === 1) throw new StoreUnavailable("away");
    return 0;
  };
  const purger = Purger.start({
    store: { retention: { purge } as never, manyProcesses: false },
    retentionMs: 1,
    log,
    everyMs: 5,
  });
  await until("the retry", () => calls > 2);
  await purger.stop();
});

test("a remote server does not keep steps small, because no client waits for them there", async () => {
  for (const [manyProcesses, most] of [
    [true, 256],
    [false, 4],
  ] as const) {
    const sizes: number[] = [];
    const purge = async (_: number, max: number) => {
      sizes.push(max);
      await sleep(40); // independent of the size
      return sizes.length < 10 ? max : 0;
    };
    const purger = Purger.start({ store: { retention: { purge } as never, manyProcesses }, retentionMs: 1, log });
    await until("the last step", () => sizes.length === 10);
    await purger.stop();
    assert.equal(Math.max(...sizes), most);
  }
});

test("stops after the current step, however much is left", async () => {
  let steps = 0;
  const purge = async (_: number, max: number) => {
    steps++;
    await sleep(20);
    return max;
  };
  const purger = Purger.start({ store: { retention: { purge } as never, manyProcesses: false }, retentionMs: 1, log });
  await until("the first step", () => steps > 0);
  await purger.stop();
  const stepsThen = steps;
  await sleep(100);
  assert.equal(steps, stepsThen);
});

test("steps grow while they are fast, shrink when they are slow, and stay within their bounds", () => {
  assert.deepEqual([nextStep(16, 1, 25), nextStep(16, 20, 25), nextStep(16, 26, 25)], [32, 16, 8]);
  assert.deepEqual([nextStep(256, 1, 25), nextStep(4, 1_000, 25)], [256, 4]);
});
