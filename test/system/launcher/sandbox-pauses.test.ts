import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Slot } from "../../../src/sandbox/slot.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { tracesLeft } from "../../support/launcher/machine.ts";
import { execution, hold, output, python, REMOVED } from "../../support/launcher/sandbox.ts";
import { shell } from "../../support/sandbox/steps.ts";

const ROUNDS = 12;

/** Processes that fork until the kernel refuses, and processes that live only for a moment. Both go on until they are killed. */
const BOMB = python("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass");
const SHORT = `
import os
while True:
  try:
    pid = os.fork()
    if pid == 0: os._exit(0)
    os.waitpid(pid, 0)
  except OSError: pass`;

describe("a pause of a sandbox whose programs fork all the time", () => {
  let launcher: Launcher;
  before(async () => {
    launcher = await startLauncher({ slots: 1, sandboxes: 3 });
  });
  after(async () => {
    assert.equal(await launcher.stop(), 0, launcher.stderr());
    assert.deepEqual(await tracesLeft(launcher), []);
  });

  test("stops all of them, and neither their neighbours nor the launcher", async (t) => {
    const [box, neighbour] = [await hold(launcher), await hold(launcher)];
    const slot = await Slot.open(launcher.socket);
    t.after(() => slot.close());
    const storm = (await box.attach()).run(
      execution(BOMB, { limits: { processes: 64, cpuMs: 600_000, wallMs: 600_000 } }),
    );
    const start = `for i in 1 2 3 4; do python3 -c "$0" >/dev/null 2>&1 & done`;
    const left = { leaveProcesses: true, limits: { cpuMs: 600_000, wallMs: 600_000 } };
    await output(await box.attach(), ["/bin/sh", "-c", start, SHORT], left);
    await output(await neighbour.attach(), "while :; do :; done >/dev/null 2>&1 &", left);
    const full = async () => {
      for (let tries = 0; (await box.measure()).processes < 60; tries++) {
        assert.ok(tries < 1000, "the programs do not fork");
        await sleep(20);
      }
    };

    /** While everything is stopped, nothing uses CPU time, no process begins or ends, and others go on. */
    const stopped = async (round: number) => {
      const before = await box.measure();
      const others = await neighbour.measure();
      assert.equal((await slot.run(shell(`exit ${round}`))).exitCode, round);
      for (let tries = 0; (await neighbour.measure()).cpuUsec < others.cpuUsec + 50_000; tries++) {
        assert.ok(tries < 1000, "a neighbour was stopped as well");
        await sleep(20);
      }
      const { frozen, cpuUsec, processes } = await box.measure();
      assert.deepEqual([frozen, cpuUsec, processes], [true, before.cpuUsec, before.processes]);
    };
    const runs = async () => {
      const { cpuUsec, frozen } = await box.measure();
      assert.equal(frozen, false);
      for (let tries = 0; (await box.measure()).cpuUsec < cpuUsec + 20_000; tries++) {
        assert.ok(tries < 1000, "the sandbox does not go on");
        await sleep(10);
      }
    };

    for (let round = 1; round <= ROUNDS; round++) {
      await full();
      if (round % 3 !== 0) {
        await box.pause();
        await stopped(round);
      }
      if (round % 3 !== 1) {
        // Also of a sandbox that is paused: only a step for that runs meanwhile.
        await box.freeze();
        await stopped(round);
        const only = await box.attach();
        assert.equal(await output(only, "echo frozen", { whileFrozen: true }), "frozen\n");
        only.close();
        await stopped(round);
        await box.thaw();
      }
      if (round % 3 !== 0) {
        await stopped(round);
        await box.resume();
      }
      await runs();
    }
    // Requests that follow each other without a moment in between: the last one decides.
    for (let round = 0; round < 20; round++) {
      await box.pause();
      await box.resume();
      await box.freeze();
      await box.thaw();
    }
    await runs();
    const third = await hold(launcher);
    assert.equal(await output(await third.attach(), "echo alive"), "alive\n");
    assert.deepEqual(await third.end(), REMOVED);

    await box.pause();
    await stopped(1);
    assert.deepEqual(await box.end(), REMOVED, "a paused sandbox ends as well");
    await Promise.allSettled([storm]);
    assert.deepEqual(await neighbour.end(), REMOVED);
  });
});
