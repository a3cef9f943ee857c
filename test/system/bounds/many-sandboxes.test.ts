import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { StepReport } from "../../../src/domain/report.ts";
import type { AttachedSlot, HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import { judge } from "../../../src/verdict/judge.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, groupsOf, hostMounts, programsOf, read, tracesLeft } from "../../support/launcher/machine.ts";
import { execution, hold, output, python, REMOVED } from "../../support/launcher/sandbox.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { LIMITS, shell } from "../../support/sandbox/steps.ts";

const MIB = 1 << 20;
const GIB = 1024 * MIB;
/** Of each hostile sandbox. */
const LIMITS_OF_HOSTILE = { memoryBytes: 24 * MIB, processes: 24, diskBytes: 4 * MIB, inodes: 256 };
const WANTED = process.env.ASSAY_TEST_LONG === "yes" ? 1_000 : 50;
/** Memory of the machine that stays free, and what the sandboxes take besides their limits: processes of the launcher, and the kernel's objects. */
const [FREE_BYTES, BESIDES_BYTES] = [4 * GIB, 6 * MIB];
const LEAST = 20;
const ROUNDS = 1;
/** The accounts of the hostile sandboxes, and that of the honest one. */
const [HOSTILE_ACCOUNTS, HONEST] = [[1, 2], 3];
/** So many sandboxes begin or end at once. */
const AT_ONCE = 8;

/**
 * Uses as much as the sandbox may have, of everything at once, again and again: processes, memory, locks, sockets and connections. Each kind has a process of
 * its own, which is started again when the kernel has killed it. They are paced, because this test is not about CPU time: sandbox-accounts.test.ts is, and some
 * kernels do not share that among hundreds of groups (docs/security.md).
 */
const STARVE = python(`
import fcntl, os, signal, socket, time
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
def locks():
  kept = []
  for n in range(200):
    kept.append(open(f'/tmp/lock{n % 8}', 'a'))
    try:
      fcntl.flock(open(f'/tmp/whole{n}', 'w'), fcntl.LOCK_EX)
      for i in range(1000): fcntl.lockf(kept[-1], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2 * i)
    except OSError: pass
  time.sleep(60)
def sockets():
  kept = []
  server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen(1024); server.setblocking(False)
  while True:
    try:
      one = socket.socket(); kept.append(one); one.setblocking(False); one.connect_ex(server.getsockname())
      one.send(b'x' * 65536)
    except OSError: pass
    try: kept.append(server.accept()[0])
    except OSError:
      if len(kept) > 300: kept.clear()
      time.sleep(.2)
def memory():
  kept = []
  while True: kept.append(b'x' * (1 << 20)); time.sleep(.2)
def forks():
  while True:
    try:
      if os.fork() == 0:
        time.sleep(10)
        os._exit(0)
      while os.waitpid(-1, os.WNOHANG)[0]: pass
    except OSError: pass
    time.sleep(.2)
kinds = [locks, sockets, memory, forks]
running = {}
print('ready', flush=True)
while True:
  for kind in kinds:
    if kind not in running.values():
      try:
        pid = os.fork()
        if pid == 0:
          try: kind()
          finally: os._exit(0)
        running[pid] = kind
      except OSError: pass
  try: running.pop(os.waitpid(-1, os.WNOHANG)[0], None)
  except OSError: pass
  time.sleep(1)
`);

/** What an ordinary program needs, and what the limits of an execution end. Each of them has one verdict. */
const HONEST_PROGRAMS: readonly { readonly source: string; readonly verdict: string }[] = [
  { source: "print(sum(range(2_000_000)))", verdict: "AC" },
  { source: "x = bytearray(40 << 20); print(len(x))", verdict: "AC" },
  {
    source: `
import os
pids = []
for _ in range(8):
  pid = os.fork()
  if pid == 0: os._exit(0)
  pids.append(pid)
for pid in pids: os.waitpid(pid, 0)`,
    verdict: "AC",
  },
  { source: "open('file', 'wb').write(b'x' * (4 << 20))", verdict: "AC" },
  { source: "raise SystemExit(3)", verdict: "RE" },
  { source: "import os; os.kill(os.getpid(), 15)", verdict: "SIG" },
  { source: "while True: pass", verdict: "TLE" },
  { source: "x = bytearray(400 << 20)", verdict: "MLE" },
  { source: "import os\nwhile True:\n  if os.fork() == 0: import time; time.sleep(1000)", verdict: "PLE" },
];
/** What only sandboxes have. */
const OF_SANDBOX: typeof HONEST_PROGRAMS = [
  {
    source: `
import sqlite3
with sqlite3.connect('data.db') as d:
  d.execute('create table if not exists t (a)')
  for n in range(100): d.execute('insert into t values (?)', (n,))
import fcntl
f = open('locked', 'w'); fcntl.flock(f, fcntl.LOCK_EX)
for i in range(100): fcntl.lockf(f, fcntl.LOCK_EX, 1, 2 * i)`,
    verdict: "AC",
  },
  {
    source: `
import socket
s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(64)
pairs = []
for _ in range(20):
  c = socket.socket(); c.connect(s.getsockname()); pairs.append((c, s.accept()[0]))
for c, d in pairs:
  c.sendall(b'x' * 1000); assert len(d.recv(1000, socket.MSG_WAITALL)) == 1000
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)`,
    verdict: "AC",
  },
  { source: "import os\nfor _ in range(4): os.openpty()", verdict: "AC" },
];

/** CPU time decides, and the wall time is so long that no neighbour can use it up. */
const BOUNDS = { cpuMs: 2_000 * PATIENCE, wallMs: 600_000, memoryBytes: 128 * MIB, processes: 32, fileBytes: 64 * MIB };

async function inTurn<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const waiting = all.values();
  const some = async () => {
    for (const one of waiting) await work(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, some));
}

const meminfo = (name: string) => Number(new RegExp(`^${name}: +(\\d+)`, "m").exec(read("/proc/meminfo"))?.[1]) * 1024;
/** How many network namespaces the kernel has; null if it does not say so. */
const namespaces = () => {
  const found = /^net_namespace +(\d+)/m.exec(read("/proc/slabinfo"))?.[1];
  return found === undefined ? null : Number(found);
};

test("sandboxes that use up all that they may have change no verdict of others, and leave nothing", async (t) => {
  const room = Math.floor(
    (meminfo("MemAvailable") - FREE_BYTES - GIB) / (LIMITS_OF_HOSTILE.memoryBytes + BESIDES_BYTES),
  );
  const count = Math.min(WANTED, room);
  if (count < LEAST) return t.skip(`the machine has memory for only ${count} sandboxes`);
  t.diagnostic(`${count} sandboxes`);
  const before = { mounts: hostMounts(), namespaces: namespaces() };
  const launcher = await startLauncher({
    slots: 2,
    sandboxes: count + 2,
    sandboxMemory: (count + 16) * LIMITS_OF_HOSTILE.memoryBytes + GIB,
  });
  t.after(() => t.diagnostic(launcher.stderr()));
  const slot = await Slot.open(launcher.socket);
  const honest = await hold(launcher, {}, HONEST);
  const programs = [...HONEST_PROGRAMS, ...OF_SANDBOX];

  /** The verdicts on all programs, in a sandbox and as submissions, and whether the launcher makes another sandbox for the account. */
  const verdicts = async () => {
    const attached = await honest.attach();
    const seen: string[] = [];
    const note = (report: StepReport) => {
      const { verdict, errorMessage } = judge({ execute: report });
      seen.push(verdict === "IE" ? `IE: ${errorMessage}` : verdict);
    };
    for (const { source } of programs) note(await attached.run(execution(python(source), { limits: BOUNDS })));
    attached.close();
    for (const { source } of HONEST_PROGRAMS) {
      const limits = { ...LIMITS, ...BOUNDS, cpus: 1, openFiles: 256, workBytes: 16 * MIB, addressSpaceBytes: null };
      note(await slot.run(shell("", { command: { command: python(source), env: {} }, limits })));
    }
    const another = await hold(launcher, {}, HONEST);
    seen.push(await output(await another.attach(), "echo alive"));
    assert.deepEqual(await another.end(), REMOVED);
    return seen;
  };
  const alone = await verdicts();
  const expected = [...programs, ...HONEST_PROGRAMS].map(({ verdict }) => verdict);
  assert.deepEqual(alone, [...expected, "alive\n"]);

  // All of them begin before the first one is hostile: what an account does in its sandboxes delays its own next ones.
  const boxes: HeldSandbox[] = [];
  const slots: AttachedSlot[] = [];
  await inTurn([...Array(count).keys()], async (n) => {
    const box = await hold(launcher, LIMITS_OF_HOSTILE, HOSTILE_ACCOUNTS[n % HOSTILE_ACCOUNTS.length]);
    boxes.push(box);
    slots.push(await box.attach());
  });
  const limits = {
    memoryBytes: LIMITS_OF_HOSTILE.memoryBytes,
    processes: LIMITS_OF_HOSTILE.processes,
    cpuMs: 3_600_000,
    wallMs: 3_600_000,
  };
  const running = slots.map(async (starving) => {
    // The kernel may kill any of its processes for its memory, also the first one.
    while (starving.alive) await starving.run(execution(STARVE, { limits })).catch(() => {});
  });
  for (let tries = 0; programsOf(launcher).length < 3 * count; tries++) {
    assert.ok(tries < 600, "the hostile programs do not run");
    await sleep(500);
  }
  assert.ok(meminfo("MemAvailable") > FREE_BYTES / 2, "the machine has too little memory for this test");
  for (let round = 0; round < ROUNDS; round++) assert.deepEqual(await verdicts(), alone, `round ${round}`);
  const used = await Promise.all(boxes.map((box) => box.measure()));
  const sum = (of: (one: (typeof used)[0]) => number) => used.reduce((total, one) => total + of(one), 0);
  // They were hostile the whole time: otherwise this would say nothing.
  t.diagnostic(`${sum(({ processes }) => processes)} processes, ${sum(({ oomKills }) => oomKills)} kills for memory`);
  assert.ok(sum(({ oomKills }) => oomKills) > count / 4, "they reach their memory limits");
  assert.ok(sum(({ processes }) => processes) > 3 * count, "they reach their process limits");

  await inTurn(boxes, async (box) => assert.deepEqual(await box.end(), REMOVED));
  await Promise.all(running);
  assert.deepEqual(await verdicts(), alone, "after their end");
  slot.close();
  assert.deepEqual(await honest.end(), REMOVED);
  await eventually("no group of a sandbox is left", () => !groupsOf(launcher).some((path) => /\/h\d+/.test(path)));
  assert.equal(await launcher.stop(), 0, launcher.stderr());
  assert.deepEqual(await tracesLeft(launcher), []);
  assert.deepEqual(hostMounts(), before.mounts);
  // Other tests have some as well, but not one for each of these sandboxes. The kernel frees them a moment after their last process.
  const most = (before.namespaces ?? 0) + count / 4;
  for (let tries = 0; (namespaces() ?? 0) > most && tries < 300; tries++) await sleep(100);
  assert.ok((namespaces() ?? 0) <= most, `${namespaces()} network namespaces`);
});
