import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { allGroups } from "../../support/launcher/machine.ts";
import { type Command, FakeCheckout } from "./fake-checkout.ts";
import { childrenOf, commandLine, processesBelow, startedBelow } from "./processes.ts";
import { script } from "./service-shell.ts";

// A compromised service can start processes in sessions of their own, which keep its port, database and TLS key open.

/** A checkout in which each Node process of the service's user starts such a process. */
function withSurvivors(): { fake: FakeCheckout; survivors: () => number[] } {
  const fake = new FakeCheckout();
  const main = readFileSync(join(fake.checkout, "src/main.ts"), "utf8");
  const start = `
    const { spawn } = await import("node:child_process");
    spawn("sleep", ["300"], { argv0: process.env.ASSAY_DATA + "/survivor", detached: true, stdio: "ignore" }).unref();`;
  fake.write("src/main.ts", start + main);
  return { fake, survivors: () => processesBelow(`${fake.data}/survivor`) };
}

/**
 * A checkout whose service, at SIGUSR2, runs an attack on the command that waits for its end.
 * @param attack JavaScript
 */
function withAttack(attack: string): FakeCheckout {
  const fake = new FakeCheckout();
  const main = readFileSync(join(fake.checkout, "src/main.ts"), "utf8");
  fake.write("src/main.ts", `${main}\nprocess.on("SIGUSR2", async () => {${attack}});`);
  return fake;
}

const serviceOf = (serve: Command) =>
  startedBelow(serve.child.pid ?? 0).find((child) => /main\.ts\0serve\0/.test(commandLine(child))) ??
  assert.fail("no child is the service");

async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 10_000;
  while (!condition() && Date.now() < end) await sleep(20);
  assert.ok(condition());
}

const groupsBelow = (fake: FakeCheckout) =>
  fake.list("run").flatMap((instance) => allGroups().filter((path) => basename(path).startsWith(`assay-${instance}`)));

test("processes that the service started end when it is started again and when serve ends", async () => {
  const { fake, survivors } = withSurvivors();
  using _ = fake;
  const serve = fake.start("serve");
  await serve.says(/welcome#fake/);
  const first = survivors();
  assert.ok(first.length > 0);
  process.kill(serviceOf(serve), "SIGKILL");
  await serve.says(/the service ended by itself by signal 9; starting it again[\s\S]*/);
  await until(() => survivors().some((pid) => !first.includes(pid)));
  assert.deepEqual(
    survivors().filter((pid) => first.includes(pid)),
    [],
  );
  await serve.says(/"uid"[\s\S]*\n[\s\S]*"uid"[\s\S]*\n/);
  serve.child.kill("SIGTERM");
  const { code, stdout, stderr } = await serve.end();
  assert.equal(code, 0, stderr);
  assert.match(stdout, /drained/);
  assert.deepEqual(survivors(), []);
  assert.deepEqual(groupsBelow(fake), []);
});

test("after SIGKILL of serve, the next command ends what its service left", async () => {
  const { fake, survivors } = withSurvivors();
  using _ = fake;
  const serve = fake.start("serve");
  await serve.says(/welcome#fake/);
  assert.ok(survivors().length > 0 && groupsBelow(fake).length > 0);
  // Stopped first, the supervisor cannot end the service when the script has been killed.
  const supervisors = childrenOf(serve.child.pid ?? 0).filter((pid) => /assay-supervisor\0/.test(commandLine(pid)));
  for (const pid of supervisors) process.kill(pid, "SIGSTOP");
  serve.child.kill("SIGKILL");
  for (const pid of supervisors) process.kill(pid, "SIGKILL");
  await until(() => serve.child.signalCode !== null);
  assert.ok(survivors().length > 0);
  assert.equal((await fake.run("keys", "list")).code, 0);
  await serve.end();
  assert.deepEqual(survivors(), []);
  assert.deepEqual(groupsBelow(fake), []);
});

test("processes that an administrative command started end with it", async () => {
  const { fake, survivors } = withSurvivors();
  using _ = fake;
  for (const [command, status] of [
    ["keys", 0],
    ["tiers", 7],
  ] as const) {
    assert.equal((await fake.run(command, "list")).code, status);
    assert.deepEqual(survivors(), []);
  }
});

test("processes that status started end with it, and the service continues", async () => {
  const { fake, survivors } = withSurvivors();
  using _ = fake;
  const serve = fake.start("serve");
  await serve.says(/welcome#fake/);
  const before = survivors();
  assert.equal((await fake.run("status")).code, 7);
  assert.deepEqual(survivors(), before);
  serve.child.kill("SIGTERM");
  assert.equal((await serve.end()).code, 0);
  assert.deepEqual(survivors(), []);
});

// The shell cannot reap a process while it has other threads or a tracer that holds it.
const tracer = "syscall(101, 0x4206, getppid(), 0, 0) == 0 or die; print qq(traced\\n); sleep 300"; // PTRACE_SEIZE
const TRACED = `
  const { spawn } = await import("node:child_process");
  const tracer = spawn("perl", ["-e", ${JSON.stringify(`$| = 1; ${tracer}`)}], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  tracer.stdout.once("data", () => process.kill(process.pid, "SIGKILL"));`;
const UNREAPABLE: readonly (readonly [string, string])[] = [
  [
    "whose first thread ends alone",
    `process.dlopen({ exports: {} }, process.env.ASSAY_DATA + "/run/first-thread-ends.so");`,
  ],
  ["that is traced", TRACED],
];
for (const [name, attack] of UNREAPABLE) {
  const prepare = () => {
    const fake = withAttack(attack);
    mkdirSync(join(fake.data, "run"), { recursive: true });
    execFileSync("gcc", ["-shared", "-fPIC", "-x", "c", "-", "-o", join(fake.data, "run/first-thread-ends.so")], {
      input: `#include <sys/syscall.h>
        #include <unistd.h>
        __attribute__((constructor)) static void end(void) { syscall(SYS_exit, 0); }`,
    });
    return fake;
  };

  test(`a service ${name} is started again, and serve ends`, async () => {
    using fake = prepare();
    const serve = fake.start("serve");
    await serve.says(/welcome#fake/);
    process.kill(serviceOf(serve), "SIGUSR2");
    await serve.says(/"uid"[\s\S]*\n[\s\S]*"uid"[\s\S]*\n/);
    serve.child.kill("SIGTERM");
    const { code, stdout, stderr } = await serve.end();
    assert.equal(code, 0, stderr);
    assert.match(stdout, /drained/);
  });
}

test("serve does not wait for a process that is traced while it waits for the service to be ready", async () => {
  using fake = new FakeCheckout();
  fake.write("setup/ask-until-ready.ts", TRACED);
  const { code, stderr } = await fake.run("serve");
  assert.equal(code, 1);
  assert.match(stderr, /the service did not become ready/);
});

// A process in the service's control group keeps the output of the command that `serve` runs when the service is ready.
const OUTPUT_HOLDERS = [
  ["is kept open", "sleep 300"],
  ["does not end", "exec cat /dev/zero"],
] as const;
for (const [name, script] of OUTPUT_HOLDERS)
  test(`serve does not wait for output that ${name}`, async () => {
    using fake = new FakeCheckout();
    const main = readFileSync(join(fake.checkout, "src/main.ts"), "utf8");
    const hold = `if (process.argv[2] === "members") {
      const { spawn } = await import("node:child_process");
      spawn("sh", ["-c", ${JSON.stringify(script)}], { detached: true, stdio: ["ignore", "inherit", "ignore"] }).unref();
    }`;
    fake.write("src/main.ts", `${main}\n${hold}`);
    const serve = fake.start("serve");
    await serve.says(/first administrator/);
    serve.child.kill("SIGTERM");
    const { code, stdout, stderr } = await serve.end();
    assert.equal(code, 0, stderr);
    assert.match(stdout, /drained/);
    assert.ok(stdout.length < 100_000, `${stdout.length} characters`);
  });

test("a command whose program is stopped ends at the second signal", async () => {
  using fake = new FakeCheckout();
  const main = readFileSync(join(fake.checkout, "src/main.ts"), "utf8");
  fake.write(
    "src/main.ts",
    `${main}\nif (command === "tiers") { console.log("stops"); process.kill(process.pid, "SIGSTOP"); }`,
  );
  const tiers = fake.start("tiers", "list");
  await tiers.says(/stops/);
  tiers.child.kill("SIGTERM");
  await sleep(1_500);
  assert.equal(tiers.child.exitCode, null);
  tiers.child.kill("SIGTERM");
  assert.notEqual((await tiers.end()).code, 0);
  assert.equal((await fake.run("accounts", "list")).code, 7);
});

/** Runs lines of shell after set-up's, in a mount namespace. */
const shell = (lines: string) =>
  spawnSync("unshare", ["--mount", "sh", "-euc", script(lines)], { encoding: "utf8", timeout: 30_000 });

test("without a control group, the command prints a warning and continues", () => {
  const { status, stdout, stderr } = shell(`mount -t tmpfs -o ro none /sys/fs/cgroup
    make_service_group "$test_group"
    as_service echo started
    end_service_group`);
  assert.deepEqual([status, stdout], [0, "started\n"]);
  assert.match(
    stderr,
    /^assay: cannot make a control group: processes that a compromised service starts can outlive it/,
  );
});

// A process whose descendants fork all the time.
const FORKS =
  "fork() { [ $1 -eq 0 ] || { sleep 0.01; (fork $(($1 - 1)) &) & }; }; for i in 1 2 3 4 5; do fork 1000; done; sleep 0.3";

for (const [version, only] of [
  ["2", "head -n 1"],
  ["1", "tail -n 1"],
] as const)
  for (const [when, lines] of [
    [
      "at the end of the process that started it",
      `as_service sh -c '${FORKS}' >/dev/null 2>&1; cat "$made/cgroup.procs"`,
    ],
    [
      "with its group when nothing supervises it",
      `as_service sh -c '${FORKS}; sleep 30' >/dev/null 2>&1 &
       until [ "$(wc -l <"$made/cgroup.procs")" -ge 5 ]; do sleep 0.01; done
       supervisor_pid=$(tr -d " " <"/proc/$!/task/$!/children")
       kill -s KILL "$supervisor_pid" $!`,
    ],
  ] as const)
    test(`an endlessly forking process is killed ${when}, in version ${version} of control groups`, (t) => {
      const { status, stdout, stderr } = shell(`
        group=$(own_groups | ${only})
        if [ ${version} = 1 ] && [ -e "$group/cgroup.kill" ]; then echo none; exit; fi
        own_groups() { echo "$group"; }
        make_service_group "$test_group"
        made=$service_group
        ${lines}
        end_service_group
        [ ! -d "$made" ] && echo removed`);
      if (stdout === "none\n") return t.skip("this machine has no version 1");
      assert.deepEqual([status, stdout], [0, "removed\n"], stderr);
    });

test("when the script is killed, the supervisor ends the service, what it has started, and the launcher", async () => {
  const { fake, survivors } = withSurvivors();
  using _ = fake;
  const serve = fake.start("serve");
  await serve.says(/welcome#fake/);
  assert.ok(survivors().length > 0);
  serve.child.kill("SIGKILL");
  const { stdout } = await serve.end();
  assert.match(stdout, /drained/);
  await until(() => processesBelow(fake.data).length === 0);
});

for (const before of [[], ["SIGTERM"]] as const)
  test(`when the script of a command is killed${before.length > 0 ? " soon after a SIGTERM" : ""}, its program is killed as well if it ignores SIGTERM`, async () => {
    using fake = withAttack("");
    const main = readFileSync(join(fake.checkout, "src/main.ts"), "utf8");
    const ignores = `if (command === "tiers") { process.on("SIGTERM", () => console.log("ignored")); setInterval(() => {}, 1_000); console.log("waits"); }`;
    fake.write("src/main.ts", `${main}\n${ignores}`);
    const tiers = fake.start("tiers", "list");
    await tiers.says(/waits/);
    for (const signal of before) {
      tiers.child.kill(signal);
      await tiers.says(/ignored/);
    }
    tiers.child.kill("SIGKILL");
    await until(() => processesBelow(fake.data).length === 0);
  });

test("a program whose end a tracer holds is killed with its tracer", () => {
  // PTRACE_SEIZE with PTRACE_O_TRACEEXIT: the killed program stops before its end.
  const traced = `use POSIX; my $traced = $$;
    if (!fork) { POSIX::setsid(); syscall(${process.arch === "arm64" ? 117 : 101}, 0x4206, $traced, 0, 0x40) == 0 or die; print "traced\\n"; sleep 300 }
    sleep 300`;
  const { status, stdout, stderr } = shell(`
    make_service_group "$test_group"
    run_processes --seconds 2 --process test --user "$(user_ids)" --group "$service_group" --run 3 perl -e '$| = 1; ${traced}'
    echo "$processes_status"
    end_service_group`);
  assert.deepEqual([status, stdout], [0, "traced\n124\n"], stderr);
});

test("a process whose name looks like a line of its state does not hide its end", () => {
  // The first thread ends alone, so that the process cannot be reaped.
  const named = `
    import ctypes, threading, time
    threading.Thread(target=time.sleep, args=(70,)).start()
    libc = ctypes.CDLL(None)
    libc.prctl(15, b"a) S 1 2\\n)")
    libc.syscall(${process.arch === "arm64" ? 93 : 60}, 0)`;
  const { status, stderr } = shell(`
    code='${named.replace(/^ {4}/gm, "")}'
    make_service_group "$test_group"
    status=0
    as_service python3 -c "$code" || status=$?
    end_service_group
    exit $status`);
  assert.equal(status, 137, stderr);
});
