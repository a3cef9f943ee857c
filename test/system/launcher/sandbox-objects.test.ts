import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { AttachedSlot, HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { executionOutcome } from "../../../src/worker/sandboxes/outcome.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, eventually, programsOf, tracesLeft } from "../../support/launcher/machine.ts";
import {
  describe as described,
  execution,
  hold,
  output,
  python,
  REMOVED,
  Screen,
} from "../../support/launcher/sandbox.ts";
import { sandboxRequest } from "../../support/sandboxes/caller.ts";
import { Raw } from "./raw.ts";

/* Rows of the tables in docs/security.md#sandboxes that no other file tries (test/unit/repo/bounds.ts). */

const MiB = 1 << 20;
const EAGAIN = 11;
const SANDBOXES = 2;
const [LEAST_LEAVES, MOST_LEAVES] = [48, 64];

let launcher: Launcher;
before(async () => {
  launcher = await startLauncher({ slots: 1, sandboxes: SANDBOXES });
});
after(async () => {
  assert.equal(await launcher.stop(), 0, launcher.stderr());
  assert.deepEqual(await tracesLeft(launcher), []);
});

async function inSandbox(
  work: (slot: AttachedSlot, box: HeldSandbox) => Promise<void>,
  limits: Parameters<typeof hold>[1] = {},
): Promise<void> {
  const box = await hold(launcher, limits);
  try {
    await work(await box.attach(), box);
  } finally {
    assert.deepEqual(await box.end(), REMOVED);
  }
}

test("/proc shows the same whatever the machine does, and a boot id of the sandbox", async () => {
  const source = `
def read(name): return open('/proc/' + name).read()
print([read(name).strip() for name in ('diskstats', 'partitions')])
print({line.split()[1] for line in read('vmstat').splitlines()}, len(read('swaps').splitlines()), len(read('cgroups').splitlines()))
print(read('filesystems').split())
print(read('sys/kernel/random/boot_id').strip(), end='')`;
  const ids = new Set([readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()]);
  for (let n = 0; n < 2; n++)
    await inSandbox(async (slot) => {
      const lines = (await output(slot, python(source))).split("\n");
      ids.add(lines.pop() as string);
      assert.deepEqual(lines, [
        "['', '']",
        "{'0'} 1 1",
        "['nodev', 'proc', 'nodev', 'tmpfs', 'nodev', 'devpts', 'nodev', 'overlay']",
      ]);
      const version = await output(slot, "cat /proc/version; grep -c ^processor /proc/cpuinfo");
      const cpus = readFileSync("/proc/cpuinfo", "utf8").match(/^processor/gm)?.length;
      assert.equal(version, `${readFileSync("/proc/version", "utf8")}${cpus}\n`);
    });
  assert.equal(ids.size, 3);
});

describe("objects that a program makes", () => {
  test("files in /dev/shm are limited in bytes and number, and charged as memory", async () => {
    await inSandbox(
      async (slot, box) => {
        const before = (await box.measure()).memoryBytes;
        const fill = `
import errno, os
def until_full(act):
  count = 0
  try:
    while True: act(count); count += 1
  except OSError as error: return count, errno.errorcode[error.errno]
piece = b'x' * (1 << 20)
file = open('/dev/shm/large', 'wb', buffering=0)
def write(_):
  if file.write(piece) < len(piece): raise OSError(errno.ENOSPC, 'full')
print(*until_full(write))
os.truncate('/dev/shm/large', 48 << 20)
print(*until_full(lambda n: open(f'/dev/shm/{n}', 'x').close()))`;
        const lines = (await output(slot, python(fill), { limits: { fileBytes: 128 * MiB } })).trim().split("\n");
        assert.equal(lines[0], "64 ENOSPC");
        const [files, why] = lines[1]?.split(" ") ?? [];
        assert.ok(why === "ENOSPC" && Number(files) <= 4096 && Number(files) > 4000, lines[1]);
        const grown = (await box.measure()).memoryBytes - before;
        assert.ok(grown >= 47 * MiB, `the sandbox is charged for ${grown} bytes`);
      },
      { diskBytes: 96 * MiB },
    );
  });

  test("extended attributes and ACLs, which are charged to nobody, cannot be made", async () => {
    const attempts = `
import errno, os
open('/tmp/a', 'w').close()
fd = os.open('/tmp/a', os.O_RDWR)
for name in ('user.a', 'system.posix_acl_access', 'security.a', 'trusted.a'):
  for target in ('/tmp/a', fd):
    try: os.setxattr(target, name, b'\\x02\\x00\\x00\\x00'); print('made', name)
    except OSError as error: print(error.errno)`;
    await inSandbox(async (slot) => {
      const lines = new Set((await output(slot, python(attempts))).trim().split("\n"));
      assert.deepEqual([...lines], ["95"], "EOPNOTSUPP");
    });
  });

  test("executions that leave processes have 48 leaves at least and 64 at most; then the sandbox is at its limit", async () => {
    await inSandbox(
      async (slot) => {
        let left = 0;
        let last = await slot.run(execution("sleep 600 >/dev/null 2>&1 &", { leaveProcesses: true }));
        for (; !last.failure && left < 2 * MOST_LEAVES; left++) {
          assert.equal(last.processesLeft, 1, described(last));
          last = await slot.run(execution("sleep 600 >/dev/null 2>&1 &", { leaveProcesses: true }));
        }
        assert.ok(left >= LEAST_LEAVES && left <= MOST_LEAVES, `${left} leaves`);
        assert.deepEqual(last.failure, { step: "sandbox", object: "no leaf for the step", errno: EAGAIN });
        const facts = { killedFor: null, isSandboxOutOfMemory: false, compiles: false };
        const { verdict } = executionOutcome(
          { execute: { ...last, inSandbox: true } },
          { ...facts, sandboxLimits: sandboxRequest().limits },
        ).result;
        assert.equal(verdict, "PLE", "a failure of the sandbox, and not of the platform");
      },
      { processes: 2 * MOST_LEAVES + 20 },
    );
  });

  test("the pipe of live input has 64 KiB, and a program can enlarge it to 1 MiB and no further", async () => {
    const source = `
import errno, fcntl
print(fcntl.fcntl(0, 1032))
for size in (1 << 20, 1 << 21):
  try: print(fcntl.fcntl(0, 1031, size))
  except OSError as error: print(errno.errorcode[error.errno])`;
    await inSandbox(async (slot) => {
      const report = await slot.run(execution(python(source), { live: true }));
      assert.deepEqual(report.stdout.toString().trim().split("\n"), ["65536", "1048576", "EPERM"], described(report));
    });
  });
});

describe("the network of a sandbox", () => {
  test("keeps at most 256 ends that wait for late packets", async (t) => {
    const source = `
import re, socket
server = socket.create_server(('127.0.0.1', 0), backlog=128)
for _ in range(700):
  s = socket.create_connection(server.getsockname()); a = server.accept()[0]
  s.close(); a.recv(1); a.close()
print(re.search(r'TCP:.* tw (\\d+)', open('/proc/net/sockstat').read()).group(1))`;
    await inSandbox(async (slot, box) => {
      if (!box.controls.includes("socket_limit")) return t.skip("the kernel cannot limit sockets, so there are none");
      const waiting = Number(await output(slot, python(source)));
      assert.ok(waiting > 128 && waiting <= 256, `${waiting} ends`);
    });
  });

  test("has no parts of packets, no metrics of addresses and no TCP Fast Open, and short queues", async (t) => {
    await inSandbox(async (slot, box) => {
      if (!box.controls.includes("socket_limit")) return t.skip("the kernel cannot limit sockets, so there are none");
      const screen = new Screen();
      const running = slot.run(execution("echo ready; exec sleep 600"), screen.add);
      await screen.until("ready");
      const [program] = programsOf(launcher);
      const names = [
        "core/somaxconn",
        "ipv4/tcp_max_syn_backlog",
        "ipv4/tcp_max_tw_buckets",
        "ipv4/ipfrag_high_thresh",
        "ipv4/tcp_no_metrics_save",
        "ipv4/tcp_fastopen",
      ];
      const enter = [`--net=/proc/${program?.pid}/ns/net`, "cat", ...names.map((name) => `/proc/sys/net/${name}`)];
      const values = execFileSync("nsenter", enter, { encoding: "utf8" });
      assert.deepEqual(values.trim().split("\n"), ["128", "128", "256", "0", "1", "0"]);
      slot.kill();
      await running;
    });
  });
});

/** Waits for a number of the sandbox. */
async function measured(box: HeldSandbox, isReached: (of: Awaited<ReturnType<HeldSandbox["measure"]>>) => boolean) {
  for (let tries = 0; ; tries++) {
    const now = await box.measure();
    if (isReached(now)) return now;
    assert.ok(tries < 600, JSON.stringify(now));
    await sleep(50);
  }
}

describe("a pause", () => {
  const FORKS = `
import os, time
while True:
  try:
    if os.fork() == 0:
      for _ in range(5):
        try: os.fork()
        except OSError: pass
      os._exit(0)
  except OSError: pass
  try:
    while os.waitpid(-1, os.WNOHANG)[0]: pass
  except OSError: pass`;

  test("stops programs that fork, again and again, and none runs until they are continued", async () => {
    await inSandbox(async (slot, box) => {
      const running = slot.run(execution(python(FORKS), { limits: { processes: 64 } }));
      await measured(box, ({ processes }) => processes > 8);
      let used = 0;
      for (let times = 0; times < 10; times++) {
        await box.pause();
        const first = await box.measure();
        await sleep(100);
        const second = await box.measure();
        assert.deepEqual([first.frozen, second.frozen, second.processes], [true, true, first.processes]);
        // The kernel can count the last microseconds before the stop a little later. Programs that fork on two CPUs would use 100 ms.
        assert.ok(
          second.cpuUsec - first.cpuUsec < 1_000,
          `${second.cpuUsec - first.cpuUsec} us while they are stopped`,
        );
        assert.ok(second.cpuUsec > used, "they have run since the last pause");
        used = second.cpuUsec;
        await box.resume();
        await measured(box, ({ cpuUsec }) => cpuUsec > used);
      }
      await box.pause();
      slot.kill();
      const report = await running;
      assert.deepEqual([report.killReason, report.teardown], ["client", REMOVED], described(report));
    });
  });

  test("leaves nothing of programs that fork if the sandbox ends meanwhile", async () => {
    await inSandbox(async (slot, box) => {
      const running = slot.run(execution(python(FORKS), { limits: { processes: 64 } })).catch(() => {});
      await measured(box, ({ processes }) => processes > 8);
      await box.pause();
      void running;
    });
  });

  test("frees memory that the kernel can do without, kills nothing and delays no resume", async (t) => {
    const look = `
import os, time
print('begins', flush=True); input()
for n in range(60000):
  try: os.stat(f'/tmp/{n:0200d}')
  except OSError: pass
print('looked', flush=True)
n = 0
while True: n += 1; print('goes on', flush=True); time.sleep(0.02)`;
    await inSandbox(async (slot, box) => {
      const screen = new Screen();
      const running = slot.run(execution(python(look), { live: true }), screen.add);
      await screen.until("begins");
      const base = (await box.measure()).memoryBytes;
      await slot.input(Buffer.from("\n"));
      await screen.until("looked");
      const before = await box.measure();
      if (before.memoryBytes - base < 8 * MiB) t.skip("this kernel keeps no names that do not exist");
      else {
        await box.pause();
        await sleep(500); // the next request ends it
        const after = await box.measure();
        assert.deepEqual([after.frozen, after.oomKills, after.processes], [true, 0, before.processes]);
        const freed = before.memoryBytes - after.memoryBytes;
        assert.ok(freed >= 2 * MiB, `${freed} of ${before.memoryBytes - base} bytes were freed`);
        await box.resume();
        screen.text = "";
        await screen.until("goes on");
      }
      slot.kill();
      assert.equal((await running).killReason, "client");
    });
  });
});

test("the launcher has 1,024 connections to all sandboxes, and refuses more until one ends", async () => {
  const [most, perSandbox] = [1024, 17];
  const large = await startLauncher({ slots: 1, sandboxes: Math.ceil(most / perSandbox) });
  const path = join(dirname(large.socket), "executions.sock");
  const open: Raw[] = [];
  try {
    for (let n = 0; n < most; n++) {
      const one = new Raw(path);
      open.push(one);
      assert.equal((await one.next())?.name, "HELLO", `connection ${n}`);
    }
    const refused = new Raw(path);
    const failed = await refused.expect("FAILED");
    assert.deepEqual([failed.text("STEP_NAME"), failed.int("STEP_ERRNO")], ["executions", EAGAIN]);
    refused.close();
  } finally {
    for (const one of open) one.close();
  }
  const served = await hold(large);
  await eventually("the launcher has a connection again", () => childrenOf(large.pid).length < most);
  assert.equal(await output(await served.attach(), "echo served"), "served\n");
  assert.deepEqual(await served.end(), REMOVED);
  assert.equal(await large.stop(), 0, large.stderr());
});
