import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { FakeTests } from "./fake-tests.ts";

const TWO_FILES = { "apples/red": 'test("sweet", () => {});', "pears/green": 'test("sour", () => {});' };

test("a run ends with the summary of the tests and their exit code", async () => {
  using fake = new FakeTests(TWO_FILES);
  const good = await fake.run();
  assert.equal(good.code, 0, good.stderr);
  assert.match(good.stdout, /tests 2\n(.*\n){6}.*duration_ms [\d.]+\s*$/);
  fake.write("test/bad.test.ts", 'throw new Error("bad");\n');
  assert.equal((await fake.run()).code, 1);
});

test("the names and errors of failed tests are printed last, without their suites", async () => {
  using fake = new FakeTests({
    ...TWO_FILES,
    "integration/bad": `
      import { suite } from "node:test";
      suite("outer", () => {
        test("good", () => {});
        suite("inner", () => test("rotten # 1", () => { throw new Error("no\\nmore"); }));
      });`,
  });
  const { code, stderr } = await fake.run();
  assert.equal(code, 1);
  assert.match(stderr, /these tests failed:\n {4}test\/integration\/bad\.test\.ts:\d+: rotten .*1\n +no\n +more\n$/);
});

test("a word selects files by path, or else tests by name, and fails without matches", async () => {
  using fake = new FakeTests(TWO_FILES);
  assert.match((await fake.run(["pears/"])).stdout, /✔ sour(.*\n)+.*tests 1\n/);
  assert.match((await fake.run(["swee"])).stdout, /✔ sweet(.*\n)+.*tests 1\n/);
  const none = await fake.run(["bitter"]);
  assert.equal(none.code, 1);
  assert.match(none.stderr, /no test was run: no file or test name contains bitter/);
});

test("a word selects composed titles, and other files do not run their hooks", async () => {
  using fake = new FakeTests({
    pears: `
      import { after, before } from "node:test";
      let box;
      before(() => { box = { stop() {} }; });
      after(() => box.stop());
      test("sour", () => {});`,
    apples: 'test(["swe", "et"].join(""), () => {});',
  });
  const { code, stdout } = await fake.run(["sweet"]);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /✔ sweet/);
  assert.doesNotMatch(stdout, /sour/);
});

test("a file whose set-up fails before a selected test fails without ending others", async () => {
  using fake = new FakeTests({
    pears:
      'import { before } from "node:test";\nbefore(() => { throw new Error("rotten"); });\ntest("swe" + "et", () => {});',
    apples: 'test("swe" + "et", () => {});',
  });
  const { code, stdout } = await fake.run(["sweet"]);
  assert.equal(code, 1);
  assert.match(stdout, /✔ sweet(.*\n)*.*rotten/);
});

test("a file with open resources after its tests fails, and the run ends", async () => {
  using fake = new FakeTests({
    holds: 'import { createServer } from "node:net";\ntest("passes", () => { createServer().listen(0); });',
  });
  const { code, stdout } = await fake.run();
  assert.equal(code, 1);
  assert.match(stdout, /✔ passes/);
  assert.match(stdout, /holds\.test\.ts does not end: held by .*TCPServerWrap/);
});

test("files that need no machine for themselves run at once, and a failure fails the run", {
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
  using fake = new FakeTests({
    "unit/here": meets("here", "there", "apples", "pears"),
    "integration/there": meets("there", "here", "apples", "pears"),
    "system/attacks/apples": meets("apples", "here", "there", "pears"),
    "system/setup/pears": meets("pears", "here", "there", "apples"),
  });
  const good = await fake.run();
  assert.equal(good.code, 0, good.stdout);
  assert.match(good.stdout, /tests 4\n(.*\n){6}.*duration_ms [\d.]+\s*$/);
  fake.write("test/integration/bad.test.ts", 'throw new Error("bad");\n');
  assert.equal((await fake.run()).code, 1);
});

test("in CI, failed files are repeated, and the last lines name those that then pass", async () => {
  const passesOnce = `
    import { existsSync, writeFileSync } from "node:fs";
    test("ripens", () => {
      if (existsSync("test/tried")) return;
      writeFileSync("test/tried", "");
      throw new Error("not ripe");
    });`;
  using fake = new FakeTests({ ...TWO_FILES, "unit/late": passesOnce });
  const late = await fake.run([], { CI: "true" });
  assert.equal(late.code, 0, late.stderr);
  assert.equal(late.stdout.match(/✔ (sweet|sour)/g)?.length, 2, "others are not repeated");
  assert.match(
    late.stderr,
    /these tests failed, and passed when they were repeated\. Each is a defect .*:\n {4}test\/unit\/late\.test\.ts:\d+: ripens\n/,
  );
  for (let i = 0; i < 9; i++) fake.write(`test/unit/bad-${i}.test.ts`, 'throw new Error("bad");\n');
  const many = await fake.run([], { CI: "true" });
  assert.equal(many.code, 1);
  assert.doesNotMatch(many.stderr, /repeating/);
});

test("outside of CI, no failed file is repeated", async () => {
  using fake = new FakeTests({ ...TWO_FILES, "unit/bad": 'throw new Error("bad");' });
  const { code, stderr } = await fake.run();
  assert.equal(code, 1);
  assert.doesNotMatch(stderr, /repeating/);
});

test("no test is run after a failed check", async () => {
  using fake = new FakeTests(TWO_FILES);
  fake.write("test/check.ts", "process.exit(1);");
  const ended = await fake.run();
  assert.equal(ended.code, 1);
  assert.doesNotMatch(ended.stdout, /sweet/);
});

/** A test whose name has the way in which it was run. */
const REPORTS = `const { ASSAY_TEST_PATIENCE: patience, ASSAY_TEST_LAUNCHER: launcher, ASSAY_TEST_COLD: cold } = process.env;
  const how = patience > 1 ? "patient" : launcher.endsWith(".asan") ? "sanitized" : cold ? "cold" : "as ever";
  test("run: " + how, () => {});`;

const runs = (stdout: string) => [...stdout.matchAll(/✔ run: (.*) \(/g)].map(([, how]) => how).toSorted();

test("only the suites of the sandbox also run on another kernel, with longer timeouts", async () => {
  using fake = new FakeTests({ "system/forgery/counters": REPORTS, "pears/green": REPORTS });
  const { code, stdout, stderr } = await fake.run();
  assert.equal(code, 0, stderr);
  assert.deepEqual(runs(stdout), ["as ever", "as ever", "patient"]);
  assert.match(stdout, /tests 3\n(.*\n){6}.*duration_ms \d+\s*$/, "the last summary covers both");
  assert.deepEqual(
    runs((await fake.run(["counters"])).stdout),
    ["as ever"],
    "a word selects tests of this machine only",
  );
});

test("full runs every variant of the chosen tests, and on runs only one variant", { skip: SKIPS_LONG }, async () => {
  using fake = new FakeTests({ "system/forgery/counters": REPORTS, "pears/green": REPORTS });
  for (const [words, expected] of [
    ["full", ["as ever", "as ever", "cold", "patient", "patient", "sanitized"]],
    ["full counters", ["as ever", "cold", "patient", "patient", "sanitized"]],
    ["full pears", ["as ever"]],
    ["on uml", ["patient"]],
    ["on sanitized forgery/", ["sanitized"]],
    ["on cold", ["cold"]],
  ] as const) {
    const { code, stdout, stderr } = await fake.run(words.split(" "));
    assert.equal(code, 0, stderr);
    assert.deepEqual(runs(stdout), expected, words);
    const long = ["long check: clang", "long check: 60"];
    assert.deepEqual(stdout.match(/long check: \w+/g) ?? [], words === "full" ? long : [], words);
  }
  const unknown = await fake.run(["on", "toast"]);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /takes one of: uml /);
});

test("if a variant fails, and passes when it is repeated, the variants after it run as well", async () => {
  const passesOnce = `
    import { existsSync, writeFileSync } from "node:fs";
    test("ripens", () => {
      if (!process.env.ASSAY_TEST_LAUNCHER.endsWith(".asan") || existsSync("test/tried")) return;
      writeFileSync("test/tried", "");
      throw new Error("not ripe");
    });`;
  using fake = new FakeTests({ "system/forgery/counters": REPORTS, "system/forgery/late": passesOnce });
  const { code, stdout, stderr } = await fake.run(["full", "forgery"], { CI: "true" });
  // A run with a word repeats nothing, so this one fails, and the variants after the failed one do not run.
  assert.equal(code, 1, stderr);
  assert.ok(!runs(stdout).includes("cold"));
  rmSync(join(fake.checkout, "test/tried"));
  const whole = await fake.run(["full"], { CI: "true" });
  assert.equal(whole.code, 0, whole.stderr);
  assert.deepEqual(runs(whole.stdout), ["as ever", "cold", "patient", "patient", "sanitized", "sanitized"]);
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
  using fake = new FakeTests({
    "system/deploy/here": meets("own", "other"),
    "system/forgery/counters-there": `${meets("other", "own")}\ntest("both", () => {});`,
  });
  const { code, stdout } = await fake.run();
  assert.equal(code, 0, stdout);
  assert.match(stdout, /own meets other[\s\S]*other meets own/, "the output of the other kernel follows the summary");
});

test("a run fails if the other kernel fails a test, runs no test or ends without a result", {
  skip: SKIPS_LONG,
}, async () => {
  using fake = new FakeTests({
    "system/forgery/counters-bad":
      'if (process.env.ASSAY_TEST_PATIENCE > 1) throw new Error("bad");\ntest("cell", () => {});',
  });
  const plain = await fake.run([], { CI: "true" });
  assert.equal(plain.code, 1);
  assert.match(plain.stderr, /running again: only cgroup v2/, "it is repeated");
  assert.equal((await fake.run(["full", "system/forgery/counters-bad"])).code, 1);
  fake.write("test/system/forgery/counters-bad.test.ts", "");
  fake.write(
    "test/system/forgery/counters-none.test.ts",
    'import { test } from "node:test";\nif (process.env.ASSAY_TEST_PATIENCE == 1) test("cell", () => {});',
  );
  fake.write("test/pears.test.ts", 'import { test } from "node:test";\ntest("sour", () => {});');
  for (const [words, none] of [
    ["on uml pears", "in none of test/system/matrix/"],
    ["full bitter", "no file or test name contains bitter"],
    ["full counters-none", "no test was run as the variant uml"],
    ["on uml counters-none", "no test was run as the variant uml"],
  ] as const) {
    const ended = await fake.run(words.split(" "));
    assert.equal(ended.code, 1, words);
    assert.ok(ended.stderr.includes(none), ended.stderr);
  }
  fake.writeKernels("#!/bin/sh\nexit 1");
  assert.equal((await fake.run(["full", "system/forgery/counters-none"])).code, 1);
  fake.writeKernels("#!/bin/sh\nexit 0");
  assert.equal((await fake.run(["on", "uml", "system/forgery/counters-none"])).code, 1);
});

test("after a failure on this machine no further variant runs, but the concurrent one is reported", {
  skip: SKIPS_LONG,
}, async () => {
  using fake = new FakeTests({ "system/forgery/counters": `${REPORTS}\nif (!(patience > 1)) throw new Error("bad");` });
  for (const words of [[], ["full"]]) {
    const { code, stdout } = await fake.run(words);
    assert.equal(code, 1);
    assert.match(stdout, /✖ test.system.forgery.counters/);
    assert.deepEqual(runs(stdout), ["as ever", "patient"]);
  }
});

test("without support for the other kernel, the run prints it, and the set-up of full fails", {
  skip: SKIPS_LONG,
}, async () => {
  using fake = new FakeTests({ "system/forgery/counters": REPORTS });
  const other = { ASSAY_TEST_PROCESSOR: "riscv64" };
  const plain = await fake.run([], other);
  assert.deepEqual([plain.code, runs(plain.stdout)], [0, ["as ever"]]);
  assert.match(plain.stderr, /not tested: only cgroup v2, in user-mode Linux, because .*x86-64.*\n$/);
  for (const words of ["needs full", "needs on uml"]) {
    const { code, stderr } = await fake.run(words.split(" "), other);
    assert.equal(code, 1);
    assert.match(stderr, /does not support the variant uml: .*x86-64/);
  }
});

for (const [mode, ms] of [
  ["plain", 40_000],
  ["full", 0],
] as const) {
  test(`an interrupt also ends the other kernel (${mode})`, async () => {
    using fake = new FakeTests({
      "system/forgery/counters": 'test("cell", () => {});',
      "system/deploy/waits": `test("waits", () => new Promise((end) => setTimeout(end, ${ms})));`,
    });
    const booted = join(fake.root, "booted");
    fake.writeKernels(`#!/bin/sh\necho $$ >${booted}.new && mv ${booted}.new ${booted}\nexec sleep 600`);
    const { child, ended } = fake.start(mode === "full" ? ["full"] : []);
    while (!existsSync(booted) && child.exitCode === null) await sleep(20);
    child.kill("SIGTERM");
    const { code, stdout } = await ended;
    assert.equal(code, 143, stdout);
    assert.ok(!existsSync(`/proc/${Number(readFileSync(booted, "utf8"))}`));
  });
}

test("tests that measure durations run in full, or if a word selects them", async () => {
  using fake = new FakeTests({ "system/bounds/times": 'test("late", () => {});', pears: 'test("sour", () => {});' });
  for (const [words, isRun] of [
    ["", false],
    ["bounds/times", true],
    ["full", true],
  ] as const) {
    const { code, stdout, stderr } = await fake.run(words === "" ? [] : [words]);
    assert.equal(code, 0, stderr);
    assert.equal(/✔ late/.test(stdout), isRun, words);
    if (!isRun) assert.match(stderr, /for 'assay test full': .*test\/system\/bounds\/times/);
  }
});

test("set-up prepares only what the chosen tests need", async () => {
  using fake = new FakeTests({ "system/forgery/counters": REPORTS, "system/packs/packs": REPORTS });
  const somePacks = /^packs=bash,[a-z0-9,]+\n$/;
  for (const [words, needs] of [
    ["needs", /^uml\n$/],
    ["needs packs", somePacks],
    ["needs counters", /^\n$/],
    ["needs full", /^uml qemu packs=all\n$/],
    ["needs full counters", /^uml qemu\n$/],
    ["needs on uml", /^uml\n$/],
    ["needs on cold", /^\n$/],
  ] as const) {
    const { code, stdout, stderr } = await fake.run(words.split(" "));
    assert.equal(code, 0, stderr);
    assert.match(stdout, needs, words);
  }
});
