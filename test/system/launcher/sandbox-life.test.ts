import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { HELD_CONTROLS, SANDBOX_OPTIONAL_CONTROLS } from "../../../src/domain/controls.ts";
import { type AttachedSlot, SandboxesFullError } from "../../../src/sandbox/held-sandbox.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, groupsOf, read, tracesLeft } from "../../support/launcher/machine.ts";
import { execution, hold, output, REMOVED, SANDBOX } from "../../support/launcher/sandbox.ts";
import { connected, Raw, step, stepFrame } from "./raw.ts";

const SANDBOXES = 3;
const ATTACHED = 17;

const HEADER = readFileSync(join(import.meta.dirname, "../../../launcher/cgroup/sandboxes.h"), "utf8");
/** A number of the launcher's pool of leaves. */
const mostOf = (name: string) => Number(new RegExp(`\\b${name} = (\\d+)`).exec(HEADER)?.[1]);

/** Leaves of a sandbox as long as no more executions run at the same time. */
const LEAVES = mostOf("SANDBOX_LEAVES_POOLED");
/** Leaves that it has removed and that the kernel has not freed, where a peak of memory can be read exactly only in a new leaf. */
const REMOVED_LEAVES = mostOf("LEAVES_REMOVED_MAX");

/** The memory group of the only sandbox of a launcher. */
function memoryGroupOf(launcher: Launcher): string {
  const found = groupsOf(launcher).filter(
    (path) =>
      /\/h\d+$/.test(path) && ["memory.limit_in_bytes", "memory.max"].some((file) => existsSync(join(path, file))),
  );
  assert.equal(found.length, 1);
  return found[0] ?? "";
}

const isLeaf = (name: string | null) => /^e\d+$/.test(name ?? "");

/** How many leaves a sandbox has now. */
const leavesOf = (group: string): number => readdirSync(group).filter(isLeaf).length;

describe("a sandbox", () => {
  let launcher: Launcher;
  before(async () => {
    launcher = await startLauncher({ slots: 1, sandboxes: SANDBOXES });
  });
  after(async () => {
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
  });

  test("has every control, keeps its files between executions, and leaves nothing", async () => {
    const box = await hold(launcher);
    assert.deepEqual(box.controlsMissing, []);
    // Which of the others there are depends on the kernel.
    const controls = box.controls.filter((name) => !SANDBOX_OPTIONAL_CONTROLS.includes(name));
    assert.deepEqual(controls.sort(), [...HELD_CONTROLS].sort());
    const slot = await box.attach();
    const report = await slot.run(execution("echo hello > a; mkdir /tmp/0; exit 3"));
    assert.deepEqual([report.exitCode, report.controlsMissing, report.teardown], [3, [], REMOVED]);
    assert.equal(await output(slot, "cat a; id -un; pwd; ls -d /tmp/0"), "hello\nuser\n/home/user\n/tmp/0\n");
    const other = await box.attach();
    assert.equal(await output(other, "cat /home/user/a"), "hello\n");
    const { diskBytes, frozen, oomKills } = await box.measure();
    assert.deepEqual([diskBytes > 0, frozen, oomKills], [true, false, 0]);
    assert.deepEqual(await box.end(), REMOVED);
    await eventually("the groups are removed", () => groupsOf(launcher).every((path) => !/\/h\d+/.test(path)));
  });

  test("does not see another sandbox, and has another user", async () => {
    const boxes = await Promise.all([hold(launcher), hold(launcher)]);
    const slots = await Promise.all(boxes.map((box) => box.attach()));
    await output(slots[0] as never, "echo secret > /tmp/a; sleep 600 >/dev/null 2>&1 &", { leaveProcesses: true });
    assert.equal(await output(slots[1] as never, "ls /tmp; cat /proc/[0-9]*/comm | grep sleep || echo none"), "none\n");
    const users = await Promise.all(slots.map((slot) => output(slot, "id -u")));
    assert.notEqual(users[0], users[1]);
    for (const box of boxes) assert.deepEqual(await box.end(), REMOVED);
  });

  test("ends with the connection of its holder", async () => {
    const box = await hold(launcher);
    const slot = await box.attach();
    const running = slot.run(execution("sleep 600 & sleep 600"));
    await eventually("the program runs", () => groupsOf(launcher).some((path) => /\/h\d+\/e\d+/.test(path)));
    await Promise.allSettled([box.end(), running]);
    await eventually("nothing is left", () => groupsOf(launcher).every((path) => !/\/h\d+/.test(path)));
  });

  test("is refused when there are as many as there may be", async () => {
    const boxes = await Promise.all(Array.from({ length: SANDBOXES }, () => hold(launcher)));
    await assert.rejects(hold(launcher), SandboxesFullError);
    const box = boxes[0] as (typeof boxes)[0];
    const slots = await Promise.all(Array.from({ length: ATTACHED }, () => box.attach()));
    for (const slot of slots) assert.equal(await output(slot, "echo"), "\n");
    const more = await box.attach();
    await assert.rejects(more.run(execution("echo")), /too many connections/);
    for (const one of boxes) assert.deepEqual(await one.end(), REMOVED);
  });

  test("can be reached only by its token, and only on its own socket", async () => {
    const box = await hold(launcher);
    const submission = await connected(launcher.socket);
    submission.send(stepFrame([...step(["/bin/true"]), ["SANDBOX", "0".repeat(32)]]));
    assert.equal((await submission.expect("REFUSED")).text("OBJECT"), "SANDBOX");
    const executions = join(dirname(launcher.socket), "executions.sock");
    for (const [entries, name] of [
      [[...step(["/bin/true"]), ["SANDBOX", "0".repeat(32)]], "FAILED"],
      [[...step(["/bin/true"]), ["SANDBOX", "../".padEnd(32, "a")]], "REFUSED"],
      [step(["/bin/true"]), "REFUSED"],
    ] as const) {
      const raw = new Raw(executions);
      await raw.expect("HELLO");
      raw.send(stepFrame([...entries]));
      assert.equal((await raw.next())?.name, name);
      raw.close();
    }
    const holders = new Raw(join(dirname(launcher.socket), "sandboxes.sock"));
    await holders.expect("HELLO");
    holders.send(stepFrame([]));
    assert.equal((await holders.next())?.name, "REFUSED");
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("does not collect groups: each leaf serves one execution after the other", async () => {
    const box = await hold(launcher);
    const slot = await box.attach();
    const count = process.env.ASSAY_TEST_LONG === "yes" ? 10_000 : 200;
    const group = memoryGroupOf(launcher);
    // Each leaf that is made or removed, however short its life is.
    let changes = leavesOf(group);
    const watcher = watch(group, (_, name) => {
      if (isLeaf(name)) changes++;
    });
    for (let i = 0; i < count; i++) {
      const report = await slot.run(execution(`echo ${i} > f${i % 1000}`));
      assert.equal(report.exitCode, 0);
      assert.ok(
        report.memoryPeakBytes > 0 && report.memoryPeakBytes < 8 * 1024 ** 2,
        `${report.memoryPeakBytes} bytes`,
      );
    }
    watcher.close();
    // cgroup v2 says how many groups of this sandbox are removed but not freed. On v1, each leaf that there has been can be such a group.
    const [, removed] = /^nr_dying_descendants (\d+)$/m.exec(read(join(group, "cgroup.stat"))) ?? [];
    const groups = removed === undefined ? changes : leavesOf(group) + Number(removed);
    const [least, most] = removed === undefined ? [1, LEAVES] : [0, LEAVES + REMOVED_LEAVES];
    assert.ok(groups >= least && groups <= most, `${groups} groups after ${count} executions, at most ${most}`);
    assert.deepEqual(await box.end(), REMOVED);
    await eventually("the groups are removed", () => groupsOf(launcher).every((path) => !/\/h\d+/.test(path)));
  });

  test("makes the groups of a leaf anew where their counters are those of an earlier execution, or where it was killed", async () => {
    const box = await hold(launcher);
    const [slot, other] = [await box.attach(), await box.attach()];
    const leaves = () =>
      groupsOf(launcher)
        .filter((path) => /\/e\d+$/.test(path))
        .map((path) => `${path} ${statSync(path).ino}`)
        .sort();
    const ran = async (by: AttachedSlot, command: string | string[]) => {
      const report = await by.run(execution(command));
      assert.deepEqual([report.exitCode, report.controlsMissing], [0, []]);
      return report;
    };
    await ran(slot, ["true"]);
    const first = leaves();
    for (const by of [slot, slot, other, slot]) {
      const { processPeak, forksRefused } = await ran(by, ["true"]);
      assert.ok(processPeak === null || processPeak === 1);
      assert.equal(forksRefused, 0);
    }
    assert.deepEqual(leaves(), first);

    const { processPeak } = await ran(slot, "(exit 0) & (exit 0) & wait");
    assert.ok(processPeak === null || processPeak > 1);
    const after = await ran(slot, ["true"]);
    if (box.hello.backend === "cgroup_hybrid") {
      assert.equal(after.processPeak, 1);
      assert.notDeepEqual(leaves(), first);
    }

    // A process that is born in a group that was killed is killed as well, by some kernels.
    const killed = await slot.run(execution("sleep 60", { limits: { wallMs: 300 } }));
    assert.equal(killed.killReason, "wall");
    for (const by of [slot, other]) await ran(by, ["true"]);
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("has the limits that it was given", async () => {
    const box = await hold(launcher, { diskBytes: 4 * 1024 ** 2, inodes: 128, processes: 20 });
    const slot = await box.attach();
    const disk = await slot.run(execution("head -c 8000000 /dev/zero > big"));
    assert.match(disk.stderr.toString(), /No space left/);
    const inodes = await slot.run(execution("rm -f big; for i in $(seq 200); do : > f$i || exit 7; done"));
    assert.notEqual(inodes.exitCode, 0);
    const forks = await slot.run(execution("rm -f f*; for i in $(seq 40); do sleep 600 & done; wait"));
    assert.ok(forks.forksRefused > 0 && forks.exitCode !== 0, "the limit of the sandbox is evidence of the execution");
    assert.ok((await box.measure()).memoryBytes < SANDBOX.memoryBytes);
    assert.deepEqual(await box.end(), REMOVED);
  });
});

test("a sandbox without sockets has every control, and opens none", async () => {
  const launcher = await startLauncher({ slots: 1, sandboxes: 1, loopback: false });
  const box = await hold(launcher);
  assert.deepEqual(box.controlsMissing, []);
  assert.deepEqual(
    [...HELD_CONTROLS, "socket_limit"].filter((name) => !box.controls.includes(name)),
    ["socket_limit"],
  );
  const report = await (await box.attach()).run(
    execution(["/usr/bin/python3", "-c", "import socket\nsocket.socket(socket.AF_INET)"]),
  );
  assert.match(report.stderr.toString(), /PermissionError|not permitted|not supported/);
  await box.end();
  assert.equal(await launcher.stop(), 0);
});

test("a launcher with hundreds of connections makes further sandboxes", async () => {
  const MANY = 280;
  const launcher = await startLauncher({ slots: 1, sandboxes: MANY + 1 });
  const path = join(dirname(launcher.socket), "sandboxes.sock");
  const others: Raw[] = [];
  try {
    // Holders that wait for their request: each of them is a connection of the launcher.
    for (let at = 0; at < MANY; at++) {
      const raw = new Raw(path);
      others.push(raw);
      await raw.expect("HELLO");
    }
    const box = await hold(launcher);
    assert.equal(await output(await box.attach(), "echo hello"), "hello\n");
    assert.deepEqual(await box.end(), REMOVED);
  } finally {
    for (const raw of others) raw.close();
    assert.equal(await launcher.stop(), 0);
  }
});

test("a launcher without a free descriptor refuses clients, and serves them when there is one", async () => {
  const launcher = await startLauncher({ slots: 1, sandboxes: 3 });
  const process = `/proc/${launcher.pid}`;
  const limit = (most: number) => execFileSync("prlimit", ["--pid", String(launcher.pid), `--nofile=${most}:`]);
  try {
    const first = await hold(launcher); // from now on, the launcher has the descriptors that it needs, and its own limit
    const usual = Number(readFileSync(`${process}/limits`, "utf8").match(/^Max open files\s+(\d+)/m)?.[1]);
    assert.ok(usual > 256, `${usual} descriptors`);
    const open = new Set(readdirSync(`${process}/fd`));
    let free = 0;
    while (open.has(String(free))) free++;
    limit(free);
    await assert.rejects(hold(launcher), SandboxesFullError);
    limit(usual);
    const second = await hold(launcher);
    assert.equal(await output(await second.attach(), "echo hello"), "hello\n");
    for (const box of [first, second]) assert.deepEqual(await box.end(), REMOVED);
  } finally {
    assert.equal(await launcher.stop(), 0);
  }
});
