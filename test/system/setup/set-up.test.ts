import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FakeCheckout } from "./fake-checkout.ts";
import { processesBelow } from "./processes.ts";

test("stdin, stdout and the exit code of a command pass through, and set-up writes to stderr", async () => {
  using fake = new FakeCheckout();
  const input = "x".repeat(300_000);
  const ended = await fake.start("run", "file").end(input);
  assert.equal(ended.code, 7, ended.stderr);
  const [first, ...rest] = ended.stdout.split("\n");
  assert.equal(rest.join("\n"), input);
  assert.match(ended.stderr, /^assay: /);
  const { environment, cwd } = JSON.parse(first ?? "");
  assert.deepEqual(environment.toSorted(), ["ASSAY_DATA", "LANG", "MALLOC_MMAP_THRESHOLD_", "PATH", "TMPDIR"]);
  assert.equal(cwd, process.cwd());
});

for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 143],
] as const) {
  test(`${signal} to a command's process group ends its program in another session, with exit code ${code}`, async () => {
    using fake = new FakeCheckout();
    const running = fake.start("run", "with-child");
    await running.says(/"args".*"session":"own"/);
    process.kill(-(running.child.pid ?? 0), signal);
    await until(() => processesBelow(fake.data).length === 0);
    assert.equal((await running.end()).code, code);
    assert.deepEqual(fake.list("run"), []);
  });
}

test("a signal during the end of the main process does not hide its exit status", () => {
  const wait = (then: string): number | null =>
    spawnSync(
      "dash",
      [
        "-euc",
        `. setup/log.sh; . setup/step.sh; . setup/processes.sh
        kill() { command kill "$@" && sleep 0.2; } # the program is dead before the trap returns
        data=/nowhere supervisor=bin/assay-supervisor
        exec 3</dev/null
        (sleep 0.3; command kill -s HUP $$) &
        run_processes --process test --run 3 sh -c '${then}'
        exit "$processes_status"`,
      ],
      { cwd: join(import.meta.dirname, "../../.."), stdio: "inherit" },
    ).status;
  assert.equal(wait("exec sleep 10"), 143);
  assert.equal(wait('trap "exit 7" TERM; while :; do sleep 0.01; done'), 7);
});

test("a second start builds nothing and prints nothing", async () => {
  using fake = new FakeCheckout();
  await fake.run("run");
  const second = await fake.run("run");
  assert.equal(second.stderr, "");
  assert.equal(statSync(join(fake.data, "image")).mode & 0o777, 0o700);
  assert.deepEqual([fake.count("image-built"), fake.count("launcher-built")], [1, 1]);
});

test("only changed parts are rebuilt, and old unused versions are removed", async () => {
  using fake = new FakeCheckout();
  await fake.run("run");
  for (const text of ["1", "2", "3", "4"]) {
    fake.write("README.md", text);
    await fake.run("run");
  }
  assert.deepEqual([fake.count("image-built"), fake.count("launcher-built")], [1, 1]);
  assert.equal(fake.list("app").length, 3);
  fake.write("launcher/box/box.c", "int x;\n");
  await fake.run("run");
  assert.deepEqual([fake.count("image-built"), fake.count("launcher-built")], [1, 2]);
});

test("the app is a copy without the files of git and npm", async () => {
  using fake = new FakeCheckout();
  fake.write(".git/config", "secret");
  fake.write("node_modules/x/index.js", "");
  await fake.run("run");
  const [app = ""] = fake.list("app");
  assert.deepEqual(fake.list(`app/${app}`).toSorted(), [
    ...[
      "CHANGELOG.md",
      "LICENSE",
      "assay",
      "bench",
      "bin",
      "client",
      "dashboard",
      "deploy",
      "image",
      "launcher",
      "node_modules",
      "package-lock.json",
      "package.json",
      "setup",
      "src",
      "test",
    ],
  ]);
  assert.match(
    readlinkSync(join(fake.data, "app", app, "node_modules")),
    /^\.\.\/\.\.\/modules\/[0-9a-f]{16}\/node_modules$/,
  );
});

test("the next start unmounts mounts in the directory of a killed instance", async () => {
  using fake = new FakeCheckout();
  await fake.run("run");
  const place = join(fake.data, "run", "test-killed", "tmp");
  mkdirSync(place, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "assay-test", place]);
  const { code, stderr } = await fake.run("run");
  assert.equal(code, 7, stderr);
  assert.deepEqual(fake.list("run"), []);
});

for (const signal of ["SIGTERM", "SIGINT", "SIGKILL"] as const) {
  test(`${signal} during a long step leaves no process and no mount, and the next start completes it`, async () => {
    using fake = new FakeCheckout();
    writeFileSync(join(fake.root, "slow"), "");
    for (const round of [1, 2]) {
      const running = fake.start("run");
      await running.says(/building the sandbox/);
      while (fake.count("image-begun") < round) await pause(10);
      running.child.kill(signal);
      const ended = await running.end();
      if (signal !== "SIGKILL") {
        assert.equal(ended.code, signal === "SIGINT" ? 130 : 143);
        assert.match(ended.stderr, /interrupted/);
      }
      await until(() => processesBelow(fake.data).length === 0);
      assert.doesNotMatch(readFileSync("/proc/self/mountinfo", "utf8"), new RegExp(fake.data));
    }
    rmSync(join(fake.root, "slow"));
    const ended = await fake.run("run");
    assert.equal(ended.code, 7, ended.stderr);
    assert.deepEqual([fake.count("image-begun"), fake.count("image-built")], [3, 1]);
    assert.deepEqual(
      ["app", "image", "launcher", "run"].flatMap((kind) => fake.list(kind)).filter((name) => name.includes(".tmp.")),
      [],
    );
  });
}

test("of two concurrent set-ups, the second waits with a message, and everything is built once", async () => {
  using fake = new FakeCheckout();
  writeFileSync(join(fake.root, "slow"), "");
  const first = fake.start("run");
  await first.says(/building the sandbox/);
  const second = fake.start("run");
  await second.says(/another set-up of .* is running \(process \d+\)/);
  rmSync(join(fake.root, "slow"));
  first.child.kill("SIGTERM");
  await first.end();
  assert.equal((await second.end()).code, 7);
  assert.equal(fake.count("image-built"), 1);
});

/** Holds the set-up lock like another command. */
async function holdSetUp(fake: FakeCheckout, how: "--shared" | "--exclusive"): Promise<() => void> {
  const held = spawn("flock", [how, join(fake.data, "lock"), "sh", "-c", "echo held; exec cat"]);
  await once(held.stdout, "data");
  return () => held.stdin.end();
}

test("a command whose set-up has nothing to do waits for a set-up, but for no other command", async () => {
  using fake = new FakeCheckout();
  for (const command of ["run", "keys"]) await fake.run(command);
  for (const command of ["run", "judge", "problems", "doctor", "keys", "tiers"]) {
    const release = await holdSetUp(fake, "--shared");
    const { code, stderr } = await fake.run(command, "list");
    release();
    assert.notEqual(code, null, command);
    assert.equal(stderr, "", command);
  }
  const release = await holdSetUp(fake, "--exclusive");
  const waiting = fake.start("keys", "list");
  await waiting.says(/another set-up of .* is running/);
  release();
  assert.equal((await waiting.end()).code, 0);
});

test("a command that has to make something waits for other commands in their set-up", async () => {
  using fake = new FakeCheckout();
  await fake.run("keys", "list");
  fake.write("src/more.ts", "");
  const release = await holdSetUp(fake, "--shared");
  const waiting = fake.start("keys", "list");
  await waiting.says(/another set-up of .* is running/);
  assert.equal(fake.list("app").length, 1);
  release();
  assert.equal((await waiting.end()).code, 0);
  assert.deepEqual(fake.list("app").length, 2);
});

test("commands that begin and end at the same time sweep no instance of each other", async () => {
  using fake = new FakeCheckout();
  await fake.run("run");
  const killed = fake.start("run");
  await killed.says(/"args"/);
  killed.child.kill("SIGKILL");
  await killed.end();
  const together = Array.from({ length: 6 }, (_, n) => fake.start(...(n % 2 ? ["run"] : ["keys", "list"])));
  const ended = await Promise.all(together.map((one) => one.end()));
  for (const [n, { code, stderr }] of ended.entries()) assert.equal(code, n % 2 ? 7 : 0, stderr);
  await until(() => processesBelow(fake.data).length === 0);
  await fake.run("keys", "list");
  assert.deepEqual(fake.list("run"), []);
});

test("the remains of a dead instance are swept", async () => {
  using fake = new FakeCheckout();
  const running = fake.start("run");
  await running.says(/"args"/);
  assert.equal(fake.list("run").length, 1);
  running.child.kill("SIGKILL");
  await running.end();
  await until(() => processesBelow(fake.data).length === 0);
  assert.equal(fake.list("run").length, 1);
  await fake.run("keys", "list");
  assert.deepEqual(fake.list("run"), []);
});

test("only the service user can access the store", async () => {
  using fake = new FakeCheckout();
  assert.equal((await fake.run("keys", "list")).stdout, "assay_live_fake\n");
  const { mode, uid } = statSync(join(fake.data, "db"));
  assert.equal(mode & 0o777, 0o700);
  assert.notEqual(uid, 0);
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries++) {
    assert.ok(tries < 500, "waited 5 s in vain");
    await pause(10);
  }
}
