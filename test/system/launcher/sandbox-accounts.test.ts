import assert from "node:assert/strict";
import { test } from "node:test";
import type { HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, groupsOf, tracesLeft } from "../../support/launcher/machine.ts";
import { hold, output, python } from "../../support/launcher/sandbox.ts";

const MANY = 6;
const [BUSY, OTHER] = [1, 2];
/** The others use a third of a CPU each where the one is not, and a ninth where it is: it has three times as much as they have on average. */
const LEAST_RATIO = 1.8;

const accountsOf = (launcher: Parameters<typeof groupsOf>[0]) =>
  new Set(groupsOf(launcher).flatMap((path) => /\/a[0-9a-f]{8}(?=\/|$)/.exec(path) ?? []));

test("the sandboxes of an account share the CPU time of one sandbox", async (t) => {
  const launcher = await startLauncher({ slots: 1, sandboxes: MANY + 1 });
  const boxes: HeldSandbox[] = [];
  t.after(async () => {
    for (const box of boxes) await box.end();
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
  });
  for (let n = 0; n < MANY; n++) boxes.push(await hold(launcher, {}, BUSY));
  boxes.push(await hold(launcher, {}, OTHER));
  assert.equal(accountsOf(launcher).size, 2);

  // All of them compute during the same three seconds.
  const from = Date.now() / 1000 + 1.5;
  const busy = python(`
import time
while time.time() < ${from}: time.sleep(.01)
before = time.process_time()
while time.time() < ${from + 3}: pass
print(time.process_time() - before)`);
  const slots = await Promise.all(boxes.map((box) => box.attach()));
  const times = (await Promise.all(slots.map((slot) => output(slot, busy)))).map(Number);
  const one = times.pop() ?? 0;
  const average = times.reduce((sum, time) => sum + time, 0) / MANY;
  assert.ok(one > LEAST_RATIO * average, `${one} s next to ${times.join(", ")}`);
});

test("the group of an account is there as long as one of its sandboxes", async (t) => {
  const launcher = await startLauncher({ slots: 1, sandboxes: 4 });
  t.after(async () => {
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
  });
  const first = await hold(launcher, {}, BUSY);
  const second = await hold(launcher, {}, BUSY);
  assert.equal(accountsOf(launcher).size, 1);
  await first.end();
  assert.equal(accountsOf(launcher).size, 1);
  assert.equal(await output(await second.attach(), "echo lives"), "lives\n");
  await second.end();
  await eventually("its group is removed", () => accountsOf(launcher).size === 0);
  // Sandboxes begin while others of the same account end.
  for (let round = 0; round < 10; round++) {
    const some = await Promise.all([0, 1, 2].map(() => hold(launcher, {}, BUSY)));
    const [one, ...others] = some.map((box) => box.end());
    await one;
    const next = await hold(launcher, {}, BUSY);
    await Promise.all(others);
    assert.deepEqual((await next.end()).groupsLeft, []);
  }
});
