// Over 300 lines: one command.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FakeCheckout } from "./fake-checkout.ts";

/** A checkout with these tests; `check` is the program of its checks. */
function checkoutWith(tests: Record<string, string>, check = ""): FakeCheckout {
  const fake = new FakeCheckout();
  fake.write("test/check.ts", check);
  for (const [path, body] of Object.entries(tests)) {
    fake.write(`test/${path}.test.ts`, `import { test } from "node:test";\n${body}\n`);
  }
  return fake;
}

const TWO_FILES = { "apples/red": 'test("sweet", () => {});', "pears/green": 'test("sour", () => {});' };

test("assay test ends with the summary of the tests and their exit code", async () => {
  using fake = checkoutWith(TWO_FILES);
  const good = await fake.run("test");
  assert.equal(good.code, 0, good.stderr);
  assert.match(good.stdout, /tests 2\n(.*\n){6}.*duration_ms [\d.]+\s*$/);
  fake.write("test/bad.test.ts", 'throw new Error("bad");\n');
  assert.equal((await fake.run("test")).code, 1);
});

test("the names and errors of failed tests are printed last, without their suites", async () => {
  using fake = checkoutWith({
    ...TWO_FILES,
    "integration/bad": `
      import { suite } from "node:test";
      suite("outer", () => {
        test("good", () => {});
        suite("inner", () => test("rotten # 1", () => { throw new Error("no\\nmore"); }));
      });`,
  });
  const { code, stderr } = await fake.run("test");
  assert.equal(code, 1);
  assert.match(stderr, /these tests failed:\n {4}test\/integration\/bad\.test\.ts:\d+: rotten .*1\n +no\n +more\n$/);
});

test("a word selects files by path, or else tests by name, and fails without matches", async () => {
  using fake = checkoutWith(TWO_FILES);
  assert.match((await fake.run("test", "pears/")).stdout, /✔ sour(.*\n)+.*tests 1\n/);
  assert.match((await fake.run("test", "swee")).stdout, /✔ sweet(.*\n)+.*tests 1\n/);
  const none = await fake.run("test", "bitter");
  assert.equal(none.code, 1);
  assert.match(none.stderr, /no test was run: no file or test name contains bitter/);
});

test("a word selects composed titles, and other files do not run their hooks", async () => {
  using fake = checkoutWith({
    pears: `
      import { after, before } from "node:test";
      let box;
      before(() => { box = { stop() {} }; });
      after(() => box.stop());
      test("sour", () => {});`,
    apples: 'test(["swe", "et"].join(""), () => {});',
  });
  const { code, stdout } = await fake.run("test", "sweet");
  assert.equal(code, 0, stdout);
  assert.match(stdout, /✔ sweet/);
  assert.doesNotMatch(stdout, /sour/);
});

test("a file whose set-up fails before a selected test fails without ending others", async () => {
  using fake = checkoutWith({
    pears:
      'import { before } from "node:test";\nbefore(() => { throw new Error("rotten"); });\ntest("swe" + "et", () => {});',
    apples: 'test("swe" + "et", () => {});',
  });
  const { code, stdout } = await fake.run("test", "sweet");
  assert.equal(code, 1);
  assert.match(stdout, /✔ sweet(.*\n)*.*rotten/);
});

test("a file with open resources after its tests fails, and the run ends", async () => {
  using fake = checkoutWith({
    holds: 'import { createServer } from "node:net";\ntest("passes", () => { createServer().listen(0); });',
  });
  const { code, stdout } = await fake.run("test");
  assert.equal(code, 1);
  assert.match(stdout, /✔ passes/);
  assert.match(stdout, /holds\.test\.ts does not end: held by .*TCPServerWrap/);
});

test("in the first two phases, files run concurrently alongside others, and a failure fails the run", {
  skip: availableParallelism() === 1 && "this machine has one core",
}, async () => {
  const meets = (mine: string, ...others: string[]) => `
    import { existsSync, writeFileSync } from "node:fs";
    import { setTimeout as sleep } from "node:timers/promises";
    test("${mine} meets ${others.join(" and ")}", async () => {
      writeFileSync("test/${mine}", "");
      for (const other of ${JSON.stringify(others)}) {
        for (let i = 0; i < 200 && !existsSync("test/" + other); i++) await sleep(50);
        if (!existsSync("test/" + other)) throw new Error("alone");
      }
    });`;
  using fake = checkoutWith({
    "system/bounds/times": meets("times", "here", "there"),
    "unit/here": meets("here", "times", "there"),
    "integration/there": meets("there", "times", "here"),
    apples: meets("apples", "pears"),
    "system/setup/pears": meets("pears", "apples"),
  });
  const good = await fake.run("test");
  assert.equal(good.code, 0, good.stdout);
  assert.match(good.stdout, /tests 5\n(.*\n){6}.*duration_ms [\d.]+\s*$/);
  fake.write("test/integration/bad.test.ts", 'throw new Error("bad");\n');
  assert.equal((await fake.run("test")).code, 1);
});

test("failed files are repeated, and the last lines name those that then pass", async () => {
  const passesOnce = `
    import { existsSync, writeFileSync } from "node:fs";
    test("ripens", () => {
      if (existsSync("test/tried")) return;
      writeFileSync("test/tried", "");
      throw new Error("not ripe");
    });`;
  using fake = checkoutWith({ ...TWO_FILES, "unit/late": passesOnce });
  const late = await fake.run("test");
  assert.equal(late.code, 0, late.stderr);
  assert.equal(late.stdout.match(/✔ (sweet|sour)/g)?.length, 2, "others are not repeated");
  assert.match(
    late.stderr,
    /these tests failed, and passed when they were repeated:\n {4}test\/unit\/late\.test\.ts:\d+: ripens\n/,
  );
  for (let i = 0; i < 9; i++) fake.write(`test/unit/bad-${i}.test.ts`, 'throw new Error("bad");\n');
  const many = await fake.run("test");
  assert.equal(many.code, 1);
  assert.doesNotMatch(many.stderr, /repeating/);
});

test("no test is run after a failed check", async () => {
  using fake = checkoutWith(TWO_FILES, "process.exit(1);");
  const ended = await fake.run("test");
  assert.equal(ended.code, 1);
  assert.doesNotMatch(ended.stdout, /sweet/);
});

/** A stand-in for another kernel, which runs the given command here. */
const KERNEL = `#!/bin/sh\ncd "$3" && xargs -0 -a "$2/command" env`;

/** Adds a stand-in kernel to a checkout. */
function withKernel(fake: FakeCheckout, kernel = KERNEL): FakeCheckout {
  fake.write("test/system/kernel/patient-languages.ts", "");
  for (const other of ["uml", "qemu"]) fake.write(`test/system/kernel/${other}`, kernel, 0o755);
  for (const long of ["analyse", "fuzz/run"]) fake.write(`launcher/${long}`, "#!/bin/sh\necho long check: $*\n", 0o755);
  return fake;
}

/** A test whose name has the way in which it was run. */
const REPORTS = `const { ASSAY_TEST_PATIENCE: patience, ASSAY_TEST_LAUNCHER: launcher, ASSAY_TEST_COLD: cold } = process.env;
  const how = patience > 1 ? "patient" : launcher.endsWith(".asan") ? "sanitized" : cold ? "cold" : "as ever";
  test("run: " + how, () => {});`;

const runs = (stdout: string) => [...stdout.matchAll(/✔ run: (.*) \(/g)].map(([, how]) => how).toSorted();

test("only the engine's suites also run on another kernel, with longer timeouts", async () => {
  using fake = withKernel(checkoutWith({ "system/matrix/cells": REPORTS, "pears/green": REPORTS }));
  const { code, stdout, stderr } = await fake.run("test");
  assert.equal(code, 0, stderr);
  assert.deepEqual(runs(stdout), ["as ever", "as ever", "patient"]);
  assert.match(stdout, /tests 3\n(.*\n){6}.*duration_ms \d+\s*$/, "the last summary covers both");
  assert.deepEqual(
    runs((await fake.run("test", "matrix")).stdout),
    ["as ever"],
    "a word selects tests of this machine only",
  );
});

test("full runs every variant of the chosen tests, and on runs only one variant", async () => {
  using fake = withKernel(checkoutWith({ "system/matrix/cells": REPORTS, "pears/green": REPORTS }));
  for (const [words, expected] of [
    ["full", ["as ever", "as ever", "cold", "patient", "patient", "sanitized"]],
    ["full matrix", ["as ever", "cold", "patient", "patient", "sanitized"]],
    ["full pears", ["as ever"]],
    ["on uml", ["patient"]],
    ["on sanitized matrix/", ["sanitized"]],
    ["on cold", ["cold"]],
  ] as const) {
    const { code, stdout, stderr } = await fake.run("test", ...words.split(" "));
    assert.equal(code, 0, stderr);
    assert.deepEqual(runs(stdout), expected, words);
    const long = ["long check: clang", "long check: 60"];
    assert.deepEqual(stdout.match(/long check: \w+/g) ?? [], words === "full" ? long : [], words);
  }
  const unknown = await fake.run("test", "on", "toast");
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /takes one of: uml /);
});

test("the other kernel runs concurrently with this machine's tests", async () => {
  const meets = (mine: string, other: string) => `
    import { existsSync, writeFileSync } from "node:fs";
    if ((process.env.ASSAY_TEST_PATIENCE > 1) === (${JSON.stringify(mine)} === "other"))
      test("${mine} meets ${other}", { timeout: 30_000 }, async () => {
        const place = process.env.ASSAY_TEST_DATA;
        writeFileSync(place + "/${mine}", "");
        while (!existsSync(place + "/${other}")) await new Promise((next) => setTimeout(next, 20));
      });`;
  using fake = withKernel(
    checkoutWith({
      "system/deploy/here": meets("own", "other"),
      "system/matrix/there": `${meets("other", "own")}\ntest("both", () => {});`,
    }),
  );
  const { code, stdout } = await fake.run("test");
  assert.equal(code, 0, stdout);
  assert.match(stdout, /own meets other[\s\S]*other meets own/, "the output of the other kernel follows the summary");
});

test("a run fails if the other kernel fails a test, runs no test or ends without a result", async () => {
  using fake = withKernel(
    checkoutWith({
      "system/matrix/bad": 'if (process.env.ASSAY_TEST_PATIENCE > 1) throw new Error("bad");\ntest("cell", () => {});',
    }),
  );
  const plain = await fake.run("test");
  assert.equal(plain.code, 1);
  assert.match(plain.stderr, /running again: only cgroup v2/, "it is repeated");
  assert.equal((await fake.run("test", "full", "system/matrix/bad")).code, 1);
  fake.write("test/system/matrix/bad.test.ts", "");
  fake.write(
    "test/system/matrix/none.test.ts",
    'import { test } from "node:test";\nif (process.env.ASSAY_TEST_PATIENCE == 1) test("cell", () => {});',
  );
  fake.write("test/pears.test.ts", 'import { test } from "node:test";\ntest("sour", () => {});');
  for (const [words, none] of [
    ["on uml pears", "in none of test/system/matrix/"],
    ["full bitter", "no file or test name contains bitter"],
    ["full matrix/none", "no test was run as the variant uml"],
    ["on uml matrix/none", "no test was run as the variant uml"],
  ] as const) {
    const ended = await fake.run("test", ...words.split(" "));
    assert.equal(ended.code, 1, words);
    assert.ok(ended.stderr.includes(none), ended.stderr);
  }
  withKernel(fake, "#!/bin/sh\nexit 1");
  assert.equal((await fake.run("test", "full", "system/matrix/none")).code, 1);
  withKernel(fake, "#!/bin/sh\nexit 0");
  assert.equal((await fake.run("test", "on", "uml", "system/matrix/none")).code, 1);
});

test("a run whose mode was overwritten by set-up runs nothing and fails", async () => {
  using fake = withKernel(checkoutWith({ "system/matrix/cells": REPORTS }));
  fake.write("setup/uml.sh", "find_uml() { uml=/ test_mode=garbled; }\n");
  const { code, stderr } = await fake.run("test");
  assert.equal(code, 1);
  assert.match(stderr, /no test was run\n$/);
});

test("after a failure on this machine no further variant runs, but the concurrent one is reported", async () => {
  using fake = withKernel(
    checkoutWith({ "system/matrix/cells": `${REPORTS}\nif (!(patience > 1)) throw new Error("bad");` }),
  );
  for (const words of [[], ["full"]]) {
    const { code, stdout } = await fake.run("test", ...words);
    assert.equal(code, 1);
    assert.match(stdout, /✖ test.system.matrix.cells/);
    assert.deepEqual(runs(stdout), ["as ever", "as ever", "patient"]);
  }
});

test("without support for the other kernel, the run prints it and full fails", async () => {
  using fake = withKernel(checkoutWith({ "system/matrix/cells": REPORTS }));
  const variants = readFileSync(join(fake.checkout, "setup/test-variants.sh"), "utf8");
  fake.write("setup/test-variants.sh", variants.replace("uname -m", "echo riscv64"));
  const plain = await fake.run("test");
  assert.deepEqual([plain.code, runs(plain.stdout)], [0, ["as ever"]]);
  assert.match(plain.stderr, /not tested: only cgroup v2, in user-mode Linux, because .*x86-64.*\n$/);
  for (const words of ["full", "on uml"]) {
    const { code, stderr } = await fake.run("test", ...words.split(" "));
    assert.equal(code, 1);
    assert.match(stderr, /does not support the variant uml: .*x86-64/);
  }
});

for (const [mode, ms] of [
  ["plain", 40_000],
  ["full", 0],
] as const) {
  test(`an interrupt also ends the other kernel (${mode})`, async () => {
    using fake = checkoutWith({
      "system/matrix/cells": 'test("cell", () => {});',
      "system/deploy/waits": `test("waits", () => new Promise((end) => setTimeout(end, ${ms})));`,
    });
    const booted = join(fake.root, "booted");
    withKernel(fake, `#!/bin/sh\necho $$ >${booted}.new && mv ${booted}.new ${booted}\nexec sleep 600`);
    const run = fake.start("test", ...(mode === "full" ? ["full"] : []));
    const ended = run.end();
    while (!existsSync(booted) && run.child.exitCode === null) await sleep(20);
    run.child.kill("SIGTERM");
    const { code, stdout } = await ended;
    assert.notEqual(code, 0, stdout);
    assert.ok(!existsSync(`/proc/${Number(readFileSync(booted, "utf8"))}`));
    assert.deepEqual(fake.list("run"), []);
  });
}

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
