import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { FakeCheckout } from "./fake-checkout.ts";

/** A checkout with these tests; `check` is what its checks do. */
function checkoutWith(tests: Record<string, string>, check = ""): FakeCheckout {
  const fake = new FakeCheckout();
  fake.write("test/check.ts", check);
  for (const [path, body] of Object.entries(tests)) {
    fake.write(`test/${path}.test.ts`, `import { test } from "node:test";\n${body}\n`);
  }
  return fake;
}

const TWO_FILES = { "apples/red": 'test("sweet", () => {});', "pears/green": 'test("sour", () => {});' };

test("assay test ends with the summary of the tests and their verdict", async () => {
  using fake = checkoutWith(TWO_FILES);
  const good = await fake.run("test");
  assert.equal(good.code, 0, good.stderr);
  assert.match(good.stdout, /tests 2\n(.*\n){6}.*duration_ms [\d.]+\s*$/);
  fake.write("test/bad.test.ts", 'throw new Error("bad");\n');
  assert.equal((await fake.run("test")).code, 1);
});

test("a word chooses files by their path, or else tests by their name, and one that chooses none fails", async () => {
  using fake = checkoutWith(TWO_FILES);
  assert.match((await fake.run("test", "pears/")).stdout, /✔ sour(.*\n)+.*tests 1\n/);
  assert.match((await fake.run("test", "swee")).stdout, /✔ sweet(.*\n)+.*tests 1\n/);
  const none = await fake.run("test", "bitter");
  assert.equal(none.code, 1);
  assert.match(none.stderr, /no test was run: none has bitter in its file or name/);
});

test("a file that holds something open when its tests are done fails, and the run ends", async () => {
  using fake = checkoutWith({
    holds: 'import { createServer } from "node:net";\ntest("passes", () => { createServer().listen(0); });',
  });
  const { code, stdout } = await fake.run("test");
  assert.equal(code, 1);
  assert.match(stdout, /✔ passes/);
  assert.match(stdout, /holds\.test\.ts does not end: held by .*TCPServerWrap/);
});

test("where a check fails, no test is run", async () => {
  using fake = checkoutWith(TWO_FILES, "process.exit(1);");
  const ended = await fake.run("test");
  assert.equal(ended.code, 1);
  assert.doesNotMatch(ended.stdout, /sweet/);
});

/** A kernel that is no other one: it runs here what it is given. */
const KERNEL = `#!/bin/sh\ncd "$3" && xargs -0 -a "$2/command" env`;

test("full runs the engine's suites once more on another kernel, with more patience, and no others", async () => {
  const tells = 'test(process.env.ASSAY_TEST_PATIENCE === "1" ? "as ever" : "patient", () => {});';
  using fake = checkoutWith({ "matrix/cells": tells, "pears/green": tells });
  fake.write("test/kernel/patient-languages.ts", "");
  fake.write("test/kernel/uml", KERNEL, 0o755);
  const { code, stdout, stderr } = await fake.run("test", "full");
  assert.equal(code, 0, stderr);
  assert.deepEqual(stdout.match(/✔ (as ever|patient)/g), ["✔ as ever", "✔ as ever", "✔ patient"]);
  assert.deepEqual((await fake.run("test", "matrix")).stdout.match(/✔ (as ever|patient)/g), ["✔ as ever"]);
});

test("full fails when a test fails on the other kernel, when it runs none, and when it ends without a result", async () => {
  using fake = checkoutWith({
    "matrix/bad": 'if (process.env.ASSAY_TEST_PATIENCE > 1) throw new Error("bad");\ntest("cell", () => {});',
    "matrix/none": 'if (process.env.ASSAY_TEST_PATIENCE == 1) test("cell", () => {});',
    "pears/green": 'test("sour", () => {});',
  });
  fake.write("test/kernel/patient-languages.ts", "");
  fake.write("test/kernel/uml", KERNEL, 0o755);
  assert.equal((await fake.run("test", "full", "matrix/bad")).code, 1);
  for (const [word, none] of [
    ["pears", "in none of test/matrix/"],
    ["matrix/none", "no test was run in user-mode"],
  ]) {
    const ended = await fake.run("test", "full", word as string);
    assert.equal(ended.code, 1, word);
    assert.ok(ended.stderr.includes(none as string), ended.stderr);
  }
  fake.write("test/kernel/uml", "#!/bin/sh\nexit 1", 0o755);
  assert.equal((await fake.run("test", "full", "matrix/none")).code, 1);
});

test("what fails on the machine's own kernel is not tried on another", async () => {
  using fake = checkoutWith({ "matrix/bad": 'throw new Error("bad");' });
  fake.write("test/kernel/uml", "#!/bin/sh\necho booted", 0o755);
  const { code, stdout } = await fake.run("test", "full");
  assert.equal(code, 1);
  assert.doesNotMatch(stdout, /booted/);
});

test("an interrupt ends the other kernel, too", async () => {
  using fake = checkoutWith({ "matrix/cells": 'test("cell", () => {});' });
  fake.write("test/kernel/patient-languages.ts", "");
  fake.write("test/kernel/uml", "#!/bin/sh\necho booted as $$\nexec sleep 600", 0o755);
  const full = fake.start("test", "full");
  const ended = full.end();
  await full.says(/booted as \d+/);
  full.child.kill("SIGTERM");
  const { code, stdout } = await ended;
  assert.equal(code, 1);
  assert.ok(!existsSync(`/proc/${/booted as (\d+)/.exec(stdout)?.[1]}`));
});

test("the tests are told where everything is, in a directory that is removed after them", async () => {
  using fake = checkoutWith({ told: 'test("told", () => console.log(JSON.stringify(process.env)));' });
  const { stdout } = await fake.run("test");
  const told = JSON.parse(/^\{.*\}$/m.exec(stdout)?.[0] ?? "");
  assert.equal(basename(told.ASSAY_TEST_LAUNCHER), "assay-launcher");
  assert.equal(basename(told.ASSAY_TEST_LAUNCHER_ASAN), "assay-launcher.asan");
  assert.equal(basename(told.ASSAY_TEST_LAUNCHER_FAULTS), "assay-launcher.faults");
  assert.ok(existsSync(join(told.ASSAY_TEST_IMAGE, "rootfs")));
  assert.ok(!existsSync(told.ASSAY_TEST_DATA));
  assert.match(told.ASSAY_TEST_UID_BASE, /^19\d{8}$/);
  assert.match(told.ASSAY_TEST_INSTANCE, /^test-[0-9a-f]{8}$/);
});

test("every launcher that the tests use is noted, so that no other set-up takes it for an old version", async () => {
  using fake = checkoutWith({
    told: `import { readFileSync } from "node:fs";
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
        spawn(copy, ["20"], { detached: true, stdio: "ignore" }).unref();
      });`,
  });
  const ended = await fake.run("test");
  assert.equal(ended.code, 1);
  const pid = /left behind:\n +process (\d+) .*\/left 20/.exec(ended.stderr)?.[1];
  assert.ok(pid, ended.stderr);
  try {
    process.kill(Number(pid));
  } catch (error) {
    // The run has ended it itself, because it names the run.
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

test("what another run on the same data directory has running is not taken for a leftover of this one", async () => {
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
