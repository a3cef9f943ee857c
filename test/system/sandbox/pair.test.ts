import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Limits } from "../../../src/domain/limits.ts";
import type { StepReport } from "../../../src/domain/report.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import type { Step } from "../../../src/sandbox/step.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, programsOf, runningProgramsOf } from "../../support/launcher/machine.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { useSlot } from "../../support/sandbox/one-slot.ts";
import { LIMITS, shell } from "../../support/sandbox/steps.ts";

let slot: Slot;
useSlot((opened) => {
  slot = opened;
});

const LIMIT = { timeout: 60_000 * PATIENCE };
/** Wall time of a program, and of an interactor that must not be the first to exceed it. */
const SHORT: Limits = { ...LIMITS, wallMs: 700 * PATIENCE };

const PYTHON = { PATH: "/usr/bin:/bin" };
function python(code: string, changes: Partial<Step> = {}): Step {
  return { ...shell("", changes), command: { command: ["/usr/bin/python3", "-c", code], env: PYTHON } };
}

const ASKS = 'echo 21; read y; [ "$y" = 42 ] && exit 42; exit 43';

function isSleep(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("sleep");
  } catch {
    return false;
  }
}

function end({ failure, exitCode, signal, killReason }: StepReport): string {
  if (failure) return `${failure.step} ${failure.object}`;
  return `${exitCode === null ? `signal ${signal}` : `exit ${exitCode}`}${killReason === "none" ? "" : ` ${killReason}`}`;
}

interface Case {
  readonly program: Step;
  readonly peer: Step;
  /** The ends of the program and of its interactor. */
  readonly ends: readonly [string | RegExp, string | RegExp];
  readonly first?: "program" | "peer";
  readonly more?: (program: StepReport, peer: StepReport) => void;
}

const CASES: Readonly<Record<string, Case>> = {
  "a question and its answer": {
    program: shell("read x; echo $((x * 2))"),
    peer: shell(ASKS),
    ends: ["exit 0", "exit 42"],
    more: (program, peer) => assert.deepEqual([String(program.stdout), String(peer.stdout)], ["42\n", "21\n"]),
  },
  "a program that ends without an answer": {
    program: shell("exit 0"),
    peer: shell(ASKS),
    ends: ["exit 0", "exit 43"],
    first: "program",
  },
  "a program that fails, and an interactor that answers to its end": {
    program: shell("exit 7"),
    peer: shell(ASKS),
    ends: ["exit 7", "exit 43"],
    first: "program",
  },
  "an interactor that rejects, and a program that fails without it": {
    program: shell("echo x; read y; read z || exit 9"),
    peer: shell("read x; echo no; exit 43"),
    ends: ["exit 9", "exit 43"],
    first: "peer",
  },
  "two that wait for each other: the program exceeds its wall time": {
    program: shell("read x", { limits: SHORT }),
    peer: shell("read y; exit 43"),
    ends: ["signal 9 wall", "exit 43"],
    first: "program",
  },
  "a program that keeps its output in a buffer": {
    program: python("import sys\nprint(1); sys.stdin.readline()", { limits: SHORT }),
    peer: shell("read x || exit 43; exit 42"),
    ends: ["signal 9 wall", "exit 43"],
    first: "program",
  },
  "a program that sleeps in its turn": {
    program: shell("read x; sleep 60", { limits: SHORT }),
    peer: shell("echo 1; read y; exit 43"),
    ends: ["signal 9 wall", "exit 43"],
    first: "program",
  },
  "an interactor that reads its input by another descriptor": {
    program: shell("read x; sleep 60", { limits: SHORT }),
    peer: shell("exec 7<&0 </dev/null; echo 1; read y <&7; exit 43"),
    ends: ["signal 9 wall", "exit 43"],
    first: "program",
  },
  "a program that opens its input again": {
    program: python("print(1, flush=True)\nwith open('/dev/stdin') as file: print(file.readline())", { limits: SHORT }),
    peer: shell(`read a; sleep ${1 * PATIENCE}; echo 2; read b; exit 42`),
    ends: ["exit 0", "exit 42"],
  },
  "a program that sends a byte now and then": {
    program: shell("while :; do echo x; sleep 0.01; done", { limits: SHORT }),
    peer: shell("while read x; do :; done; exit 43", { limits: { ...LIMITS, wallMs: 600 * PATIENCE } }),
    ends: ["signal 9 wall", "exit 43"],
    first: "program",
  },
  "an interactor that sleeps in its turn": {
    program: shell("echo 1; read x; exit 3"),
    peer: shell("read y; sleep 60", { limits: SHORT }),
    ends: ["exit 3", "signal 9 wall"],
    first: "peer",
  },
  "a slow interactor: its time is not the program's": {
    program: shell("echo 1; read x; echo $x; read y", { limits: SHORT }),
    peer: shell(`read a; sleep ${1 * PATIENCE}; echo 2; read b; sleep ${1 * PATIENCE}; echo 3; exit 42`),
    ends: ["exit 0", "exit 42"],
    more: ({ wallNs }, peer) => {
      assert.ok(wallNs < SHORT.wallMs * 1e6, `${wallNs} ns`);
      assert.ok(peer.wallNs > 1.9e9 * PATIENCE, `${peer.wallNs} ns`);
    },
  },
  "a program that computes before its first question": {
    program: python("import time; t = time.process_time()\nwhile time.process_time() - t < 0.4: pass\nprint(1)"),
    peer: shell("read x; exit 42", { limits: { ...LIMITS, wallMs: 300 * PATIENCE } }),
    ends: ["exit 0", "exit 42"],
    more: ({ wallNs }, peer) => assert.ok(wallNs > 0.35e9 && peer.wallNs < 0.3e9 * PATIENCE),
  },
  "an endless output: the input of the interactor ends at the limit of the output": {
    program: shell("while :; do echo 123456789012345678901234567890; done"),
    peer: shell("wc -c >&2; exit 43"),
    ends: [/^signal 9 (cpu|wall)$/, "exit 43"],
    more: (program, peer) => {
      assert.ok(program.stdoutSeen > LIMITS.stdoutBytes);
      assert.equal(String(peer.stderr).trim(), String(LIMITS.stdoutBytes));
    },
  },
  "an output that the interactor does not read": {
    program: python("print('x' * 60000); print('y' * 60000)"),
    peer: shell("exit 42"),
    ends: ["exit 0", "exit 42"],
  },
  "an endless output that the interactor does not read": {
    program: shell("while :; do echo 1234567890; done"),
    peer: shell("sleep 60", { limits: SHORT }),
    ends: [/^signal 9 (cpu|wall)$/, "signal 9 wall"],
  },
  "an interactor with endless output, which the program does not read": {
    program: shell("sleep 60", { limits: SHORT }),
    peer: shell("while :; do echo 1234567890; done"),
    ends: ["signal 9 wall", /^signal 9 (cpu|wall)$/],
    first: "program",
  },
  "many bytes in both directions": {
    program: shell("cat", { limits: { ...LIMITS, stdoutBytes: 4_000_000 } }),
    peer: python(
      "import os, threading\ndef put():\n  for _ in range(200): os.write(1, b'0123456789' * 1000)\n  os.close(1)\n" +
        "threading.Thread(target=put).start()\nwant = b'0123456789' * 200000\ngot = b''\n" +
        "while True:\n  more = os.read(0, 65536)\n  if not more: break\n  got += more\nexit(42 if got == want else 43)",
      { limits: { ...LIMITS, stdoutBytes: 4_000_000 } },
    ),
    ends: ["exit 0", "exit 42"],
  },
  "an interactor that crashes": {
    program: shell("echo 1; read x; exit 3"),
    peer: shell("read y; kill -SEGV $$"),
    ends: ["exit 3", "signal 11"],
    first: "peer",
  },
  "a program that uses up its CPU time": {
    program: shell("read x; while :; do :; done", { limits: { ...LIMITS, cpuMs: 300 } }),
    peer: shell("echo 1; read y; exit 43"),
    ends: ["signal 9 cpu", "exit 43"],
    first: "program",
  },
  "an interactor that uses up its CPU time": {
    program: shell("echo 1; read x; exit 3"),
    peer: shell("read y; while :; do :; done", { limits: { ...LIMITS, cpuMs: 300 } }),
    ends: ["exit 3", "signal 9 cpu"],
    first: "peer",
  },
  "a program that closes its output and goes on": {
    program: shell("exec 1>&-; sleep 0.2; exit 0"),
    peer: shell("read x || exit 43; exit 42"),
    ends: ["exit 0", "exit 43"],
    first: "peer",
  },
  "a program that closes its input": {
    program: shell("exec 0<&-; echo done"),
    peer: python("import os, time\nos.write(1, b'x' * 60000); print(input()); exit(42)"),
    ends: ["exit 0", "exit 42"],
  },
  "a process that outlives the program with its output": {
    program: shell("sleep 60 & exit 0"),
    peer: shell("read x || exit 43; exit 42"),
    ends: ["exit 0", "exit 43"],
    more: ({ survivors }, peer) => assert.ok(survivors > 0 && peer.wallNs < 5e9),
  },
  "an output that ends while a process of the slot holds the address space of the program": {
    program: python(
      "import mmap, os, time\n" +
        "m = mmap.mmap(-1, 900 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\nm.madvise(mmap.MADV_NOHUGEPAGE)\n" +
        "for at in range(0, 900 << 20, 2 << 20): m[at] = 1\n" +
        "os.fork()\ntime.sleep(0.3)\nos.close(1)\ntime.sleep(60)",
      { limits: SHORT },
    ),
    peer: shell("while read x; do :; done; exit 42", { limits: SHORT }),
    ends: ["signal 9 wall", "exit 42"],
    first: "peer",
  },
  "an output that a cycle of sockets holds after the end": {
    program: python(
      "import array, socket\na, b = socket.socketpair()\n" +
        "fds = array.array('i', [1, a.fileno(), b.fileno()])\n" +
        "a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])",
    ),
    peer: shell("read x || exit 43; exit 42"),
    ends: ["exit 0", "exit 43"],
    more: (_, peer) => assert.ok(peer.wallNs < 5e9, `${peer.wallNs} ns`),
  },
  "two that cannot reach each other except by their pipes": {
    program: shell(
      "touch /box/mine /tmp/mine /dev/shm/mine; kill -KILL -1; read x; ls /box /tmp /dev/shm; cat /proc/[0-9]*/cmdline; echo; echo end",
    ),
    peer: shell(
      "touch /box/theirs /tmp/theirs /dev/shm/theirs; kill -KILL -1; echo go; while read y; do " +
        "case $y in *theirs*) exit 43 ;; end) ls /box /tmp /dev/shm | grep -q mine && exit 43; exit 42 ;; esac; done; exit 44",
    ),
    ends: ["exit 0", "exit 42"],
  },
};

for (const [name, { program, peer, ends, first, more }] of Object.entries(CASES)) {
  test(name, LIMIT, async () => {
    const [report, ofPeer] = await slot.runPair(program, peer);
    const said = `program: ${end(report)} ${report.stderr}; peer: ${end(ofPeer)} ${ofPeer.stderr}`;
    for (const [at, one] of [report, ofPeer].entries()) {
      const wanted = ends[at] ?? "";
      if (typeof wanted === "string") assert.equal(end(one), wanted, said);
      else assert.match(end(one), wanted, said);
      assert.deepEqual([one.controlsMissing, one.teardown.unreadFacts], [[], []]);
      assert.deepEqual([one.teardown.reaped, one.teardown.pidsLeft, one.teardown.groupsLeft], [true, 0, []]);
    }
    if (first) assert.deepEqual([report.endedFirst, ofPeer.endedFirst], [first === "program", first === "peer"], said);
    more?.(report, ofPeer);
  });
}

test("files of each are only in its own box, and those of the feedback directory are returned", LIMIT, async () => {
  const files = (name: string) => [{ name, data: Buffer.from(`${name}\n`) }];
  const [report, ofPeer] = await slot.runPair(
    shell("ls /box; cat /box/a", { files: files("a") }),
    shell('read x; [ "$x" = a ] || exit 1; ls /box > /box/feedback/list; exit 43', {
      files: [...files("secret"), { name: "feedback/placeholder", data: Buffer.alloc(0) }],
      collect: "feedback",
    }),
  );
  assert.deepEqual([String(report.stdout), report.files], ["a\na\n", undefined]);
  const list = ofPeer.files?.find((file) => file.name === "feedback/list");
  assert.equal(String(list?.data), "feedback\nsecret\n");
});

test(
  "the step can use the work directory of the step before it, and the slot is as before afterwards",
  LIMIT,
  async () => {
    const compiled = await slot.run(shell("echo 'read x; echo $x' > /box/made", { more: true }));
    assert.equal(compiled.exitCode, 0);
    const peer = shell('echo hello; read y; [ "$y" = hello ] && exit 42');
    const [report, ofPeer] = await slot.runPair(shell("exec sh /box/made", { work: "keep" }), peer);
    assert.deepEqual([end(report), end(ofPeer)], ["exit 0", "exit 42"]);
    assert.ok(report.keptBytes > 0 && ofPeer.keptBytes === 0, `${report.keptBytes} and ${ofPeer.keptBytes} bytes`);
    const after = await slot.run(shell("ls /box; cat", { stdin: Buffer.from("in") }));
    assert.deepEqual([after.exitCode, String(after.stdout)], [0, "in"]);
  },
);

test("the report says whose output exceeded its limit while the other ran and was within its own", LIMIT, async () => {
  const limits = { ...LIMITS, stdoutBytes: 1_000 };
  const writes = (bytes: number, code: number) =>
    shell(`head -c ${bytes} /dev/zero; cat >/dev/null; exit ${code}`, { limits });
  const closes = (bytes: number) => shell(`read x; head -c ${bytes} /dev/zero; exec >&-; cat >/dev/null`, { limits });
  for (const [program, peer, exceeded] of [
    [
      shell("head -c 1000 | wc -c", { limits }),
      shell("head -c 1000 /dev/zero; read x; exit 42", { limits }),
      [false, false],
    ],
    [shell("wc -c", { limits }), writes(1_001, 42), [false, true]],
    [shell("wc -c; exit 3", { limits }), writes(100_000, 42), [false, true]],
    [writes(1_001, 0), shell("wc -c; exit 43", { limits }), [true, false]],
    [writes(1_001, 0), shell("wc -c >&2; head -c 5000 /dev/zero; exit 43", { limits }), [true, false]],
    [shell("exit 3", { limits }), shell("sleep 0.5; head -c 5000 /dev/zero; exit 43", { limits }), [false, false]],
    [closes(5_000), shell("echo; wc -c >&2; head -c 5000 /dev/zero; exit 43", { limits }), [true, false]],
  ] as const) {
    const [report, ofPeer] = await slot.runPair(program, peer);
    const about = `program: ${end(report)}; peer: ${end(ofPeer)} of ${peer.command.command.join(" ")}`;
    assert.deepEqual([report.exceededFirst, ofPeer.exceededFirst], exceeded, about);
  }
});

test("a client that leaves ends both", LIMIT, async () => {
  const launcher = await startLauncher({ slots: 1, sanitize: true });
  const own = await Slot.open(launcher.socket);
  const [report, ofPeer] = await own.runPair(shell("read x; echo $x"), shell("echo 1; read y; exit 42"));
  assert.deepEqual([end(report), end(ofPeer)], ["exit 0", "exit 42"]);
  const left = own.runPair(shell("sleep 60"), shell("sleep 60"));
  await eventually("two programs", () => runningProgramsOf(launcher).filter((one) => isSleep(one.pid)).length === 2);
  own.close();
  await assert.rejects(left);
  await eventually("no process", () => programsOf(launcher).length === 0);
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

test("the end of a program comes before that of an interactor that only waits for it", LIMIT, async () => {
  const peer = shell("read y || exit 43; exit 42");
  for (let i = 0; i < 20; i++) {
    const program = i % 2 ? python("raise SystemExit(3)") : shell("kill -ABRT $$");
    const [report, ofPeer] = await slot.runPair(program, peer);
    assert.deepEqual([report.endedFirst, end(ofPeer)], [true, "exit 43"], `run ${i}`);
  }
});

test("20,000 short messages", LIMIT, async () => {
  const echo = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)";
  const asks = "for i in range(20000):\n  print(i, flush=True)\n  if input() != str(i): exit(43)\nexit(42)";
  const limits = { ...LIMITS, cpuMs: 20_000 * PATIENCE, wallMs: 40_000 * PATIENCE, stdoutBytes: 1_000_000 };
  const [report, ofPeer] = await slot.runPair(python(echo, { limits }), python(asks, { limits }));
  assert.deepEqual([end(report), end(ofPeer)], ["exit 0", "exit 42"]);
});

test("the step has samples over the time of both, and its interactor has none", LIMIT, async () => {
  const [report, ofPeer] = await slot.runPair(shell("read x; echo $x"), shell("sleep 0.3; echo 1; read y; exit 42"));
  assert.deepEqual([end(report), end(ofPeer)], ["exit 0", "exit 42"]);
  const last = report.samples?.at(-1)?.atUsec ?? 0;
  assert.ok(last > 200_000 && last * 1e3 <= (report.elapsedNs ?? 0), `the last at ${last} us`);
  assert.ok(report.wallNs < 200_000_000, `${report.wallNs} ns of its own`);
  assert.equal(ofPeer.samples, undefined);
});
