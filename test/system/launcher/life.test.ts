import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { constants } from "node:os";
import { test } from "node:test";
import { promisify } from "node:util";
import { FRAMES } from "../../../src/sandbox/protocol.ts";
import { environment, type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import {
  childrenOf,
  eventually,
  exists,
  groupsOf,
  hostMounts,
  programsOf,
  read,
  tracesLeft,
  tracesOf,
} from "../../support/launcher/machine.ts";
import { stopwatch } from "../../support/stopwatch.ts";
import { connected, Raw, run, step, stepFrame } from "./raw.ts";

/** An unprivileged id that exists everywhere: `nobody`. */
const NOBODY = 65_534;
const MiB = 1 << 20;

/**
 * A program that leaves processes of every kind and keeps running; it prints a line when they exist. It clears the
 * signal that the kernel would send it at its slot's death.
 */
const SOURCE = `
import ctypes, os, subprocess, time
ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
subprocess.Popen(["/bin/sh", "-c", "sleep 600 & setsid sleep 601 & (sleep 602 &) ; wait"])
time.sleep(0.05)
print("up", flush=True)
time.sleep(600)`;
const BUSY = step(["/usr/bin/python3", "-c", SOURCE]);

async function startBusy(launcher: Launcher): Promise<Raw> {
  const raw = await connected(launcher.socket);
  raw.send(stepFrame(BUSY));
  const first = await raw.next();
  assert.equal(first?.body.toString(), "up\n");
  return raw;
}

async function assertNothingIsLeft(launcher: Launcher): Promise<void> {
  assert.deepEqual(await tracesLeft(launcher), []);
}

test("refuses peers of other uids, and serves root and the client", async (t) => {
  const launcher = await startLauncher({ clientUid: NOBODY, slots: 4 });
  t.after(() => launcher.stop());
  const answerTo = (uid: number) => speakAs(uid, launcher.socket);
  assert.equal(await answerTo(NOBODY), "answer");
  assert.equal(await answerTo(0), "answer");
  assert.equal(await answerTo(NOBODY - 1), "EACCES", "the socket's mode must refuse other uids");
  assert.match(launcher.stderr(), /^$/);
});

test("closes the connection of a peer of another uid without an answer", async (t) => {
  const launcher = await startLauncher({ clientUid: NOBODY, slots: 4 });
  t.after(() => launcher.stop());
  // Simulates a socket whose mode was changed.
  chmodSync(launcher.socket, 0o666);
  for (let times = 0; times < 3; times++) assert.equal(await speakAs(NOBODY - 1, launcher.socket), "closed");
  const line = "assay-launcher: refused peers of another uid:";
  assert.equal(launcher.stderr(), `${line} 1\n`, "the log line is limited to one a minute");
  await launcher.stop();
  assert.equal(launcher.stderr(), `${line} 1\n${line} 2\n`);
});

test("counts the connections that it refuses while all slots are taken", async (t) => {
  const launcher = await startLauncher({ slots: 1 });
  t.after(() => launcher.stop());
  const only = await connected(launcher.socket);
  for (let times = 0; times < 3; times++) {
    const refused = new Raw(launcher.socket);
    await refused.expect("FAILED");
    assert.equal(await refused.next(), null);
  }
  only.close();
  await launcher.stop();
  const line = "assay-launcher: refused connections, because all slots were taken:";
  assert.equal(launcher.stderr(), `${line} 1\n${line} 2\n`);
});

test("launcher and slots have only the capabilities that boxes need", async (t) => {
  const launcher = await startLauncher();
  t.after(() => launcher.stop());
  const raw = await connected(launcher.socket);
  const [slot = 0] = childrenOf(launcher.pid);
  const names =
    "chown dac_override kill setgid setuid setpcap sys_chroot sys_ptrace sys_admin sys_nice sys_resource mknod";
  const numbers = [0, 1, 5, 6, 7, 8, 18, 19, 21, 23, 24, 27];
  const most = numbers.reduce((sum, number) => sum | (1n << BigInt(number)), 0n);
  for (const pid of [launcher.pid, slot])
    for (const set of ["CapEff", "CapPrm"]) {
      const [, has = ""] = new RegExp(`^${set}:\\t(\\w+)`, "m").exec(read(`/proc/${pid}/status`)) ?? [];
      assert.match(has, /[1-9a-f]/, `${set} of ${pid}`);
      assert.equal(BigInt(`0x${has}`) & ~most, 0n, `${set} of ${pid} is ${has}: more than ${names}`);
    }
  raw.close();
});

/** The result of a connection to the socket by a process of this uid. */
function speakAs(uid: number, socket: string): Promise<string> {
  const script = `
    const socket = require("node:net").connect(${JSON.stringify(socket)});
    socket.on("data", () => { console.log("answer"); process.exit(); });
    socket.on("error", (error) => { console.log(error.code); process.exit(); });
    socket.on("close", () => console.log("closed"));`;
  // Node may be installed where only root has access, so the id is changed after its start.
  const source = `process.setgroups([]); process.setgid(${uid}); process.setuid(${uid}); ${script}`;
  const child = spawn(process.execPath, ["--eval", uid === 0 ? script : source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  return new Promise((resolve) => child.once("close", () => resolve(output.trim())));
}

for (const sanitize of [false, true]) {
  const build = sanitize ? "sanitizer build" : "hardened build";

  test(`a slot killed during a run leaves nothing, and its place is reused (${build})`, async (t) => {
    const launcher = await startLauncher({ sanitize, slots: 1 });
    t.after(() => launcher.stop());
    const before = hostMounts();
    const raw = await startBusy(launcher);
    assert.notDeepEqual(programsOf(launcher), [], "there is nothing to remove");
    const [slot] = childrenOf(launcher.pid);
    process.kill(slot as number, "SIGKILL");
    assert.equal(await raw.next(), null, "the connection must close");
    await eventually("the end of the box", () => programsOf(launcher).length === 0);
    await eventually("the end of its groups", () => leavesOf(launcher).length === 0);
    const next = await connected(launcher.socket);
    assert.equal((await run(next, step(["/bin/true"]))).ended.optionalInt("EXIT_CODE"), 0);
    next.close();
    assert.deepEqual(hostMounts(), before);
  });

  test(`a stopped launcher ends its runs, removes everything and exits with 0 (${build})`, async () => {
    const launcher = await startLauncher({ sanitize });
    await Promise.all([startBusy(launcher), startBusy(launcher)]);
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(tracesOf(launcher), [], "everything must be gone before the launcher exits");
    assert.equal(exists(launcher.socket), false);
    assert.equal(launcher.stderr(), "");
  });

  test(`a client that disconnects ends its program (${build})`, async (t) => {
    const launcher = await startLauncher({ sanitize });
    t.after(() => launcher.stop());
    const raw = await startBusy(launcher);
    raw.close();
    await eventually("the end of the box", () => programsOf(launcher).length === 0);
    await eventually("the end of its groups", () => leavesOf(launcher).length === 0);
  });
}

test("slots and boxes end with a killed launcher, and its successor removes the groups", async () => {
  const launcher = await startLauncher();
  await Promise.all([startBusy(launcher), startBusy(launcher)]);
  await launcher.kill();
  await eventually("the end of all processes", () => tracesOf(launcher).every((trace) => !trace.startsWith("process")));
  assert.notDeepEqual(groupsOf(launcher), [], "the groups are already removed");
  const successor = await startLauncher({ after: launcher });
  const raw = await connected(successor.socket);
  assert.equal(leavesOf(launcher).filter((path) => !/\/s0-b\d+$/.test(path)).length, 0);
  assert.equal((await run(raw, step(["/bin/true"]))).ended.optionalInt("EXIT_CODE"), 0);
  assert.equal(await successor.stop(), 0);
  await assertNothingIsLeft(successor);
});

test("a client that closes only its sending side ends its program and receives the report", async (t) => {
  const launcher = await startLauncher();
  t.after(() => launcher.stop());
  const raw = await startBusy(launcher);
  raw.finish();
  const { entries } = await raw.until("ENDED");
  assert.equal(entries.text("KILL_REASON"), "client");
  assert.equal(entries.int("SIGNAL"), 9);
});

test("reads 50 MB of output, forwards it up to the limit, and does not affect the program", async (t) => {
  const launcher = await startLauncher();
  t.after(() => launcher.stop());
  const raw = await connected(launcher.socket);
  const size = 50_000_000;
  const command = ["/usr/bin/python3", "-c", `import sys\nfor i in range(500): sys.stdout.write("x" * ${size / 500})`];
  raw.send(stepFrame(step(command, { STDOUT_BYTES: MiB })));
  const { entries, stdout } = await raw.until("ENDED");
  assert.equal(entries.optionalInt("EXIT_CODE"), 0);
  assert.equal(entries.int("STDOUT_SEEN"), size);
  assert.equal(stdout.length, MiB);
  assert.equal(entries.int("READ_ERROR"), 0);
  assert.equal((await raw.expect("TEARDOWN")).int("REAPED"), 1);
  raw.close();
});

test("a client that does not read delays neither its program nor deadlines", async (t) => {
  const launcher = await startLauncher();
  t.after(() => launcher.stop());
  const raw = await connected(launcher.socket);
  raw.pause();
  raw.send(stepFrame(step(["/bin/sh", "-c", "head -c 20000000 /dev/zero"], { STDOUT_BYTES: 16 * MiB })));
  await eventually("the end of the box", () => programsOf(launcher).length === 0);
  raw.resume();
  const { entries, stdout } = await raw.until("ENDED");
  assert.deepEqual([entries.int("EXIT_CODE"), entries.int("STDOUT_SEEN"), stdout.length], [0, 20_000_000, 16 * MiB]);
  raw.close();
});

test("the second step of a submission finds the first step's files and nothing else", async (t) => {
  const launcher = await startLauncher();
  t.after(() => launcher.stop());
  const raw = await connected(launcher.socket);
  const leave = "echo kept > /box/file; echo lost > /tmp/file; echo lost > /dev/shm/file; sleep 600 & echo";
  await run(raw, step(["/bin/sh", "-c", leave], { MORE: 1 }));
  const look = "cat /box/file; find /tmp /dev/shm -type f; grep -lax sleep /proc/[0-9]*/comm; echo end";
  const second = await run(raw, step(["/bin/sh", "-c", look], { KEEP_WORK: 1 }));
  assert.equal(second.stdout, "kept\nend\n");
  const third = await run(raw, step(["/bin/ls", "-A", "/box"]));
  assert.equal(third.stdout, "", "the next submission must find an empty directory");
  raw.close();
});

test("at most 16 steps can share a work directory, because each leaves a group that the kernel keeps with it", async (t) => {
  const launcher = await startLauncher();
  t.after(() => launcher.stop());
  const raw = await connected(launcher.socket);
  const write = (n: number) =>
    run(raw, step(["/bin/sh", "-c", `echo x > /box/${n}`], { MORE: 1, KEEP_WORK: Math.min(n, 1) }));
  for (let n = 0; n < 16; n++) assert.equal((await write(n)).ended.int("EXIT_CODE"), 0, `step ${n + 1}`);
  const { ended } = await write(16);
  assert.deepEqual([ended.text("FAIL_STEP"), ended.int("FAIL_ERRNO")], ["request", constants.errno.EMLINK]);
  assert.equal((await write(0)).ended.int("EXIT_CODE"), 0, "a fresh directory");
  raw.close();
});

test("a stopped launcher kills a slot that does not end", async () => {
  const launcher = await startLauncher();
  const raw = await connected(launcher.socket);
  for (const slot of childrenOf(launcher.pid)) process.kill(slot, "SIGSTOP");
  const [began, endedMs] = [performance.now(), stopwatch()];
  assert.equal(await launcher.stop(), 0);
  const [leastMs, mostMs] = [performance.now() - began, endedMs()];
  assert.ok(leastMs > 9_000 && mostMs < 15_000, `${leastMs} and ${mostMs} ms`);
  await assertNothingIsLeft(launcher);
  raw.close();
});

test("a byte that is sent out of band is a part of the request", async (t) => {
  const launcher = await startLauncher();
  t.after(() => launcher.stop());
  // Reads HELLO, sends the request, and prints the number of the answer's first frame.
  const client = `use Socket; my $s; socket($s, PF_UNIX, SOCK_STREAM, 0) && connect($s, pack_sockaddr_un($ARGV[0])) or die $!;
    sub frame { read($s, my $head, 5) == 5 or die "closed"; my ($size, $number) = unpack("VC", $head); read($s, my $body, $size); $number }
    frame() == 1 or die; my $step = pack("H*", $ARGV[1]);
    send($s, substr($step, 0, -1), 0); send($s, substr($step, -1), MSG_OOB) == 1 or die $!; print frame()`;
  const request = stepFrame(step(["/bin/true"])).toString("hex");
  const { stdout } = await promisify(execFile)("perl", ["-we", client, launcher.socket, request]);
  assert.equal(Number(stdout), FRAMES.ENDED);
});

test("refuses to create its socket in a directory that other users can change", async () => {
  const directory = `${environment("ASSAY_TEST_DATA")}/open`;
  mkdirSync(directory);
  chmodSync(directory, 0o777);
  const options = ["--socket", `${directory}/socket`, "--client-uid", "0", "--slots", "1", "--uid-base", "100000"];
  const image = `${environment("ASSAY_TEST_IMAGE")}/rootfs`;
  const instance = `${environment("ASSAY_TEST_INSTANCE")}-open`;
  const child = spawn(environment("ASSAY_TEST_LAUNCHER"), [...options, "--image", image, "--instance", instance]);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  assert.equal(code, 1);
  assert.match(stderr, /is writable by users other than root/);
});

function leavesOf(launcher: Launcher): string[] {
  return groupsOf(launcher).filter((path) => /\/s\d+-b\d+$/.test(path));
}
