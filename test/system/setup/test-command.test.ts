import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FakeCheckout } from "./fake-checkout.ts";

/** A checkout with these tests. What the runner does with them: test/integration/runner/. */
function checkoutWith(tests: Record<string, string>): FakeCheckout {
  const fake = new FakeCheckout();
  fake.write("test/check.ts", "");
  for (const [path, body] of Object.entries(tests)) {
    fake.write(`test/${path}.test.ts`, `import { test } from "node:test";\n${body}\n`);
  }
  return fake;
}

test("assay test has the exit code of the tests, and passes words on", async () => {
  using fake = checkoutWith({ pears: 'test("sour", () => {});', bad: 'throw new Error("bad");' });
  assert.equal((await fake.run("test")).code, 1);
  const pears = await fake.run("test", "pears");
  assert.equal(pears.code, 0, pears.stderr);
  assert.match(pears.stdout, /✔ sour(.*\n)+.*tests 1\n/);
  for (const words of [
    ["on", "toast"],
    ["two", "words"],
  ]) {
    const { code, stderr } = await fake.run("test", ...words);
    assert.equal(code, 2, stderr);
  }
});

test("an interrupt ends the tests, and leaves nothing of the run", async () => {
  using fake = checkoutWith({ waits: 'test("waits", () => new Promise((end) => setTimeout(end, 60_000)));' });
  const started = join(fake.root, "started");
  fake.write(
    "test/starts.test.ts",
    `import { test } from "node:test";\nimport { writeFileSync } from "node:fs";\ntest("starts", () => writeFileSync("${started}", ""));`,
  );
  const run = fake.start("test");
  const ended = run.end();
  while (!existsSync(started) && run.child.exitCode === null) await sleep(20);
  run.child.kill("SIGTERM");
  const { code, stderr } = await ended;
  assert.equal(code, 143, stderr);
  assert.deepEqual(fake.list("run"), []);
});

test("tests receive all paths in their environment, and their directory is removed afterwards", async () => {
  using fake = checkoutWith({ prints: 'test("prints", () => console.log(JSON.stringify(process.env)));' });
  const { stdout } = await fake.run("test");
  const environment = JSON.parse(/^\{.*\}$/m.exec(stdout)?.[0] ?? "");
  assert.equal(basename(environment.ASSAY_TEST_LAUNCHER), "assay-launcher");
  assert.equal(basename(environment.ASSAY_TEST_LAUNCHER_ASAN), "assay-launcher.asan");
  assert.equal(basename(environment.ASSAY_TEST_LAUNCHER_FAULTS), "assay-launcher.faults");
  assert.ok(existsSync(join(environment.ASSAY_TEST_IMAGE, "rootfs")));
  assert.ok(!existsSync(environment.ASSAY_TEST_DATA));
  assert.match(environment.ASSAY_TEST_UID_BASE, /^191\d{7}$/);
  assert.match(environment.ASSAY_TEST_INSTANCE, /^test-[0-9a-f]{8}$/);
});

test("every launcher of the tests is recorded, so that no other set-up removes it as an old version", async () => {
  using fake = checkoutWith({
    reads: `import { readFileSync } from "node:fs";
      import { dirname } from "node:path";
      const { ASSAY_TEST_DATA, ...rest } = process.env;
      const uses = readFileSync(dirname(ASSAY_TEST_DATA) + "/uses", "utf8").split("\\n");
      for (const kind of ["", "_ASAN", "_FAULTS"])
        test("noted" + kind, (t) => t.assert.ok(uses.includes(dirname(rest["ASSAY_TEST_LAUNCHER" + kind]))));`,
  });
  const { code, stdout } = await fake.run("test");
  assert.equal(code, 0, stdout);
  assert.equal(stdout.match(/✔ noted/g)?.length, 3);
});

test("a process that the tests leave behind fails the run", async () => {
  using fake = checkoutWith({
    leaves: `import { spawn } from "node:child_process";
      import { cpSync } from "node:fs";
      test("leaves", () => {
        const copy = process.env.ASSAY_TEST_DATA + "/../../../left";
        cpSync("/usr/bin/sleep", copy);
        spawn(copy, ["300"], { detached: true, stdio: "ignore" }).unref();
      });`,
  });
  const ended = await fake.run("test");
  assert.equal(ended.code, 1);
  const pid = /left behind:\n +process (\d+) .*\/left 300/.exec(ended.stderr)?.[1];
  assert.ok(pid, ended.stderr);
  try {
    process.kill(Number(pid));
  } catch (error) {
    // The run has already killed it, because it names the run.
    assert.equal((error as NodeJS.ErrnoException).code, "ESRCH");
  }
});

test("a control group that the tests leave behind fails the run", async () => {
  const mounts = execFileSync("findmnt", ["-nro", "TARGET", "-t", "cgroup2,cgroup"], { encoding: "utf8" });
  const parent = mounts.split("\n")[0] ?? "";
  using fake = checkoutWith({
    leaves: `import { mkdirSync } from "node:fs";
      test("leaves", () => mkdirSync("${parent}/assay-" + process.env.ASSAY_TEST_INSTANCE + "-left"));`,
  });
  const ended = await fake.run("test");
  const group = /left behind:\n +control group (.*)$/m.exec(ended.stderr)?.[1];
  assert.ok(group, ended.stderr);
  rmdirSync(group);
  assert.equal(ended.code, 1);
});

test("running processes of another run in the same data directory are not leftovers", async () => {
  const wait = `import { existsSync as exists } from "node:fs";
    const until = async (path) => { while (!exists(path)) await new Promise((next) => setTimeout(next, 20)); };`;
  using fake = checkoutWith({});
  const [busy, over] = [join(fake.root, "busy"), join(fake.root, "over")];
  fake.write(
    "test/short.test.ts",
    `import { test } from "node:test"; ${wait} test("short", { timeout: 60_000 }, () => until("${busy}"));`,
  );
  fake.write(
    "test/long.test.ts",
    `import { test } from "node:test"; ${wait}
    import { spawn } from "node:child_process";
    import { cpSync, writeFileSync } from "node:fs";
    test("long", async () => {
      const copy = "${fake.data}/asleep";
      cpSync("/usr/bin/sleep", copy);
      const child = spawn(copy, ["60"], { stdio: "ignore" });
      await new Promise((spawned) => child.once("spawn", spawned));
      writeFileSync("${busy}", "");
      await until("${over}");
      child.kill();
    });`,
  );
  const long = fake.start("test", "long").end();
  const short = await fake.run("test", "short");
  writeFileSync(over, "");
  const { code } = await long;
  assert.equal(short.code, 0, short.stderr);
  assert.equal(code, 0);
});
