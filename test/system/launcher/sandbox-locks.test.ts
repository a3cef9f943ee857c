import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { AttachedSlot, HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, tracesLeft } from "../../support/launcher/machine.ts";
import { describe as described, execution, hold, output, python } from "../../support/launcher/sandbox.ts";

const MiB = 1 << 20;
/** As LOCKS_OF_FILE and LOCKS_OF_SANDBOX in launcher/locks.h. */
const [OF_FILE, OF_SANDBOX] = [1024, 4096];
const SIGKILL = 9;

/** How many locks of files the machine has. */
const locks = (): number => readFileSync("/proc/locks", "utf8").split("\n").length - 1;

describe("locks of files in a sandbox", () => {
  let launcher: Launcher;
  let box: HeldSandbox;
  let slot: AttachedSlot;
  let other: AttachedSlot;
  before(async () => {
    launcher = await startLauncher({ slots: 1, sandboxes: 2 });
    box = await hold(launcher, { inodes: 16384 });
    slot = await box.attach();
    other = await box.attach();
  });
  after(async () => {
    const { groupsLeft, reaped, residualMounts } = await box.end();
    assert.deepEqual([groupsLeft, reaped, residualMounts], [[], true, []]);
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
  });

  /** A test for kernels on which the number of locks can be limited. On others, they succeed and lock nothing. */
  function limited(name: string, act: () => Promise<void>) {
    test(name, async (t) => {
      if (box.controls.includes("lock_limit")) return await act();
      const without =
        "import fcntl\na, b = open('x', 'w'), open('x', 'w')\nfor f in (a, b): fcntl.flock(f, fcntl.LOCK_EX)\nprint('both')";
      assert.equal(await output(slot, python(without)), "both\n");
      t.skip("the kernel cannot limit locks, so they have no effect");
    });
  }

  limited("keep a database whole that two executions write at the same time", async () => {
    const write = python(`
import sqlite3
c = sqlite3.connect('shared.db', timeout=60, isolation_level=None)
for i in range(200):
  c.execute('begin immediate'); n = c.execute('select n from counter').fetchone()[0]
  c.execute('update counter set n = ?', (n + 1,)); c.execute('insert into rows values (?)', ('x' * 500,)); c.execute('commit')`);
    for (const mode of ["delete", "wal"]) {
      const create = `rm -f shared.db*; python3 -c "import sqlite3; c = sqlite3.connect('shared.db'); c.execute('pragma journal_mode=${mode}'); c.execute('create table counter(n)'); c.execute('insert into counter values(0)'); c.execute('create table rows(t)'); c.commit()"`;
      await output(slot, create);
      await Promise.all([output(slot, write), output(other, write)]);
      const check = python(`
import sqlite3
c = sqlite3.connect('shared.db')
print(*[c.execute(q).fetchone()[0] for q in ('pragma integrity_check', 'select n from counter', 'select count(*) from rows', 'pragma journal_mode')])`);
      assert.equal(await output(slot, check), `ok 400 400 ${mode}\n`);
    }
  });

  limited("exclude other programs, for whole files and for ranges of bytes", async () => {
    const hold = `
import fcntl, struct, sys
whole, ranges, own = open('whole', 'w'), open('ranges', 'w'), open('own', 'w')
fcntl.flock(whole, fcntl.LOCK_EX); fcntl.lockf(ranges, fcntl.LOCK_EX, 10, 100)
fcntl.fcntl(own, 37, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0)) # F_OFD_SETLK
print('held', flush=True); input()`;
    const look = python(`
import fcntl, os
def free(name, lock, *more):
  with open(name, 'a') as f:
    try: lock(f, fcntl.LOCK_EX | fcntl.LOCK_NB, *more); return True
    except BlockingIOError: return False
print(free('whole', fcntl.flock), free('ranges', fcntl.lockf, 10, 105), free('ranges', fcntl.lockf, 10, 200), free('own', fcntl.lockf))
r, w = os.pipe(); fcntl.lockf(w, fcntl.LOCK_EX) # as make -O does with its output`);
    let looked: Promise<string> | undefined;
    await slot.run(execution(python(hold), { live: true }), () => {
      looked ??= output(other, look).finally(() => slot.input(Buffer.from("\n")));
    });
    assert.equal(await looked, "False False True False\n");
    assert.equal(await output(other, look), "True True True True\n");
  });

  const floods: readonly (readonly [name: string, most: number, source: string])[] = [
    [
      "ranges of one file",
      OF_FILE,
      "f = open('a', 'w')\nfor i in range(100000): fcntl.lockf(f, fcntl.LOCK_EX, 1, 2 * i)",
    ],
    [
      "ranges that are cut out of one",
      OF_FILE,
      "f = open('a', 'w'); fcntl.lockf(f, fcntl.LOCK_EX)\nfor i in range(100000): fcntl.lockf(f, fcntl.LOCK_UN, 1, 2 * i + 1)",
    ],
    [
      "ranges of many files",
      OF_SANDBOX,
      "for n in range(500):\n  f = open(f'f{n}', 'w'); kept.append(f)\n  for i in range(500): fcntl.lockf(f, fcntl.LOCK_EX, 1, 2 * i)",
    ],
    [
      "ranges by threads with descriptors of their own",
      OF_SANDBOX,
      `
def lock(k):
  f = open('t', 'w+'); kept.append(f)
  for i in range(100000): fcntl.fcntl(f, 37, struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 2 * i, 1, 0))
open('t', 'w'); ts = [threading.Thread(target=lock, args=(k,)) for k in range(16)]
for t in ts: t.start()
for t in ts: t.join()`,
    ],
    [
      "open files with flock(), each locked by a child that is killed, and kept by its parent",
      OF_SANDBOX,
      `
resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
for n in range(8000): kept.append(open('whole', 'w'))
at = 0
while at < 8000:
  if os.fork() == 0:
    for f in kept[at:at + 500]: fcntl.flock(f, fcntl.LOCK_SH)
    os._exit(0)
  os.wait(); at += 500 if at < 4000 else 1`,
    ],
    [
      "files that all tenants share",
      64,
      "for n in range(1000):\n  kept.append(os.eventfd(0))\n  if os.fork() == 0: fcntl.flock(kept[-1], fcntl.LOCK_SH)\n  else: os.wait()",
    ],
    ["the namespace of users", 1, "fcntl.flock(open('/proc/self/ns/user'), fcntl.LOCK_SH)"],
  ];
  for (const [name, most, source] of floods)
    limited(`are limited: ${name}`, async () => {
      const before = locks();
      let peak = 0;
      const watch = setInterval(() => {
        peak = Math.max(peak, locks() - before);
      }, 20);
      const program = `import fcntl, os, resource, struct, threading, time\nkept = []\n${source}\nwhile True: time.sleep(1)`;
      const report = await slot.run(execution(python(program), { limits: { openFiles: 8192, processes: 96 } }));
      clearInterval(watch);
      assert.equal(report.signal, SIGKILL, described(report));
      assert.ok(peak <= most + 600, `${peak} locks at the same time`);
      assert.equal(report.killReason, "none");
      await eventually("no lock is left", () => locks() <= before + 5);
      assert.equal(await output(other, "flock -n lock echo works"), "works\n");
    });

  limited("are counted exactly, also if a lock is changed into another kind in vain", async () => {
    const source = `
import fcntl, os
for i in range(6000):
  a, b = open('x', 'w'), open('x', 'w')
  fcntl.flock(a, fcntl.LOCK_SH); fcntl.flock(b, fcntl.LOCK_SH)
  try: fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB)
  except BlockingIOError: pass
  fcntl.flock(a, fcntl.LOCK_UN)
  b.close(); a.close()
  c = open('x', 'w'); fcntl.lockf(c, fcntl.LOCK_EX, 5, i); fcntl.lockf(c, fcntl.LOCK_UN, 1, i + 2); c.close()
kept = [open('x', 'w') for i in range(900)]
for f in kept: fcntl.flock(f, fcntl.LOCK_SH)
print('lives')`;
    assert.equal(await output(slot, python(source)), "lives\n");
  });

  limited("of a flood end the programs of no other sandbox, nor those that wait", async () => {
    const neighbour = await hold(launcher);
    const its = await neighbour.attach();
    const theirs = its.run(
      execution(
        python(
          "import fcntl, time; f = open('/etc/passwd'); fcntl.flock(f, fcntl.LOCK_EX); time.sleep(3); print('lives')",
        ),
      ),
    );
    // The same file of the image has a lock of its own in each sandbox.
    assert.equal(await output(slot, "flock -n /etc/passwd echo free"), "free\n");
    await slot.run(
      execution(
        python("import fcntl\nf = open('a', 'w')\nfor i in range(9999): fcntl.lockf(f, fcntl.LOCK_EX, 1, 2 * i)"),
      ),
    );
    const report = await theirs;
    assert.equal(report.stdout.toString(), "lives\n", described(report));
    await neighbour.end();
  });

  limited("let many programs wait for each other, whose end is prompt", async () => {
    const source = `
import fcntl, os, time
f = open('a', 'w'); fcntl.lockf(f, fcntl.LOCK_EX, 1, 0)
for n in range(60):
  if os.fork() == 0:
    g = open('a', 'w'); fcntl.lockf(g, fcntl.LOCK_EX, 1, n + 1); fcntl.lockf(g, fcntl.LOCK_EX, 1, n); os._exit(0)
time.sleep(1)`;
    const report = await slot.run(execution(python(source)));
    assert.equal(report.exitCode, 0, described(report));
    assert.equal(await output(other, "flock -w 30 a echo works"), "works\n");
  });

  limited("are charged so little that their number is the bound", async () => {
    const size = Number(/^file_lock_cache +\d+ +\d+ +(\d+)/m.exec(readFileSync("/proc/slabinfo", "utf8"))?.[1]);
    assert.ok(size * OF_SANDBOX < MiB, `a lock has ${size} bytes`);
  });
});
