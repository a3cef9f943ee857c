import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { AttachedSlot, HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, tracesLeft } from "../../support/launcher/machine.ts";
import { describe as described, execution, hold, output, python, Screen } from "../../support/launcher/sandbox.ts";

const MiB = 1 << 20;
const FILES = ["loadavg", "meminfo", "stat", "uptime"];

/** What programs read in /proc about the sandbox. */
const READ = `
import os, sys, time
def meminfo(): return {line.split(':')[0]: int(line.split()[1]) << 10 for line in open('/proc/meminfo')}
def stat():
  lines = {line.split()[0]: [int(word) for word in line.split()[1:]] for line in open('/proc/stat')}
  cpus = [lines[name] for name in lines if name.startswith('cpu') and name != 'cpu']
  assert [sum(each) for each in zip(*cpus)] == lines['cpu'], lines
  return {'cpus': len(cpus), 'used': sum(lines['cpu'][:3]) / 100, 'idle': lines['cpu'][3] / 100, 'boot': lines['btime'][0]}
def uptime(): return [float(word) for word in open('/proc/uptime').read().split()]
def until_written(since=None):
  before = since or os.stat('/proc/uptime').st_ino
  while os.stat('/proc/uptime').st_ino == before: time.sleep(0.01)
`;

describe("/proc of a sandbox", () => {
  let launcher: Launcher;
  let box: HeldSandbox;
  let slot: AttachedSlot;
  let began: number;
  before(async () => {
    launcher = await startLauncher({ slots: 1, sandboxes: 2 });
    began = performance.now();
    box = await hold(launcher);
    slot = await box.attach();
  });
  after(async () => {
    const { groupsLeft, reaped, residualMounts } = await box.end();
    assert.deepEqual([groupsLeft, reaped, residualMounts], [[], true, []]);
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
  });

  const read = async (source: string) =>
    JSON.parse(await output(slot, python(`import json\n${READ}\nprint(json.dumps(${source}))`)));
  const age = () => (performance.now() - began) / 1000;

  test("says how much of the sandbox's memory is used", async () => {
    const screen = new Screen();
    const source = `${READ}
used = bytearray(b'x') * (48 << 20)
with open('/tmp/file', 'wb') as file:
  for _ in range(32): file.write(b'x' * (1 << 20))
until_written(); until_written(); print('ready', flush=True); print(meminfo(), flush=True); input()
os.unlink('/tmp/file')`;
    const running = slot.run(execution(python(source), { live: true }), screen.add);
    await screen.until("ready");
    const { memoryBytes } = await box.measure();
    await screen.until("{");
    await slot.input(Buffer.from("\n"));
    const report = await running;
    assert.equal(report.exitCode, 0, described(report));
    const shown = JSON.parse(/\{.*\}/.exec(report.stdout.toString())?.[0].replaceAll("'", '"') ?? "");
    assert.equal(shown.MemTotal, 256 * MiB);
    const used = shown.MemTotal - shown.MemFree;
    assert.ok(
      Math.abs(used - memoryBytes) < 8 * MiB,
      `${used} bytes are shown as used, and ${memoryBytes} are charged`,
    );
    assert.ok(used >= 80 * MiB, `${used}`);
    assert.ok(shown.Shmem >= 32 * MiB && shown.Shmem < 48 * MiB && shown.Cached >= shown.Shmem, JSON.stringify(shown));
    assert.ok(shown.MemAvailable >= shown.MemFree && shown.MemAvailable <= 176 * MiB, JSON.stringify(shown));
    const later = await read("(until_written(), until_written(), meminfo())[2]");
    assert.ok(later.MemFree > shown.MemFree + 64 * MiB, `${later.MemFree} bytes are free after ${shown.MemFree}`);
  });

  test("says how long the sandbox ran and what it used, and nothing of the machine", async () => {
    const first = await read("(until_written(), stat(), uptime())");
    await output(slot, python(`${READ}\nwhile time.process_time() < 2: pass\nuntil_written()`));
    const { cpuUsec } = await box.measure();
    const second = await read("(until_written(), stat(), uptime())");
    const [, stat, [up, idle]] = second;
    assert.equal(stat.boot, first[1].boot);
    assert.ok(stat.used - first[1].used >= 1.9, `${stat.used} s after ${first[1].used}`);
    assert.ok(Math.abs(stat.used - cpuUsec / 1e6) < 0.5, `${stat.used} s, and ${cpuUsec / 1e6} s by the group`);
    assert.ok(stat.used + stat.idle <= stat.cpus * (age() + 0.1), `${JSON.stringify(stat)} in ${age()} s`);
    assert.ok(Math.abs(idle - stat.idle) < 0.02 && up - first[2][0] >= 2, JSON.stringify(second));
    const load = (await output(slot, "cat /proc/loadavg")).trim();
    const [one = "", five = "", fifteen = "", processes = ""] = load.split(" ");
    assert.ok(Number(one) > 0 && Number(one) <= stat.cpus && five <= one && fifteen <= five, load);
    assert.ok(Number(processes.split("/")[1]) <= 4, load);
  });

  test("agrees with the clock and the start of processes, as ps and psutil compute them", async () => {
    const source = `(child := __import__('subprocess').Popen(['sleep', '30']), time.sleep(3), until_written(),
      stat()['boot'] + int(open(f'/proc/{child.pid}/stat').read().split()[21]) / os.sysconf('SC_CLK_TCK') - time.time(),
      int(os.popen(f'ps -o etimes= -p {child.pid}').read()), child.kill(), uptime()[0] - time.clock_gettime(time.CLOCK_BOOTTIME))[3:7]`;
    const [start, elapsed, , behind] = await read(source);
    assert.ok(behind <= 0.01 && behind > -20, `the uptime is ${-behind} s behind the clock`);
    assert.ok(start < -2 && start > -20, `a child began ${-start} s ago`);
    assert.ok(elapsed >= 2 && elapsed <= -start + 2, `ps says ${elapsed} s, and psutil would say ${-start} s`);
    assert.match(await output(slot, "uptime"), /^ \d\d:\d\d:\d\d up .* load average: \d/);
    assert.match(await output(slot, "top -bn1 | sed -n 4p"), /^MiB Mem : +256\.0 total, +[1-9][\d.]* free/);
  });

  test("replaces its files as a whole: what was opened stays as it was", async () => {
    const source = `${READ}
for name in ${JSON.stringify(FILES)}:
  with open('/proc/' + name) as opened:
    before, node = opened.read(), os.fstat(opened.fileno()).st_ino
    until_written(); until_written()
    opened.seek(0)
    print(opened.read() == before, os.stat('/proc/' + name).st_ino != node, before != '' and before[-1] == '\\n')`;
    assert.equal(await output(slot, python(source)), "True True True\n".repeat(4));
  });

  test("cannot be changed by programs", async () => {
    const source = `
import os
for name in ('/proc/fs/sandbox', *(p + n for n in ${JSON.stringify(FILES)} for p in ('/proc/', '/proc/fs/sandbox/'))):
  for attempt in (lambda: os.open(name, os.O_WRONLY), lambda: os.open(name, os.O_RDWR | os.O_TRUNC), lambda: os.unlink(name), lambda: os.chmod(name, 0o777),
      lambda: os.rename(name, '/tmp/moved'), lambda: os.rename('/tmp/own', name), lambda: os.link(name, '/proc/fs/sandbox/other'), lambda: os.utime(name),
      lambda: os.symlink('/tmp/own', name), lambda: os.open('/proc/fs/sandbox/.new', os.O_CREAT | os.O_WRONLY), lambda: os.mkdir('/proc/fs/sandbox/d'),
      lambda: os.setxattr(name, 'user.a', b'b')):
    try: attempt(); print('done', name)
    except OSError: pass
print(sorted(os.listdir('/proc/fs')), sorted(set(os.listdir('/proc/fs/sandbox')) - {'.new'}))`;
    assert.equal(await output(slot, python(source)), `['sandbox'] [${FILES.map((name) => `'${name}'`).join(", ")}]\n`);
    const mounts = await output(slot, "grep ' /proc/fs/sandbox ' /proc/self/mountinfo");
    assert.match(mounts, / ro,nosuid,nodev,noexec,[^\n]*\n$/);
  });

  test("lets programs keep only a few replaced files, whose memory is charged to nobody", async () => {
    const source = `${READ}
kept, last = [], time.monotonic()
while time.monotonic() - last < 4:
  for name in ${JSON.stringify(FILES)}:
    opened = os.open('/proc/' + name, os.O_RDONLY)
    node = os.fstat(opened).st_ino
    if all(other != node for _, other in kept): kept.append((opened, node)); last = time.monotonic()
    else: os.close(opened)
  time.sleep(0.05)
space = os.statvfs('/proc/fs/sandbox')
print(len(kept), space.f_files, space.f_blocks * space.f_bsize, flush=True)
for name in ${JSON.stringify(FILES)}: assert open('/proc/' + name).read()
for opened, _ in kept: os.close(opened)
until_written()`;
    const report = await slot.run(execution(python(source)));
    assert.equal(report.exitCode, 0, described(report));
    const [count, files, bytes] = report.stdout.toString().split(" ").map(Number);
    assert.ok((count ?? 99) < 24 && files === 24 && bytes === 128 * 1024, `${report.stdout}`);
  });

  test("is not written while no program can read it", async () => {
    const holder = childrenOf(launcher.pid).flatMap(childrenOf);
    const inits = holder.filter((pid) => readFileSync(`/proc/${pid}/comm`, "utf8") === "assay-init\n");
    const shown = () =>
      inits.flatMap((pid) => {
        try {
          return [readFileSync(`/proc/${pid}/root/proc/fs/sandbox/uptime`, "utf8")];
        } catch {
          return []; // the init of a box of submissions
        }
      });
    await output(slot, "true");
    await sleep(100);
    const before = shown();
    assert.equal(before.length, 1);
    await sleep(2500);
    assert.deepEqual(shown(), before);
    const running = slot.run(execution("sleep 600"));
    await sleep(2500);
    assert.notDeepEqual(shown(), before);
    await box.pause();
    const paused = shown();
    await sleep(2500);
    assert.deepEqual(shown(), paused);
    await box.resume();
    slot.kill();
    await running;
  });
});
