import assert from "node:assert/strict";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { HELD_CONTROLS } from "../../../src/domain/controls.ts";
import { type HeldSandbox, SandboxesFullError } from "../../../src/sandbox/held-sandbox.ts";
import { FRAMES } from "../../../src/sandbox/protocol.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, eventually, groupsOf, read, tracesLeft } from "../../support/launcher/machine.ts";
import { execution, hold, output, python, rejoin, Screen } from "../../support/launcher/sandbox.ts";
import { connected, entry, frame, Raw, step, stepFrame } from "./raw.ts";

const SANDBOXES = 3;
const ATTACHED = 16;
/** Below SLOT_END_MS of the launcher, after which it kills slots without a client. */
const KEEP_SECONDS = 4;
const SLOT_END_MS = 10_000;

let launcher: Launcher;
before(async () => {
  launcher = await startLauncher({ slots: 1, sandboxes: SANDBOXES, keepSeconds: KEEP_SECONDS });
});
after(async () => {
  // A sandbox that waits for another client does not keep the launcher from its end, and leaves nothing.
  (await kept()).leave();
  assert.equal(await launcher.stop(), 0);
  assert.deepEqual(await tracesLeft(launcher), []);
});

async function kept(): Promise<HeldSandbox> {
  const box = await hold(launcher);
  box.keep();
  await box.measure(); // the holder has read what came before
  return box;
}

const noSandbox = () => groupsOf(launcher).every((path) => !/\/h\d+/.test(path));

async function ended(box: HeldSandbox): Promise<void> {
  const { reaped, pidsLeft, groupsLeft } = await box.end();
  assert.deepEqual([reaped, pidsLeft, groupsLeft], [true, 0, []]);
}

/** Waits for a condition that programs of a sandbox cause. */
async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await condition()); tries++) {
    if (tries > 600) throw new Error(`${what} did not happen`);
    await sleep(20);
  }
}

const lost = (box: HeldSandbox) => new Promise<void>((resolve) => box.onLost(() => resolve()));

/** Writes a line to a file every 10 ms. */
const COUNTER = "import time\nwhile True: open('/tmp/n', 'a').write('x'); time.sleep(0.01)";

describe("a kept sandbox", () => {
  test("outlives its client with all programs stopped, and goes on with the next client", async () => {
    const first = await kept();
    const slot = await first.attach();
    await output(slot, "echo kept > a");
    await output(slot, ["/bin/sh", "-c", `python3 -c "$0" >/dev/null 2>&1 &`, COUNTER], { leaveProcesses: true });
    await until("the counter runs", async () => (await output(slot, "wc -c < /tmp/n || echo 0")) !== "0\n");
    first.leave();
    await sleep(1000);

    const second = await rejoin(launcher, first.token);
    assert.deepEqual([second.controlsMissing, [...second.controls].sort()], [[], [...first.controls].sort()]);
    assert.deepEqual(
      HELD_CONTROLS.filter((control) => !second.controls.includes(control)),
      [],
    );
    assert.deepEqual([second.token, second.launcher], [first.token, first.launcher]);
    const [before, later] = [await second.measure(), await sleep(300).then(() => second.measure())];
    assert.deepEqual([before.frozen, later.frozen, later.cpuUsec], [true, true, before.cpuUsec]);
    const report = await (await second.attach()).run(execution("true"));
    assert.equal(`${report.failure?.step} ${report.failure?.errno}`, "sandbox 16", "nothing starts before RESUME");
    // A snapshot of a sandbox that is still paused.
    await second.freeze();
    await second.thaw();
    assert.equal((await second.measure()).frozen, true);
    await second.resume();
    const next = await second.attach();
    assert.equal(await output(next, "cat a"), "kept\n");
    const count = () => output(next, "wc -c < /tmp/n").then(Number);
    const already = await count();
    await until("the counter goes on", async () => (await count()) > already);
    await ended(second);
  });

  test("is taken over again and again, and is not killed although its first client is long gone", async () => {
    let box = await kept();
    await output(await box.attach(), "echo 1 > a");
    for (let times = 0; times < 5; times++) {
      box.leave();
      box = await rejoin(launcher, box.token);
    }
    await sleep(1000 * KEEP_SECONDS + SLOT_END_MS + 1000);
    await box.resume();
    assert.equal(await output(await box.attach(), "cat a"), "1\n");
    box.leave(); // the launcher sees that this client leaves as well
    await eventually("nothing is left", noSandbox);
  });

  test("ends when nobody comes in time; without KEEP, at once", async () => {
    const [waits, ends] = [await kept(), await hold(launcher)];
    waits.leave();
    ends.leave();
    await eventually("one is left", () => groupsOf(launcher).filter((path) => /\/h\d+$/.test(path)).length <= 4);
    await assert.rejects(rejoin(launcher, ends.token), /none with this token|ends|not kept/);
    assert.equal((await hold(launcher).then((box) => box.end())).reaped, true);
    await eventually("nothing is left", noSandbox);
    await assert.rejects(rejoin(launcher, waits.token), /none with this token/);
  });

  test("is ended by an END that came before its client left", async () => {
    const raw = await connected(join(dirname(launcher.socket), "sandboxes.sock"));
    const limits = [
      entry("HOLD_MEMORY", 128 << 20),
      entry("HOLD_PROCESSES", 32),
      entry("HOLD_DISK", 16 << 20),
      entry("HOLD_INODES", 1024),
      entry("HOLD_ON_DISK", 0),
      entry("HOLD_ACCOUNT", 7),
    ];
    raw.send(frame(FRAMES.HOLD, Buffer.concat(limits)));
    const token = (await raw.expect("HELD")).text("TOKEN");
    raw.send(Buffer.concat([frame(FRAMES.KEEP, Buffer.alloc(0)), frame(FRAMES.END, Buffer.alloc(0))]));
    raw.close();
    await eventually("nothing is left", noSandbox);
    await assert.rejects(rejoin(launcher, token), /none with this token/);
  });

  test("has one client: a takeover cuts the former one off, with what it runs", async () => {
    const first = await kept();
    const slots = await Promise.all(Array.from({ length: ATTACHED }, () => first.attach()));
    for (const slot of slots) await output(slot, "true");
    const [slot] = slots as [(typeof slots)[0]];
    const screen = new Screen();
    const running = slot.run(execution("echo up; sleep 600"), screen.add);
    await screen.until("up");
    const gone = lost(first);
    const second = await rejoin(launcher, first.token);
    await gone;
    await running.then(
      ({ exitCode }) => assert.equal(exitCode, null, "it was killed"),
      () => {}, // its connection was cut off first
    );
    await second.resume();
    assert.equal(await output(await second.attach(), "grep -lx sleep /proc/[0-9]*/comm || echo none"), "none\n");
    await ended(second);
  });

  test("lets a step in the background go on within its limits, if the client of the holder leaves as well", async () => {
    const first = await kept();
    const server = await first.attach();
    const other = await first.attach();
    const alone = await first.attach();
    const loop = (name: string) => `while true; do echo output; echo x >> /tmp/${name}; sleep 0.02; done`;
    const background = { leaveProcesses: true, limits: { wallMs: 8000 } };
    const running = [
      server.run(execution(loop("server"), background)),
      other.run(execution(loop("other"))),
      alone.run(execution(loop("alone"), { leaveProcesses: true })),
    ].map((report) => report.catch(() => null)); // nobody gets a report
    const slot = await first.attach();
    const count = async (name: string, of = slot) => Number(await output(of, `cat /tmp/${name} 2>/dev/null | wc -l`));
    for (const name of ["server", "other", "alone"]) await until(name, async () => (await count(name)) > 0);
    alone.close(); // the client has not left, so this ends the step
    await until("it was killed", async () => {
      const before = await count("alone");
      await sleep(200);
      return (await count("alone")) === before;
    });
    first.leave();
    await Promise.all(running);
    await sleep(500);
    const second = await rejoin(launcher, first.token);
    await second.resume();
    const next = await second.attach();
    const [before, others] = [await count("server", next), await count("other", next)];
    await until("the server goes on", async () => (await count("server", next)) > before);
    assert.equal(await count("other", next), others, "the other one was killed");
    // Its limit of wall time, from which the time without a client does not count, still ends it.
    await until("its limit ends it", async () => {
      const seen = await count("server", next);
      await sleep(300);
      return (await count("server", next)) === seen;
    });
    await ended(second);
  });

  test("is taken over by exactly one of many", async () => {
    const first = await kept();
    first.leave();
    const all = (await Promise.allSettled(Array.from({ length: 6 }, () => rejoin(launcher, first.token)))).flatMap(
      (one) => (one.status === "fulfilled" ? [one.value] : []),
    );
    assert.ok(all.length >= 1);
    await sleep(200); // those that were cut off learn it
    const alive = (await Promise.allSettled(all.map((box) => box.measure().then(() => box)))).flatMap((one) =>
      one.status === "fulfilled" ? [one.value] : [],
    );
    assert.equal(alive.length, 1);
    await ended(alive[0] as HeldSandbox);
  });

  test("stays stopped although its programs fork at that moment", async () => {
    const first = await kept();
    const slot = await first.attach();
    const storm = "import os\nwhile True:\n  pid = os.fork()\n  if pid: os.waitpid(pid, 0)";
    const start = `for i in 1 2 3 4; do python3 -c "$0" >/dev/null 2>&1 & done`;
    await output(slot, ["/bin/sh", "-c", start, storm], { leaveProcesses: true });
    await sleep(300);
    first.leave();
    const second = await rejoin(launcher, first.token);
    const before = await second.measure();
    assert.ok(before.processes >= 4, `${before.processes} processes`);
    await sleep(500);
    const later = await second.measure();
    assert.deepEqual(
      [later.frozen, later.cpuUsec, later.processes, later.memoryBytes <= before.memoryBytes],
      [true, before.cpuUsec, before.processes, true],
    );
    await ended(second);
  });

  test("keeps its place, and no holder beyond the places waits", async () => {
    const boxes = [await kept(), await kept(), await kept()];
    for (const box of boxes) box.leave();
    await assert.rejects(hold(launcher), SandboxesFullError);
    await eventually("nothing is left", noSandbox);
    await until("a place is free", () =>
      hold(launcher).then(
        (box) => box.end().then(() => true),
        () => false,
      ),
    );
  });

  test("leaves nothing if its holder is killed while it waits, or right after a takeover", async () => {
    for (const taken of [false, true]) {
      const box = await kept();
      await output(await box.attach(), "sleep 600 >/dev/null 2>&1 &", { leaveProcesses: true });
      box.leave();
      const next = taken ? await rejoin(launcher, box.token) : null;
      const holder = childrenOf(launcher.pid).find((pid) => childrenOf(pid).length > 0);
      assert.ok(holder);
      process.kill(holder, "SIGKILL");
      if (next) await lost(next);
      await eventually("nothing is left", noSandbox);
      await assert.rejects(rejoin(launcher, box.token), /none with this token/);
    }
  });

  test("is reached by its token alone, and only as the first request of a connection", async () => {
    const box = await kept();
    const path = join(dirname(launcher.socket), "executions.sock");
    const answer = async (body: Buffer) => {
      const raw = await connected(path);
      raw.send(frame(FRAMES.REJOIN, body));
      const got = await raw.next();
      raw.close();
      return got?.name;
    };
    assert.equal(await answer(entry("REJOIN_TOKEN", "0".repeat(32))), "FAILED");
    assert.equal(await answer(entry("REJOIN_TOKEN", "../../../../../../../../../../..")), "REFUSED");
    assert.equal(await answer(entry("REJOIN_TOKEN", box.token.slice(1))), "REFUSED");
    assert.equal(await answer(Buffer.alloc(0)), "REFUSED");
    assert.equal(await answer(Buffer.alloc(4096)), "REFUSED");
    for (const socket of [launcher.socket, join(dirname(launcher.socket), "sandboxes.sock")]) {
      const raw = await connected(socket);
      raw.send(frame(FRAMES.REJOIN, entry("REJOIN_TOKEN", box.token)));
      assert.equal((await raw.next())?.name, "REFUSED", socket);
      raw.close();
    }
    const raw = new Raw(path);
    await raw.expect("HELLO");
    const wanted = { KEEP_WORK: 0, MORE: 0, SANDBOX: box.token };
    raw.send(stepFrame([...step(["/bin/true"], { ...wanted })]));
    await raw.until("ENDED");
    await raw.expect("TEARDOWN");
    raw.send(frame(FRAMES.REJOIN, entry("REJOIN_TOKEN", box.token)));
    assert.equal((await raw.next())?.name, "REFUSED");
    raw.close();
    assert.equal((await box.measure()).frozen, false, "its client is not cut off by any of that");
    await ended(box);
  });

  test("has a token that no program, argument, environment or message shows", async () => {
    const [one, two] = [await kept(), await kept()];
    const slots = [await one.attach(), await two.attach()];
    const running = Promise.allSettled(
      slots.map((slot) => slot.run(execution(python("import time; time.sleep(600)")))),
    );
    await eventually("both run, beside the inits of their sandboxes", () => programs().length >= 4);
    for (const token of [one.token, two.token]) {
      assert.ok(!launcher.stderr().includes(token));
      for (const pid of [launcher.pid, ...childrenOf(launcher.pid)])
        for (const file of ["cmdline", "environ", "comm"]) assert.ok(!read(`/proc/${pid}/${file}`).includes(token));
      // The init of a sandbox, and its programs, were copies of processes of the launcher.
      for (const pid of programs())
        assert.ok(!memoryOf(pid).includes(token), `${pid}: ${read(`/proc/${pid}/cmdline`)}`);
    }
    for (const box of [one, two]) await ended(box);
    await running;
  });
});

/** The processes that the slots and holders of the launcher have started. */
function programs(): number[] {
  return childrenOf(launcher.pid).flatMap((pid) => childrenOf(pid));
}

/** What a process has in memory that it can write to. */
function memoryOf(pid: number): Buffer {
  const file = openSync(`/proc/${pid}/mem`, "r");
  const pieces: Buffer[] = [];
  for (const [, from = "", to = ""] of readFileSync(`/proc/${pid}/maps`, "utf8").matchAll(
    /^([0-9a-f]+)-([0-9a-f]+) rw/gm,
  )) {
    const [begin, size] = [BigInt(`0x${from}`), Number(BigInt(`0x${to}`) - BigInt(`0x${from}`))];
    const piece = Buffer.alloc(Math.min(size, 16 << 20));
    try {
      readSync(file, piece, 0, piece.length, begin);
    } catch {
      continue; // not in memory
    }
    pieces.push(piece);
  }
  closeSync(file);
  return Buffer.concat(pieces);
}
