import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import { type DiskDirectory, diskDirectory, NO_DISKS } from "../../support/launcher/disks.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, cpuTicks, eventually, exists, groupsOf, tracesLeft } from "../../support/launcher/machine.ts";
import { execution, hold, output, python, REMOVED } from "../../support/launcher/sandbox.ts";
import { shell } from "../../support/sandbox/steps.ts";

const MIB = 1 << 20;
const GIB = 1024 * MIB;
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
      assert.deepEqual([frozen, processes], [true, before.processes]);
      // The kernel can count the last moments before the stop a little later.
      assert.ok(
        cpuUsec - before.cpuUsec < 1_000,
        `${cpuUsec - before.cpuUsec} us of CPU time while all programs stood still`,
      );
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

/** What is charged to the only sandbox, in bytes. Unlike a measurement, this does not end what the kernel frees at the moment. */
function charged(launcher: Launcher): number {
  for (const group of groupsOf(launcher))
    for (const file of ["memory.current", "memory.usage_in_bytes"])
      if (/\/h\d+$/.test(group) && exists(join(group, file))) return Number(readFileSync(join(group, file), "utf8"));
  throw new Error("there is no sandbox");
}

describe("after a pause", () => {
  let launcher: Launcher;
  let disks: DiskDirectory | null = null;
  before(async () => {
    disks = NO_DISKS ? null : diskDirectory(GIB);
    launcher = await startLauncher({
      slots: 1,
      sandboxes: 1,
      ...(disks && { disks: { directory: disks.directory, bytes: GIB } }),
    });
  });
  after(async () => {
    assert.equal(await launcher.stop(), 0, launcher.stderr());
    assert.deepEqual(await tracesLeft(launcher), []);
    await eventually("no disk is left", () => disks === null || disks.devices() === 0);
    disks?.remove();
  });

  /** Looks up names that do not exist, which the kernel remembers. In several executions, each of which has its share of the kernel's memory. */
  async function lookUp(box: HeldSandbox): Promise<void> {
    const slot = await box.attach();
    for (let n = 0; n < 5; n++)
      await output(
        slot,
        python(`
import os
for i in range(60000):
  try: os.stat(f'/usr/share/${n}-{i}')
  except FileNotFoundError: pass`),
        { limits: { cpuMs: 120_000, wallMs: 600_000 } },
      );
    slot.close();
  }

  test("the kernel frees the names that it remembers, and nothing else", async () => {
    const box = await hold(launcher);
    const slot = await box.attach();
    await output(slot, "head -c 20000000 /dev/urandom > file; sha256sum file > sum");
    const keep = "import time; kept = b'x' * (30 << 20); time.sleep(1e6)";
    await output(slot, ["/bin/sh", "-c", 'python3 -c "$0" >/dev/null 2>&1 &', keep], { leaveProcesses: true });
    await eventually("the program has its memory", () => charged(launcher) > 48 * MIB);
    const before = charged(launcher);
    await lookUp(box);
    const grown = charged(launcher) - before;
    assert.ok(grown > 20 * MIB, `the names take ${grown} bytes`);
    await box.pause();
    await eventually("the kernel frees the names", () => charged(launcher) < before + grown / 2);
    const { memoryBytes, processes, oomKills, frozen } = await box.measure();
    assert.deepEqual([processes, oomKills, frozen], [1, 0, true]);
    assert.ok(memoryBytes > 48 * MIB, `files and memory of programs stay: ${memoryBytes}`);
    await box.resume();
    assert.equal(await output(slot, "sha256sum -c sum"), "file: OK\n");
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("the kernel frees pages of files on a disk", { skip: NO_DISKS }, async () => {
    const box = await hold(launcher, { storage: "disk", diskBytes: GIB, inodes: GIB / 16_384 });
    const slot = await box.attach();
    const before = charged(launcher);
    const wide = { limits: { fileBytes: GIB, wallMs: 600_000 } };
    const sum = await output(slot, "head -c 100000000 /dev/urandom > file; sync file; sha256sum < file", wide);
    const grown = charged(launcher) - before;
    assert.ok(grown > 80 * MIB, `the pages take ${grown} bytes`);
    await box.pause();
    await eventually("the kernel frees the pages", () => charged(launcher) < before + grown / 2);
    await box.resume();
    assert.equal(await output(slot, "sha256sum < file", wide), sum);
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("a resume does not wait for that, however much there is to free, and nothing is killed", async () => {
    const box = await hold(launcher, { memoryBytes: 512 * MIB, diskBytes: 256 * MIB });
    const slot = await box.attach();
    const sum = createHash("sha256")
      .update(Buffer.alloc(150 * MIB, "y"))
      .digest("hex");
    await output(slot, `head -c ${150 * MIB} /dev/zero | tr '\\0' y > file`, {
      limits: { memoryBytes: 512 * MIB, fileBytes: 256 * MIB },
    });
    const keep = "import time; kept = b'x' * (100 << 20); time.sleep(1e6)";
    await output(slot, ["/bin/sh", "-c", 'python3 -c "$0" >/dev/null 2>&1 &', keep], { leaveProcesses: true });
    const holder = childrenOf(launcher.pid).find((pid) => childrenOf(pid).length > 0) ?? assert.fail("no holder");
    let most = 0;
    for (let round = 0; round < 3; round++) {
      await lookUp(box);
      for (let times = 0; times < 5; times++) {
        const before = cpuTicks(holder);
        await box.pause();
        await box.resume();
        await box.measure(); // the holder has nothing else to do any more
        most = Math.max(most, cpuTicks(holder) - before);
      }
    }
    // It frees for 0.2 s at most, and not beyond the step that it is at.
    assert.ok(most < 100, `the holder needed ${most} ticks of CPU time between a pause and a resume`);
    const { processes, oomKills } = await box.measure();
    assert.deepEqual([processes, oomKills], [1, 0]);
    assert.equal(await output(slot, "sha256sum < file", { limits: { wallMs: 600_000 } }), `${sum}  -\n`);
    assert.deepEqual(await box.end(), REMOVED);
  });
});
