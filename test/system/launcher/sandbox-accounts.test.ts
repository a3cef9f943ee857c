import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, exists, groupsOf, tracesLeft } from "../../support/launcher/machine.ts";
import { execution, hold, output, python } from "../../support/launcher/sandbox.ts";
import { LIMITS, shell } from "../../support/sandbox/steps.ts";

const MANY = 6;
const [BUSY, OTHER] = [1, 2];
/** The others use a third of a CPU each where the one is not, and a ninth where it is: it has three times as much as they have on average. */
const LEAST_RATIO = 1.8;
/** The most by which shares that are equal may differ. Without weights, each of those below would differ by four times or more. */
const EQUAL = 1.6;
/** How long programs compute at the same time, in seconds. */
const SECONDS = 4;

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

/** Computes in so many processes during the same time, and prints the CPU time of all of them. */
const computing = (from: number, processes: number) =>
  python(`
import os, resource, time
if time.time() > ${from}: raise SystemExit('too late')
while time.time() < ${from}: time.sleep(.01)
before = time.process_time()
pids = []
for _ in range(${processes - 1}):
  pids.append(os.fork())
  if pids[-1] == 0: break
while time.time() < ${from + SECONDS}: pass
if pids and pids[-1] == 0: os._exit(0)
for pid in pids: os.waitpid(pid, 0)
children = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.process_time() - before + children.ru_utime + children.ru_stime)`);

test("on one CPU, sandboxes of an account have equal shares, and all sandboxes as much as all submissions", async (t) => {
  const [cpu] = /Cpus_allowed_list:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.slice(1) ?? [];
  const launcher = await startLauncher({ slots: 3, sandboxes: MANY, within: ["taskset", "-c", String(cpu)] });
  t.after(async () => {
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
  });
  const weighed = groupsOf(launcher).some((path) =>
    ["cpu.shares", "cpu.weight"].some((file) => exists(`${path}/${file}`)),
  );
  if (!weighed) return t.skip("the machine has no cpu controller");
  const soon = () => Date.now() / 1000 + 3;
  const boxes = await Promise.all(Array.from({ length: MANY }, () => hold(launcher, {}, BUSY)));
  const slots = await Promise.all(boxes.map((box) => box.attach()));

  // A sandbox with many processes gets no more than one with one process.
  const from = soon();
  const [many = 0, one = 0] = (
    await Promise.all(slots.slice(0, 2).map((slot, at) => output(slot, computing(from, at === 0 ? 8 : 1))))
  ).map(Number);
  assert.ok(many < EQUAL * one && one < EQUAL * many, `${many} s with eight processes next to ${one} s with one`);

  // Six sandboxes next to one submission, then two sandboxes next to one: a submission has what all sandboxes have.
  const slot = await Slot.open(launcher.socket);
  for (const count of [MANY, 2]) {
    const at = soon();
    const limits = { ...LIMITS, cpus: 1, cpuMs: 60_000, wallMs: 60_000, addressSpaceBytes: null };
    const [submission, ...sandboxes] = await Promise.all([
      slot.run(shell("", { command: { command: computing(at, 1), env: {} }, limits })),
      ...slots.slice(0, count).map((attached) => attached.run(execution(computing(at, 1)))),
    ]);
    const seconds = [submission, ...sandboxes].map((report) => {
      assert.equal(report.exitCode, 0, report.stderr.toString());
      return Number(report.stdout.toString());
    });
    const [own = 0, ...others] = seconds;
    const all = others.reduce((sum, time) => sum + time, 0);
    assert.ok(own < EQUAL * all && all < EQUAL * own, `${own} s of a submission next to ${others.join(", ")}`);
  }
  slot.close();
  for (const box of boxes) await box.end();
});
