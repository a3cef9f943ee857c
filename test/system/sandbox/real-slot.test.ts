import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Slot } from "../../../src/sandbox/slot.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, eventually, killChildren, programsOf } from "../../support/launcher/machine.ts";
import { freeSlot } from "../../support/sandbox/free-slot.ts";
import { LIMITS, shell } from "../../support/sandbox/steps.ts";

const MIB = 1_048_576;
const LIMIT = { timeout: 20_000 };
const GONE = { name: "SandboxError" };

let launcher: Launcher;
before(async () => {
  launcher = await startLauncher({ slots: 2 });
});
after(async () => assert.equal(await launcher.stop(), 0, launcher.stderr()));

const open = () => freeSlot(launcher);

/** Whether a program sleeps in a box. Processes that are starting or exiting have no command line. */
function sleeps(): boolean {
  return programsOf(launcher).some(({ pid }) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("sleep");
    } catch {
      return false;
    }
  });
}

test("decodes the hello of the real launcher", LIMIT, async () => {
  const slot = await open();
  assert.match(slot.hello.build, /^[0-9a-f]{16}$/);
  assert.match(slot.hello.kernel, /^\d+\.\d+/);
  slot.close();
});

test("a step returns its output, its end and the limits in force", LIMIT, async () => {
  const slot = await open();
  const report = await slot.run(shell("cat; echo err >&2; exit 3", { stdin: Buffer.from("in\n") }));
  assert.deepEqual(
    [report.failure, report.exitCode, report.signal, String(report.stdout), String(report.stderr)],
    [undefined, 3, null, "in\n", "err\n"],
  );
  assert.equal(report.memoryLimitBytes, LIMITS.memoryBytes);
  assert.equal(report.processLimit, LIMITS.processes);
  const { nofile, as_bytes } = report.rlimits;
  assert.deepEqual([nofile?.soft, as_bytes?.soft], [LIMITS.openFiles, LIMITS.addressSpaceBytes]);
  assert.deepEqual([report.controlsMissing, report.teardown.reaped, report.teardown.pidsLeft], [[], true, 0]);
  const unlimited = await slot.run(shell("true", { limits: { ...LIMITS, addressSpaceBytes: null } }));
  assert.equal("as_bytes" in unlimited.rlimits, false);
  slot.close();
});

test("an exec that the kernel refuses is distinguished from other failures", LIMIT, async () => {
  const slot = await open();
  const command = { command: ["./main"], env: {} };
  const files = [{ name: "main", data: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0]) }];
  const { failure } = await slot.run({ ...shell("", { files }), command });
  assert.deepEqual(failure, { step: "exec", object: "./main", errno: 8 });
  slot.close();
});

test("files in /box are kept only for a step that keeps the work directory", LIMIT, async () => {
  const slot = await open();
  const files = [{ name: "given", data: Buffer.from("1") }];
  await slot.run(shell("echo 2 > made", { files, more: true }));
  const kept = await slot.run(shell("cat given made", { work: "keep" }));
  assert.equal(String(kept.stdout), "12\n");
  const fresh = await slot.run(shell("ls -A"));
  assert.equal(String(fresh.stdout), "");
  slot.close();
});

test("a step that asks for it returns the files and directories that it leaves, with their modes", LIMIT, async () => {
  const slot = await open();
  const files = [{ name: "main.c", data: Buffer.from("source") }];
  const script = "echo x > 'A$B.class'; : > empty; chmod 0 empty; umask 077; mkdir -p a/b";
  const left = await slot.run(shell(script, { files, collect: "work" }));
  const found = left.files?.map(({ name, data, mode }) => [name, String(data), mode?.toString(8)]).sort();
  assert.deepEqual(found, [
    ["A$B.class", "x\n", "644"],
    ["a", "", "40700"],
    ["a/b", "", "40700"],
    ["empty", "", "0"],
    ["main.c", "source", "755"],
  ]);
  const others = left.files?.map(({ data }) => Buffer.from(data));
  await slot.run(shell("head -c 60000 /dev/zero"));
  assert.deepEqual(
    left.files?.map(({ data }) => data),
    others,
    "the bytes do not belong to a later frame",
  );
  assert.equal((await slot.run(shell("echo x > a"))).files, undefined, "not asked for");
  const again = await slot.run(shell("cat 'A$B.class' main.c", { files: left.files ?? [] }));
  assert.equal(String(again.stdout), "x\nsource");
  slot.close();
});

test("files of 16 MiB are returned, and written for a later step", LIMIT, async () => {
  const slot = await open();
  const limits = { ...LIMITS, fileBytes: 20 * MIB, workBytes: 20 * MIB };
  const script = "head -c 16777216 /dev/urandom > a; sha256sum a";
  const left = await slot.run(shell(script, { collect: "work", limits }));
  assert.deepEqual(
    left.files?.map(({ name, data }) => [name, data.length]),
    [["a", 16 * MIB]],
  );
  const step = shell("sha256sum a; cat > b; wc -c < b", { files: left.files ?? [], fileOwner: "a", limits });
  // The step runs twice, because the files are too large for the slot to store, and are sent again.
  for (let at = 0; at < 2; at++) {
    const again = await slot.run({ ...step, stdin: Buffer.alloc(2 * MIB) });
    assert.equal(String(again.stdout), `${left.stdout}${2 * MIB}\n`);
  }
  slot.close();
});

for (const [what, script] of [
  ["exits with another code than 0", "echo x > a; exit 1"],
  ["leaves a process behind", "echo x > a; sleep 60 &"],
  ["leaves a symbolic link", "echo x > a; ln -s /etc/passwd b"],
  ["leaves a FIFO", "mkfifo a"],
  ["leaves a sticky directory", "echo x > a; mkdir b; chmod +t b"],
  ["leaves a file with another user's rights", "echo x > a; chmod u+s a"],
  ["leaves a hidden file", "echo x > .a"],
  ["leaves a file with a control character in its name", `echo x > "$(printf 'a\\tb')"`],
  [
    "leaves a file with a long path",
    `d=${"a".repeat(250)}; mkdir -p $d/$d/$d/$d; echo x > $d/$d/$d/$d/${"b".repeat(250)}`,
  ],
  ["leaves 65 files", "for i in $(seq 65); do : > $i; done"],
  ["leaves more than 16 MiB", "for i in a b c d e f; do truncate -s 3000000 $i; done"],
] as const) {
  test(`a step that ${what} returns no files`, LIMIT, async () => {
    const slot = await open();
    assert.equal((await slot.run(shell(script, { collect: "work" }))).files, undefined);
    assert.equal((await slot.run(shell("ls -A"))).exitCode, 0, "the slot is still usable");
    slot.close();
  });
}

test("counts output beyond the limit without keeping it", LIMIT, async () => {
  const slot = await open();
  const report = await slot.run(shell("head -c 1000000 /dev/zero"));
  const { stdoutSeen, stdoutKept, exitCode } = report;
  assert.deepEqual([stdoutSeen, stdoutKept, exitCode], [1_000_000, LIMITS.stdoutBytes, 0]);
  slot.close();
});

test("refuses a second step while one runs, which continues", LIMIT, async () => {
  const slot = await open();
  const first = slot.run(shell("sleep 0.2; echo done"));
  await assert.rejects(slot.run(shell("true")), GONE);
  assert.equal(String((await first).stdout), "done\n");
  slot.close();
});

test("a rejected step has the reason, and the slot has ended", LIMIT, async () => {
  const slot = await open();
  const escaping = shell("true", { files: [{ name: "../etc", data: Buffer.from("x") }] });
  await assert.rejects(slot.run(escaping), { name: "SandboxError", message: /refused the request: FILE_NAME/ });
  assert.equal(slot.alive, false);
});

test("closing a slot kills its program", LIMIT, async () => {
  const slot = await open();
  const report = slot.run(shell("sleep 600"));
  report.catch(() => {});
  await eventually("the program", sleeps);
  slot.close();
  await assert.rejects(report, GONE);
  await eventually("its end", () => programsOf(launcher).length === 0 && childrenOf(launcher.pid).length === 0);
});

test("a killed slot is reported once, leaves nothing, and its place is reused", LIMIT, async () => {
  const slot = await open();
  let losses = 0;
  slot.onLost(() => losses++);
  const report = slot.run(shell("sleep 600"));
  report.catch(() => {});
  await eventually("the program", sleeps);
  killChildren(launcher.pid);
  await assert.rejects(report, GONE);
  assert.deepEqual([losses, slot.alive], [1, false]);
  await eventually("its end", () => programsOf(launcher).length === 0);
  const others = [await open(), await open()];
  for (const other of others) {
    assert.equal((await other.run(shell("true"))).exitCode, 0);
    other.close();
  }
});

test("connections beyond the number of slots are refused with the reason and do not affect others", LIMIT, async () => {
  const slots = [await open(), await open()];
  await assert.rejects(Slot.open(launcher.socket), { name: "SandboxError", message: /slots all are taken/ });
  for (const slot of slots) {
    assert.equal((await slot.run(shell("true"))).exitCode, 0);
    slot.close();
  }
});

test("slots end with a killed launcher, and the next launcher on the socket works", LIMIT, async () => {
  const slot = await open();
  const report = slot.run(shell("sleep 600"));
  report.catch(() => {});
  await eventually("the program", sleeps);
  await launcher.kill();
  await assert.rejects(report, GONE);
  launcher = await startLauncher({ slots: 2, after: launcher });
  const next = await open();
  assert.equal((await next.run(shell("true"))).exitCode, 0);
  next.close();
});
