import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { AttachedSlot, HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { tracesLeft } from "../../support/launcher/machine.ts";
import { describe as described, execution, hold, output, python } from "../../support/launcher/sandbox.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";

const MiB = 1 << 20;

/** A program that makes system calls by number, with call(number, arguments...), which returns the errno or 0. */
const CALL = `
import ctypes, os, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
  ctypes.set_errno(0)
  libc.syscall(number, *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
  return ctypes.get_errno()
`;

describe("programs in a sandbox cannot", () => {
  let launcher: Launcher;
  let box: HeldSandbox;
  let slot: AttachedSlot;
  before(async () => {
    launcher = await startLauncher({ slots: 1, sandboxes: 2 });
    box = await hold(launcher);
    slot = await box.attach();
  });
  after(async () => {
    const { groupsLeft, reaped, residualMounts } = await box.end();
    assert.deepEqual([groupsLeft, reaped, residualMounts], [[], true, []]);
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
  });

  test("change the image, or leave its layer", async () => {
    const script =
      "for f in /usr/bin/new /etc/new /opt/new /dev/new /proc/sys/kernel/hostname; do echo > $f && echo wrote $f; done 2>/dev/null; rm -f /usr/bin/env /etc/passwd 2>/dev/null; ls /usr/bin/env /etc/passwd; ls -d /upper /work /layer 2>/dev/null; true";
    assert.equal(await output(slot, script), "/etc/passwd\n/usr/bin/env\n");
  });

  test("see the machine in /proc", async () => {
    const script = `
import os
for name in sorted(os.listdir('/proc')):
  path = '/proc/' + name
  if name.isdigit() or name in ('self', 'thread-self', 'mounts', 'net'): continue
  try:
    if os.path.isdir(path): os.listdir(path)
    else: open(path).read()
    print(name)
  except PermissionError: pass`;
    const readable = (await output(slot, python(script))).trim().split("\n");
    assert.deepEqual(readable, [
      ...[
        "cgroups",
        "cpuinfo",
        "diskstats",
        "filesystems",
        "fs",
        "loadavg",
        "meminfo",
        "partitions",
        "stat",
        "swaps",
        "sys",
        "uptime",
      ],
      ...["version", "vmstat"],
    ]);
    assert.equal(
      await output(slot, "head -1 /proc/meminfo; cat /proc/sys/kernel/hostname"),
      "MemTotal: 262144 kB\nassay\n",
    );
    assert.equal(
      await output(slot, "ls -d /proc/1 2>&1 || true"),
      "ls: cannot access '/proc/1': No such file or directory\n",
    );
  });

  test("signal the init of the sandbox, its holder or its slot", async () => {
    const source = `${CALL}
print(os.getppid())
try: os.kill(1, 9); print('done')
except OSError as e: print(e.errno)`;
    assert.equal(
      await output(slot, python(source)),
      "0\n1\n",
      "its parent is in no namespace of the program; EPERM for the init",
    );
    assert.equal(await output(slot, "echo alive"), "alive\n");
  });

  test("make calls that only the launcher makes", async () => {
    const EPERM = 1;
    const source = `${CALL}
print(call(101, 0, 0, 0, 0), call(272, 0x10000000), call(165, 0, 0, 0, 0, 0), call(308, 0, 0), call(321, 0, 0, 0), call(250, 0, 0), call(304, 0, 0, 0))
import fcntl, termios
m, s = os.openpty()
for request in (0x5412, 0x5423, 0x541c, 0x541d):
  try: fcntl.ioctl(s, request, b'x' * 8); print('done')
  except OSError as e: print(e.errno)
for family in (16, 17, 38, 40, 42, 43):
  try: socket.socket(family, 2); print('done')
  except OSError as e: print(e.errno)
`;
    const [calls, ...others] = (await output(slot, python(source))).trim().split("\n");
    assert.deepEqual(
      calls?.split(" "),
      Array(7).fill(String(EPERM)),
      "ptrace, unshare, mount, setns, bpf, keyctl, open_by_handle_at",
    );
    assert.deepEqual(
      others,
      [...Array(4).fill("25"), ...Array(6).fill("97")],
      "TIOCSTI, TIOCSETD, TIOCLINUX, TIOCCONS; families",
    );
  });

  test("have memory that is charged to nobody", { timeout: 300_000 }, async () => {
    /* Each makes as many objects as it can within 48 MiB. What they take of the machine's memory must be charged, or be little. */
    const attacks: Record<string, string> = {
      "data in connections that nobody accepts": `
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM); s.bind('\\0listen'); s.listen(4096); kept = []
try:
  while True:
    c = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM); c.setblocking(False); c.connect('\\0listen'); kept.append(c)
    try:
      while True: c.send(b'x' * 65536)
    except BlockingIOError: pass
except OSError: pass`,
      "watches of files": `
kept = []
try:
  while True:
    fd = libc.inotify_init1(0)
    if fd < 0: break
    kept.append(fd)
    for root, directories, files in os.walk('/usr/lib'):
      if libc.inotify_add_watch(fd, root.encode(), 0xfff) < 0: break
except OSError: pass`,
      "descriptors in flight": `
kept = []
try:
  while True:
    a, b = socket.socketpair(); kept += [a, b]; a.setblocking(False)
    try:
      while True: socket.send_fds(a, [b'x'], [a.fileno()] * 250)
    except BlockingIOError: pass
except OSError: pass`,
      terminals: `
kept = []
try:
  while True:
    m, s = os.openpty(); kept += [m, s]; os.set_blocking(s, False); os.set_blocking(m, False)
    try:
      while True: os.write(s, b'x' * 4096)
    except BlockingIOError: pass
except OSError: pass`,
    };
    for (const [name, source] of Object.entries(attacks)) {
      const own = { limits: { memoryBytes: 48 * MiB, wallMs: 20_000, openFiles: 4096 } };
      const report = await slot.run(execution(python(`${CALL}${source}\nprint('end', flush=True)`), own));
      assert.ok(["none", "oom", "wall", "cpu"].includes(report.killReason), `${name}: ${described(report)}`);
      assert.ok(report.memoryPeakBytes <= 49 * MiB, `${name}: ${report.memoryPeakBytes} bytes`);
      assert.equal(report.teardown.pidsLeft, 0, name);
    }
    assert.equal(await output(slot, "echo alive"), "alive\n");
  });

  test("use much of the kernel's memory in processes that were left", async () => {
    const source = `${CALL}
import mmap
if os.fork(): os._exit(0)
os.setsid()
for fd in (0, 1, 2): os.close(fd)
kept = []
while True:
  try: kept.append(mmap.mmap(-1, 4096)); kept.append(os.eventfd(0))
  except OSError: time.sleep(0.05)`;
    const many = "import os\nfor i in range(40): os.spawnv(os.P_NOWAIT, '/usr/bin/python3', ['python3', '-c', SOURCE])";
    const own = { leaveProcesses: true, limits: { memoryBytes: 200 * MiB, openFiles: 4096 } };
    const report = await slot.run(execution(python(many.replace("SOURCE", JSON.stringify(source))), own));
    assert.equal(report.failure, undefined, described(report));
    for (let tries = 0; (await box.measure()).processes > 0; tries++) {
      assert.ok(tries < 300 * PATIENCE, "they were not ended");
      await sleep(100);
    }
    assert.equal(await output(slot, "echo alive"), "alive\n");
  });

  test("outlive a kill by forking", async () => {
    const bomb = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass";
    const report = await slot.run(execution(python(bomb), { limits: { wallMs: 1500, processes: 64 } }));
    assert.ok(["wall", "cpu", "oom"].includes(report.killReason), described(report));
    assert.equal(report.teardown.pidsLeft, 0);
    for (let tries = 0; (await box.measure()).processes > 0; tries++) {
      assert.ok(tries < 100 * PATIENCE, "they were not ended");
      await sleep(10);
    }
  });
});
