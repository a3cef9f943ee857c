import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { StepReport } from "../../../src/domain/report.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import { environment, type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { shell } from "../../support/sandbox/steps.ts";
import { stopwatch } from "../../support/stopwatch.ts";

/**
 * Our compilers do not run code of a submission. Here, a compile step does: it may leave anything for the next step.
 */
let launcher: Launcher;
let slot: Slot;
const secret = join(environment("ASSAY_TEST_DATA"), "for-nobody-in-a-box");

before(async () => {
  writeFileSync(secret, "#!/bin/sh\necho a secret of the host\n", { mode: 0o755 });
  launcher = await startLauncher({ slots: 1 });
  slot = await Slot.open(launcher.socket);
});
after(async () => {
  slot.close();
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

function assertGone({ teardown, controlsMissing }: StepReport): void {
  const { reaped, populated, pidsLeft, zombies, residualMounts, groupsLeft, unreadFacts } = teardown;
  assert.deepEqual([controlsMissing, reaped, populated || false, pidsLeft, zombies], [[], true, false, 0, 0]);
  assert.deepEqual([residualMounts, groupsLeft, unreadFacts], [[], [], []]);
}

/** Runs a step that leaves files, then a step that executes `./main` in the same directory. */
async function handOver(script: string, command = ["./main"]): Promise<StepReport> {
  const first = await slot.run(shell(script, { more: true }));
  assert.equal(first.exitCode, 0, String(first.stderr));
  assertGone(first);
  const env = { PATH: "/usr/bin:/bin" };
  const second = await slot.run(shell("", { command: { command, env }, work: "keep" }));
  assertGone(second);
  return second;
}

test("files of a step belong to another user than the next step's, from a slot's first submission on", async (t) => {
  const own = await startLauncher({ slots: 1 });
  t.after(() => own.stop());
  const young = await Slot.open(own.socket);
  t.after(() => young.close());
  for (let submission = 1; submission <= 3; submission++) {
    const users: string[] = [];
    const script = "stat -c %u left 2>/dev/null; (echo mine >>left) 2>/dev/null || echo refused; id -u";
    for (const [work, more] of [["fresh", true] as const, ["keep", true] as const, ["keep", false] as const]) {
      const { stdout } = await young.run(shell(script, { work, more }));
      users.push(String(stdout));
    }
    const [first, second, third] = users.map((lines) => lines.trim().split("\n"));
    const [one, other] = [first?.at(-1), second?.at(-1)];
    assert.notEqual(one, other);
    assert.deepEqual([first, second, third], [[one], [one, "refused", other], [one, one]], `submission ${submission}`);
  }
});

/** The time limit of a step: one that blocks would otherwise do so for ever. */
const TIMEOUT_MS = 60_000 * PATIENCE;
const PROMPT_MS = 5_000 * PATIENCE;

const ENOENT = 2;
const ENOEXEC = 8;
const EACCES = 13;
const ELOOP = 40;

describe("files that cannot be executed are not executed, do not block, and are not followed by the host", {
  timeout: TIMEOUT_MS,
}, () => {
  const cases: Readonly<Record<string, [string, number]>> = {
    "a link to a file of the host": [`ln -s ${secret} main`, ENOENT],
    "a link with dots": [`ln -s ../../../../../../../..${secret} main`, ENOENT],
    "a link through the first process": [`ln -s /proc/1/root${secret} main`, ENOENT],
    "a script for an interpreter of the host": [`printf '#!${secret}\\n' >main; chmod 755 main`, ENOENT],
    "a link to itself": ["ln -s main main", ELOOP],
    "a script that is its own interpreter": ["printf '#!/box/main\\n' >main; chmod 755 main", ELOOP],
    "a pipe without a writer": ["mkfifo -m 777 main", EACCES],
    "a directory": ["mkdir -m 777 main", EACCES],
    "a socket": ["python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"main\")'", EACCES],
    "a file without execute permission": ["cp /usr/bin/id main; chmod 644 main", EACCES],
    "a file without permissions": ["cp /usr/bin/id main; chmod 0 main", EACCES],
    "an empty program": [": >main; chmod 755 main", ENOEXEC],
    "a sparse file of the maximum size": ["truncate -s 3M main; chmod 755 main", ENOEXEC],
    "a program truncated in its header": ["head -c 40 /usr/bin/id >main; chmod 755 main", ENOEXEC],
    "no file": ["true", ENOENT],
  };
  for (const [what, [script, errno]] of Object.entries(cases))
    test(what, async () => {
      const tookMs = stopwatch();
      const { failure, stdout } = await handOver(script);
      assert.deepEqual([failure?.step, failure?.errno, String(stdout)], ["exec", errno, ""]);
      assert.ok(tookMs() < PROMPT_MS);
    });
});

describe("files that can be executed have the rights of any program", { timeout: TIMEOUT_MS }, () => {
  test("a link into the image runs a program of the image as the box's user", async () => {
    const { exitCode, stdout } = await handOver("ln -s /usr/bin/id main");
    assert.equal(exitCode, 0);
    assert.match(String(stdout), /^uid=\d{10}\(user\) gid=\d{10}\(user\) groups=\d{10}\(user\)\n$/);
  });

  test("a set-uid and set-gid program runs neither as the first step's user nor as root", async () => {
    const { stdout } = await handOver("cp /usr/bin/id main; chmod 6755 main");
    // `id` would print an euid and egid, those of the owner, which is the first step's user.
    assert.match(String(stdout), /^uid=(\d{10})\(user\) gid=\1\(user\) groups=\1\(user\)\n$/);
  });

  test("a process of the first step that has the program open for writing is gone", async () => {
    const { exitCode, failure } = await handOver(
      'cp /bin/true main; python3 -c \'import os, time; f = open("main", "a"); os.fork() or (os.setsid(), time.sleep(60))\'',
    );
    assert.deepEqual([failure, exitCode], [undefined, 0]);
  });

  test("the second step finds no process, descriptor, variable or temporary file of the first", async () => {
    const leaves = `
import os
os.environ["LEFT"] = "x"
open("/tmp/left", "w"); open("/dev/shm/left", "w")
os.fork() or __import__("time").sleep(60)
`;
    const { stdout } = await handOver(`python3 -c '${leaves}'`, [
      "/bin/sh",
      "-c",
      "ls /tmp /dev/shm; set -- /proc/[0-9]*; echo $#; env | grep LEFT; true",
    ]);
    // The only process is the shell itself.
    assert.equal(String(stdout), "/dev/shm:\n\n/tmp:\n1\n");
  });

  test("the directory itself cannot be removed, closed or replaced", async () => {
    const { stdout } = await handOver(
      "chmod 0 /box; mv /box /tmp/box; rmdir /box; ln -sfn / /box; cp /bin/true main; true",
      ["/bin/sh", "-c", "pwd; ls -ld . | cut -c1-10; ls"],
    );
    assert.match(String(stdout), /^\/box\ndrwxrwxrwx\n[\s\S]*main\n$/);
  });

  test("a program in a full directory still runs", async () => {
    const { exitCode } = await handOver(
      "cp /bin/true main; for i in 1 2 3 4 5 6 7; do head -c 3M /dev/zero >f$i; done 2>&-; true",
    );
    assert.equal(exitCode, 0);
  });
});

describe("file names are arbitrary bytes", { timeout: TIMEOUT_MS }, () => {
  test("clean-up handles names with line feeds, dashes, invalid UTF-8, 255 bytes and dots", async () => {
    const names = String.raw`
import os
for name in (b"-rf", b"a\nb", b"\xff\xfe", b"...", b" ", b"x" * 255, b"\x1b[2J", b"$(id)", b"'; id #", b"main\x01"):
    os.mkdir(name)
    open(name + b"/" + name, "w").close()
`;
    const { stdout } = await handOver(`python3 - <<'E'\n${names}E`, [
      "/usr/bin/find",
      ".",
      "-type",
      "f",
      "-printf",
      "x",
    ]);
    assert.equal(String(stdout), "x".repeat(10));
  });

  test("directories nested up to their maximum number are removed quickly", async () => {
    const deep = "import os\nfor _ in range(240): os.mkdir('d'); os.chdir('d')\n";
    const tookMs = stopwatch();
    await handOver(`python3 -c "${deep}"`, ["/bin/true"]);
    assert.ok(tookMs() < PROMPT_MS);
    const { stdout } = await slot.run(shell("ls -A"));
    assert.equal(String(stdout), "");
  });
});
