import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { AttachedSlot, HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, groupsOf, tracesLeft } from "../../support/launcher/machine.ts";
import { describe as described, execution, hold, output, python, Screen } from "../../support/launcher/sandbox.ts";

const MiB = 1 << 20;

/** A program that gets descriptors from other executions, in the list `kept`. */
const TAKE = `
import os, socket, time
server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM); server.bind('\\0place'); server.listen(64)
print('ready', flush=True)
kept = []
def take(most):
  connection = server.accept()[0]
  kept.extend(socket.recv_fds(connection, 1, most)[1])
`;
/** A program that gives its descriptors to such a program. */
const give = (...descriptors: number[]) =>
  python(`
import os, socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM); s.connect('\\0place'); socket.send_fds(s, [b'x'], [${descriptors}]); os._exit(0)`);

/** How much of this kind of memory the whole machine uses, in MiB. */
const machineMemory = (kind: "SUnreclaim" | "Shmem"): number =>
  Number(new RegExp(`^${kind}: +(\\d+)`, "m").exec(readFileSync("/proc/meminfo", "utf8"))?.[1]) / 1024;

describe("executions of one sandbox", () => {
  let launcher: Launcher;
  let box: HeldSandbox;
  let slot: AttachedSlot;
  let other: AttachedSlot;
  before(async () => {
    launcher = await startLauncher({ slots: 1, sandboxes: 2 });
    box = await hold(launcher, { inodes: 32768 });
    slot = await box.attach();
    other = await box.attach();
  });
  after(async () => {
    const { groupsLeft, reaped, residualMounts } = await box.end();
    assert.deepEqual([groupsLeft, reaped, residualMounts], [[], true, []]);
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
  });

  test("cannot write to a directory of two layers, whose lists are charged to nobody", async () => {
    const writable = "find / -xdev -type d -writable -not -path '/home/user/*' 2>/dev/null; true";
    assert.equal(await output(slot, writable), "/tmp\n/home/user\n");
    const source = `
import os, ctypes
libc, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(65536)
for directory in ('/tmp', '/home/user'):
  for i in range(6000): open(f"{directory}/{'x' * 235}{i:06d}", 'w').close()
  kept = []
  for i in range(40):
    open(directory + '/changed', 'w').close(); os.unlink(directory + '/changed')
    kept.append(os.open(directory, os.O_RDONLY)); libc.syscall(217, kept[-1], buffer, 1000)
print('made', flush=True); input()
for directory in ('/tmp', '/home/user'):
  for name in os.listdir(directory):
    if name.startswith('xxx'): os.unlink(directory + '/' + name)`;
    const before = machineMemory("SUnreclaim");
    const running = slot.run(execution(python(source), { live: true }), (_, bytes) => {
      assert.equal(bytes.toString(), "made\n");
      const grown = machineMemory("SUnreclaim") - before;
      void slot.input(Buffer.from("\n"));
      assert.ok(grown < 100, `the machine's memory has grown by ${grown} MiB; lists of names would take 226`);
    });
    const report = await running;
    assert.equal(report.exitCode, 0, described(report));
  });

  test("keep no output of others open beyond their end, nor fill the slot with it", async () => {
    const screen = new Screen();
    const taker = `${TAKE}
take(2)
written = 0
try:
  while written < 1 << 32: written += os.write(kept[0], b'x' * 65536)
except BrokenPipeError: print('refused', flush=True)`;
    const running = slot.run(execution(python(taker)), screen.add);
    await screen.until("ready");
    let received = 0;
    const report = await other.run(execution(give(1, 2), { paced: true }), (_, bytes) => {
      received += bytes.length;
    });
    assert.deepEqual(
      [report.exitCode, report.readError, report.teardown.unreadFacts],
      [0, false, []],
      described(report),
    );
    // What is written while the program still ends is its output. A slot that awaited the end of the pipe would read for 15 s.
    assert.ok(received <= 512 * MiB, `${received} bytes were sent to the client`);
    assert.equal((await running).stdout.toString(), "ready\nrefused\n");
  });

  test("are charged for their input, also if others keep it", async () => {
    const screen = new Screen();
    const running = slot.run(execution(python(`${TAKE}\nwhile True: take(1)`)), screen.add);
    await screen.until("ready");
    const before = await box.measure();
    const stdin = Buffer.alloc(MiB, 1);
    for (let i = 0; i < 20; i++) assert.equal((await other.run(execution(give(0), { stdin }))).exitCode, 0);
    const grown = (await box.measure()).memoryBytes - before.memoryBytes;
    assert.ok(grown >= 18 * MiB, `the sandbox is charged for ${grown} bytes`);
    slot.kill();
    await running;
    slot = await box.attach();
    assert.equal(await output(other, ["cat"], { stdin: Buffer.from("input") }), "input");
    const small = await other.run(
      execution(["cat"], { stdin: Buffer.alloc(8 * MiB), limits: { memoryBytes: 4 * MiB } }),
    );
    assert.deepEqual(
      [small.failure, small.oomKills > 0, small.controlsMissing],
      [undefined, true, []],
      described(small),
    );
  });

  test("keep no input that was not read", async () => {
    const before = machineMemory("Shmem");
    assert.ok(before > 0);
    const screen = new Screen();
    const running = slot.run(
      execution(python(`${TAKE}\ntake(1)\ntime.sleep(1)\nprint(len(os.read(kept[0], 1 << 20)))`)),
      screen.add,
    );
    await screen.until("ready");
    const giver = other.run(execution(give(0), { live: true }));
    await other.input(Buffer.alloc(MiB / 32));
    assert.equal((await giver).exitCode, 0);
    assert.equal((await running).stdout.toString(), "ready\n0\n");
  });

  test("that end others before their start cause a failure of the sandbox, not of the platform", async () => {
    const source =
      "import os, time\nprint('ready', flush=True)\nwhile True:\n  try: os.kill(-1, 9)\n  except OSError: pass";
    const screen = new Screen();
    const running = slot.run(execution(python(source)), screen.add);
    await screen.until("ready");
    for (let i = 0; i < 20; i++) {
      const report = await other.run(execution("echo hi"));
      if (report.failure) assert.equal(report.failure.step, "sandbox", described(report));
      else assert.ok(report.signal === 9 || report.exitCode === 0, described(report));
    }
    slot.kill();
    await running;
    slot = await box.attach();
  });

  /** Leaves a process that runs this source after the end of the execution. */
  const leave = async (source: string): Promise<void> => {
    const left = `
import mmap, os, time
first, end = os.pipe()
if os.fork(): os._exit(0)
os.setsid(); os.close(end); os.read(first, 1)
for fd in (0, 1, 2): os.close(fd)
time.sleep(0.2)
${source}`;
    const report = await slot.run(execution(python(left), { leaveProcesses: true }));
    assert.deepEqual([report.failure, report.processesLeft], [undefined, 1], described(report));
  };
  const noneLeft = async (): Promise<void> => {
    for (let tries = 0; (await box.measure()).processes > 0; tries++) {
      assert.ok(tries < 600, "the process that was left was not ended");
      await sleep(100);
    }
  };

  test("leave no process with more page tables than an execution may have", async () => {
    await leave(`
space = mmap.mmap(-1, 12 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
for i in range(6000): space[i << 21] = 1
while True: time.sleep(1)`);
    await noneLeft();
  });

  test("leave no process that holds the lock for renames without being stopped", async () => {
    await leave(`
os.chdir('/tmp'); depth = 0
while depth < 14000: os.mkdir('d'); os.chdir('d'); depth += 1
open('a', 'w').close()
end = time.time() + 60
while time.time() < end: os.rename('a', 'b'); os.rename('b', 'a')`);
    const isStopped = () =>
      groupsOf(launcher).some((path) => {
        if (!/\/h\d+$/.test(path)) return false;
        try {
          return readFileSync(join(path, "cgroup.freeze"), "utf8") === "1\n";
        } catch {
          return false; // a group of another tree
        }
      });
    for (let times = 0; times < 3; times++) {
      await eventually("the sandbox is stopped", isStopped);
      await eventually("the sandbox continues", () => !isStopped());
    }
    const end =
      "import os\nfor p in map(int, filter(str.isdigit, os.listdir('/proc'))):\n  if p != os.getpid(): os.kill(p, 9)";
    await output(other, python(end));
    await noneLeft();
    await eventually("the sandbox continues", () => !isStopped());
    await output(other, "rm -rf /tmp/d || true");
  });

  test("have terminals that are read at a bounded rate", async () => {
    let received = 0;
    const begin = performance.now();
    const own = { terminal: { rows: 24, cols: 80 }, paced: true, limits: { wallMs: 3000 } };
    await slot.run(execution("stty raw; exec yes", own), (_, bytes) => {
      received += bytes.length;
    });
    const seconds = (performance.now() - begin) / 1000;
    assert.ok(received > 0 && received <= (4 * seconds + 2) * MiB, `${received} bytes in ${seconds} s`);
  });
});

test("executions get no more memory for files of earlier ones that they remove", async () => {
  const launcher = await startLauncher({ slots: 1, sandboxes: 1 });
  const box = await hold(launcher, { memoryBytes: 512 * MiB, diskBytes: 300 * MiB });
  const slot = await box.attach();
  for (let i = 0; i < 16; i++) await output(slot, `head -c ${16 * MiB} /dev/zero > /tmp/${i}`);
  const source = "import os\nfor f in os.listdir('/tmp'): os.unlink('/tmp/' + f)\nx = bytearray(24 << 20)";
  const report = await slot.run(execution(python(source), { limits: { memoryBytes: 20 * MiB } }));
  assert.deepEqual([report.killReason, report.oomKills > 0], ["oom", true], described(report));
  assert.deepEqual((await box.end()).groupsLeft, []);
  assert.equal(await launcher.stop(), 0);
});

test("a sandbox that was the first to read files of the image leaves nothing", async () => {
  const launcher = await startLauncher({ slots: 1, sandboxes: 1 });
  const box = await hold(launcher);
  const slot = await box.attach();
  const file = "/opt/assay/node/node";
  const onHost = join(process.env.ASSAY_TEST_IMAGE ?? "", "rootfs", file);
  execFileSync("dd", [`if=${onHost}`, "iflag=nocache", "count=0", "status=none"]); // drops what nobody uses
  await output(slot, `head -c 30000000 ${file} >/dev/null`);
  assert.deepEqual((await box.end()).groupsLeft, []);
  assert.equal(await launcher.stop(), 0);
});
