import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { AttachedSlot, HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, tracesLeft } from "../../support/launcher/machine.ts";
import { describe as described, execution, hold, output, python, Screen } from "../../support/launcher/sandbox.ts";

const MiB = 1 << 20;

/** How many processes of this name run in the sandbox. */
const count = async (slot: AttachedSlot, name: string) =>
  Number(
    await output(
      slot,
      `n=0; for p in /proc/[0-9]*; do [ "$(cat $p/comm 2>/dev/null)" = ${name} ] && n=$((n+1)); done; echo $n`,
    ),
  );

describe("an execution in a sandbox", () => {
  let launcher: Launcher;
  let box: HeldSandbox;
  let slot: AttachedSlot;
  before(async () => {
    launcher = await startLauncher({ slots: 1, sandboxes: 2 });
    box = await hold(launcher);
    slot = await box.attach();
  });
  after(async () => {
    const { groupsLeft, reaped } = await box.end();
    assert.deepEqual([groupsLeft, reaped], [[], true]);
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
  });

  test("finds its program by PATH, and tells what cannot be started", async () => {
    assert.equal(await output(slot, ["echo", "hi"]), "hi\n");
    assert.equal(await output(slot, "pwd", { cwd: "/tmp" }), "/tmp\n");
    const noProgram = await slot.run(execution(["/no/program"]));
    assert.deepEqual(noProgram.failure, { step: "exec", object: "/no/program", errno: 2 });
    const noDirectory = await slot.run(execution("true", { cwd: "/no/directory" }));
    assert.deepEqual(noDirectory.failure, { step: "cwd", object: "/no/directory", errno: 2 });
    const own =
      "echo > own; chmod 700 own; touch -d @0 own; mv own /tmp/own; rm /tmp/own; mkdir d; chmod 3755 d; rmdir d; echo done";
    assert.equal(await output(slot, own), "done\n");
    assert.equal(await output(slot, ["cat"], { stdin: Buffer.from("input") }), "input");
  });

  test("can leave processes behind, or has none of them left", async () => {
    const left = await slot.run(execution("sleep 600 >/dev/null 2>&1 & echo started", { leaveProcesses: true }));
    assert.deepEqual([left.stdout.toString(), left.processesLeft, left.teardown.pidsLeft], ["started\n", 1, 0]);
    // The shell can have ended before its child has become the program.
    for (let tries = 0; (await count(slot, "sleep")) < 1; tries++) assert.ok(tries < 100, "it does not start");
    const killed = await slot.run(execution("sleep 600 & setsid sleep 600 & (sleep 600 &) ; true"));
    assert.deepEqual([killed.exitCode, killed.processesLeft], [0, 0]);
    assert.ok(killed.survivors >= 2);
    assert.equal(await count(slot, "sleep"), 1, "the one that was left runs on");
    const end =
      "import os\nfor p in filter(str.isdigit, os.listdir('/proc')):\n  if open(f'/proc/{p}/comm').read() == 'sleep\\n': os.kill(int(p), 9)";
    await output(slot, python(end));
    for (let tries = 0; (await count(slot, "sleep")) > 0; tries++) assert.ok(tries < 100, "it does not end");
  });

  test("is killed with all its descendants, and its neighbours run on", async () => {
    const victim = await box.attach();
    const screen = new Screen();
    const neighbour = slot.run(execution("read line; echo $line", { live: true }));
    const bomb =
      "import os,time\nfor i in range(30):\n  if os.fork() == 0: os.setsid(); time.sleep(600)\nprint('up', flush=True); time.sleep(600)";
    const running = victim.run(execution(python(bomb)), screen.add);
    await screen.until("up");
    victim.kill();
    const report = await running;
    assert.deepEqual([report.killReason, report.signal, report.teardown.pidsLeft], ["client", 9, 0]);
    await slot.input(Buffer.from("alive\n"));
    assert.equal((await neighbour).stdout.toString(), "alive\n");
    assert.equal(await count(slot, "python3"), 0);
  });

  test("is killed although its input is not read", async () => {
    const victim = await box.attach();
    const running = victim.run(execution("sleep 600", { live: true }));
    void victim.input(Buffer.alloc(4 * MiB));
    await sleep(200);
    victim.kill();
    assert.equal((await running).killReason, "client");
  });

  test("in a terminal, is killed although its input is not read and its size changes again and again", async () => {
    const victim = await box.attach();
    const screen = new Screen();
    const running = victim.run(
      execution("trap '' USR1; stty raw -echo; echo up; sleep 600", { terminal: { rows: 24, cols: 80 }, paced: true }),
      screen.add,
    );
    await screen.until("up");
    void victim.input(Buffer.alloc(100_000));
    for (let i = 0; i < 20_000; i++) await victim.resize(24, 80 + (i % 100));
    for (let i = 0; i < 20_000; i++) await victim.signal(10);
    victim.kill();
    assert.equal((await running).killReason, "client");
  });

  test("has a limit of memory of its own, and its end leaves the others alone", async () => {
    const neighbour = await box.attach();
    const running = neighbour.run(execution("read line; echo $line", { live: true }));
    const report = await slot.run(execution(python("x = bytearray(60 << 20)"), { limits: { memoryBytes: 32 * MiB } }));
    assert.deepEqual([report.killReason, report.memoryLimitBytes], ["oom", 32 * MiB], described(report));
    assert.ok(report.oomKills > 0);
    const after = await slot.run(execution("true"));
    assert.deepEqual(
      [after.oomKills, after.memoryPeakBytes < 4 * MiB],
      [0, true],
      "counters are those of this execution",
    );
    await neighbour.input(Buffer.from("alive\n"));
    assert.equal((await running).stdout.toString(), "alive\n");
    assert.ok((await box.measure()).oomKills > 0);
  });

  test("is charged for its own files only, and its peak is not hidden by files of earlier ones", async () => {
    await output(slot, "head -c 30000000 /dev/zero > /home/user/big");
    const small = await slot.run(execution("true"));
    assert.ok(small.memoryPeakBytes < 4 * MiB, `${small.memoryPeakBytes} bytes`);
    const large = await slot.run(execution(python("x = bytearray(20 << 20)")));
    assert.ok(large.memoryPeakBytes > 20 * MiB, `${large.memoryPeakBytes} bytes`);
    await output(slot, "rm /home/user/big");
  });

  test("the limit of the whole sandbox is reported to the holder", async () => {
    const events: number[] = [];
    box.onMemory(() => events.push(1));
    const own = { limits: { memoryBytes: 1024 * MiB } };
    const report = await slot.run(execution(python("x = bytearray(400 << 20)"), own));
    assert.equal(report.killReason, "oom", described(report));
    await eventually("the event has come", () => events.length > 0);
  });

  test("time stands still while the sandbox is paused", async () => {
    const screen = new Screen();
    const busy = "import time\nprint('up', flush=True)\nfor i in range(10**9): pass";
    const running = slot.run(execution(python(busy), { limits: { wallMs: 60_000, cpuMs: 2000 } }), screen.add);
    await screen.until("up");
    await box.pause();
    const before = await box.measure();
    assert.equal(before.frozen, true);
    await sleep(500);
    assert.equal((await box.measure()).cpuUsec, before.cpuUsec, "no CPU time is used");
    await assert.rejects(async () => {
      const report = await (await box.attach()).run(execution("true"));
      throw new Error(`${report.failure?.step} ${report.failure?.errno}`);
    }, /sandbox 16/);
    await box.resume();
    assert.equal((await box.measure()).frozen, false);
    const report = await running;
    assert.equal(report.killReason, "cpu");

    const waiting = slot.run(execution("sleep 600", { limits: { wallMs: 1500 } }));
    await sleep(200);
    await box.pause();
    await sleep(2500);
    await box.resume();
    const { killReason, wallNs } = await waiting;
    assert.equal(killReason, "wall");
    assert.ok(wallNs >= 1.5e9, `${wallNs} ns without the pause`);
  });

  test("a paused execution can be killed", async () => {
    const victim = await box.attach();
    const screen = new Screen();
    const running = victim.run(execution("sleep 600 & echo up; sleep 600"), screen.add);
    await screen.until("up");
    await box.pause();
    victim.kill();
    assert.equal((await running).killReason, "client");
    await box.resume();
  });

  test("a paced program waits for who reads", async () => {
    let taken = 0;
    let release: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const size = 8 * MiB;
    const running = slot.run(
      execution(`head -c ${size} /dev/zero; echo end >&2`, { paced: true, limits: { stdoutBytes: 1000 } }),
      (stream, bytes) => {
        if (stream === "stdout") taken += bytes.length;
        return gate;
      },
    );
    await sleep(1000);
    assert.ok(taken <= 2 * MiB, `${taken} bytes were taken`);
    release();
    const report = await running;
    assert.deepEqual([taken, report.stdout.length, report.stderr.toString(), report.exitCode], [size, 0, "end\n", 0]);
  });
});

describe("a terminal in a sandbox", () => {
  let launcher: Launcher;
  let box: HeldSandbox;
  before(async () => {
    launcher = await startLauncher({ slots: 1, sandboxes: 1 });
    box = await hold(launcher);
  });
  after(async () => {
    await box.end();
    assert.equal(await launcher.stop(), 0);
  });

  test("has a size, job control and the end of input", async () => {
    const slot = await box.attach();
    const screen = new Screen();
    const type = (text: string) => slot.input(Buffer.from(text));
    const shell = execution(["/bin/bash", "--norc", "-i"], { terminal: { rows: 24, cols: 80 } });
    const running = slot.run({ ...shell, env: { ...shell.env, PS1: "ready> " } }, screen.add);
    await screen.until("ready> ");
    await type("stty size; tty\n");
    await screen.until("24 80\r\n/dev/pts/0\r\n");
    await slot.resize(30, 100);
    await type("stty size\n");
    await screen.until("30 100\r\n");
    await screen.until("ready> ");
    await type("cat\n");
    await screen.until("cat\r\n");
    await sleep(300);
    await type("\x03");
    await screen.until("^C");
    await screen.until("ready> ");
    await type("sleep 600 & jobs\n");
    await screen.until("Running");
    await screen.until("ready> ");
    await slot.input(Buffer.alloc(0));
    const report = await running;
    assert.equal(report.signal, null);
    assert.equal(report.teardown.pidsLeft, 0);
  });

  test("is refused when the sandbox has no more", async () => {
    const slot = await box.attach();
    const opener = await box.attach();
    const screen = new Screen();
    const source =
      "import os,sys,time\nn = 0\ntry:\n  while True: os.openpty(); n += 1\nexcept OSError: print(n, flush=True)\ntime.sleep(600)";
    const holding = opener.run(execution(python(source)), screen.add);
    await screen.until("16\n");
    const refused = await slot.run(execution("tty", { terminal: { rows: 1, cols: 1 } }));
    assert.deepEqual([refused.failure?.step, refused.failure?.errno], ["terminal", 28]);
    opener.kill();
    await holding;
    const report = await slot.run(execution("tty", { terminal: { rows: 1, cols: 1 } }));
    assert.match(report.stdout.toString(), /^\/dev\/pts\/\d+\r\n$/);
  });
});
