import assert from "node:assert/strict";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import type { PackageFiles } from "../../../src/problems/files.ts";
import { openImport } from "../../../src/problems/import.ts";
import { makeTests } from "../../../src/problems/makers.ts";
import { measureTimeLimit } from "../../../src/problems/measure.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { type Verified, verify } from "../../../src/problems/verify.ts";
import { packageFromZip } from "../../../src/problems/zip.ts";
import type { Slot } from "../../../src/sandbox/slot.ts";
import { LocalJudge } from "../../../src/worker/judge-locally.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { DMOJ, GRADED, PACKAGES, type PackageTexts, toFiles } from "../../support/problems/packages.ts";
import { zipOf } from "../../support/problems/zip.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { useSlot } from "../../support/sandbox/one-slot.ts";

/** The mode of a symbolic link in a ZIP file. */
const LINK = 0o120777;
const LIMIT = { timeout: 120_000 };
const languages = loadLanguages(LANGUAGES);

let slot: Slot;
useSlot((one) => {
  slot = one;
});

async function verified(texts: PackageTexts): Promise<Verified> {
  const files = toFiles(texts);
  return await verify(files, readProblem(files, languages), new LocalJudge(slot, languages), languages);
}

/** The time limit that an import stores, and the submissions that it runs. */
async function imported(texts: PackageTexts) {
  const files = toFiles(texts);
  const measured: string[] = [];
  const { importable } = await openImport(
    files,
    languages,
    { name: "x" },
    {
      make: (makings) => makeTests(makings, new LocalJudge(slot, languages)),
      measure: (problem) =>
        measureTimeLimit(files, problem, new LocalJudge(slot, languages), languages, (path) => measured.push(path)),
    },
  );
  const limits = new Set(importable.definition.tests.map(({ limits }) => limits.cpu_time_secs));
  assert.deepEqual([...limits], [importable.cpuSecs]);
  return { cpuSecs: importable.cpuSecs, measured: measured.map((path) => path.replace("submissions/", "")) };
}

/** The package with another text in one of its files. */
function edited(texts: PackageTexts, path: string, from: string | RegExp, to: string): PackageTexts {
  const before = texts[path] ?? "";
  assert.match(before, new RegExp(from));
  return { ...texts, [path]: before.replace(from, to) };
}

/** The package `sum` without submissions in languages that take a second to compile. */
const QUICK_SUM: PackageTexts = Object.fromEntries(
  Object.entries(PACKAGES.sum).filter(([path]) => /^(problem|data|submissions\/accepted\/sum\.py)/.test(path)),
);

const faultsOf = ({ faults, submissions }: Verified) => [
  ...faults,
  ...submissions.flatMap((one) => one.faults.map((fault) => `${one.path}: ${fault}`)),
];

/** A package whose test takes as long as those of all others together. judging/imported.test.ts judges its submissions as well. */
const LARGEST = "sum";

for (const [name, texts] of Object.entries(PACKAGES)) {
  test(`the package ${name} behaves as it says`, { ...LIMIT, skip: name === LARGEST && SKIPS_LONG }, async () => {
    const result = await verified(texts);
    assert.deepEqual(faultsOf(result), []);
    assert.ok(result.submissions.length > 0);
    if (name === "thirds") {
      const old = result.submissions.find(({ path }) => path.endsWith("old.py"));
      assert.equal(old?.language, null);
      const text = result.submissions.find(({ path }) => path.endsWith("double.txt"));
      assert.deepEqual([text?.language, text?.score], ["python", 100]);
    }
    if (name === "near")
      assert.deepEqual(
        result.submissions.map(({ verdict, score }) => [verdict, score]),
        [
          ["AC", 120],
          // The worst test of the first group earns 15 of its 30 points.
          ["AC", 105],
          // In the second group, only the test before the failure earns points.
          ["WA", 60],
        ],
      );
    if (name === "nested")
      assert.deepEqual(
        result.submissions.map(({ verdict, score }) => [verdict, score]),
        [
          ["AC", 22],
          ["WA", 7],
          ["WA", 0],
        ],
      );
    if (name === "sum") {
      const skipped = result.submissions.filter(({ language }) => language === null).map(({ path }) => path);
      assert.deepEqual(skipped, ["submissions/accepted/sum.cob"]);
      const verdicts = Object.fromEntries(
        result.submissions.map(({ path, verdict }) => [path.split("/").at(-1), verdict]),
      );
      assert.deepEqual(
        [verdicts["overflow.c"], verdicts["waits.py"], verdicts["fails.py"], verdicts.two],
        ["WA", "TLE", "RTE", "AC"],
      );
      assert.equal(result.timeLimitSecs, 1);
    }
  });
}

test("the faults of a package that does not behave as it says are named", LIMIT, async () => {
  const faults = await verified({
    ...PACKAGES.words,
    "data/secret/3.in": "incomprehensibilities\n",
    "data/secret/3.ans": "incomprehensibilities\n",
    "data/invalid_input/short.in": "a\n",
    // Only the arguments let the validator accept it.
    "data/invalid_input/medium.in": "extraordinary\n",
    "data/invalid_input/medium.yaml": "input_validator_args: ['13']\n",
    "data/invalid_output/1.out": "a b\n",
    "data/invalid_output/2.in": "incomprehensible\n",
    "data/invalid_output/2.ans": "a\n",
    "data/invalid_output/2.out": "b\n",
    "submissions/accepted/wrong.py": "print('b')\n",
    "submissions/wrong_answer/right.py": "print(*sorted(input().split()))\n",
    "submissions/run_time_error/broken.c": "int main(",
  }).then(faultsOf);
  const wanted = [
    "data/secret/3.in: input_validators/words ends with exit code 43",
    "data/invalid_input/short.in: no input validator rejects it",
    "data/invalid_input/medium.in: no input validator rejects it",
    "data/invalid_output/2.in: input_validators/words ends with exit code 43",
    "data/invalid_output/1.out: is AC, not WA",
    "submissions/accepted/wrong.py: WA on secret/1 instead of AC (",
    "submissions/wrong_answer/right.py: no test is WA: 3 AC, the slowest is secret/",
  ];
  for (const fault of wanted)
    assert.ok(
      faults.some((one) => one.startsWith(fault)),
      `${fault} is missing in ${faults.join("\n")}`,
    );
  assert.ok(
    faults.some((fault) => fault.startsWith("submissions/run_time_error/broken.c: CE")),
    faults.join("\n"),
  );
});

test("standard error beyond its limit does not make the output wrong", LIMIT, async () => {
  const noisy = `import sys\nsys.stderr.write("x" * 3_000_000)\n${QUICK_SUM["submissions/accepted/sum.py"]}`;
  const texts = { ...QUICK_SUM, "submissions/accepted/noisy.py": noisy };
  assert.deepEqual(faultsOf(await verified(texts)), []);
});

test("tests that are the same files by links run once, and each has the result", LIMIT, async () => {
  const linked = { "data/secret/9.in": "1-small.in", "data/secret/9.ans": "1-small.ans" };
  const own = Object.entries(QUICK_SUM).map(([name, data]) => ({ name, data }));
  const links = Object.entries(linked).map(([name, data]) => ({ name, data, mode: LINK }));
  const runsOf = async (files: PackageFiles) => {
    let runs = 0;
    const counting = {
      run: (...given: Parameters<Slot["run"]>) => {
        runs++;
        return slot.run(...given);
      },
      runPair: (...given: Parameters<Slot["runPair"]>) => slot.runPair(...given),
    };
    const judge = new LocalJudge(counting, languages);
    const result = await verify(files, readProblem(files, languages), judge, languages);
    assert.deepEqual(faultsOf(result), []);
    return runs;
  };
  const withLinks = await packageFromZip(zipOf([...own, ...links]));
  assert.equal(
    readProblem(withLinks, languages).tests.length,
    readProblem(toFiles(QUICK_SUM), languages).tests.length + 1,
  );
  assert.equal(await runsOf(withLinks), await runsOf(toFiles(QUICK_SUM)));
});

test(
  "an input validator in no installed language is skipped, and then nobody knows whether it rejects an input",
  LIMIT,
  async () => {
    const texts = { ...QUICK_SUM, "data/invalid_input/bad.in": "x\n", "data/invalid_input/good.in": "1 2\n" };
    const accepts = "import sys\nsys.exit(42 if sys.stdin.read() != 'x\\n' else 43)\n";
    const { faults, skipped } = await verified({
      ...texts,
      "input_validators/a.ctd": "INT(0,1) NEWLINE\n",
      "input_validators/b.py": accepts,
    });
    assert.deepEqual(faults, []);
    assert.deepEqual(skipped, [
      "input_validators/a.ctd: is in no installed language",
      "data/invalid_input/good.in: no other input validator rejects it",
    ]);
    const alone = await verified({ ...texts, "input_validators/b.py": accepts });
    assert.deepEqual(
      [alone.faults, alone.skipped],
      [["data/invalid_input/good.in: no input validator rejects it"], []],
    );
  },
);

test("an input validator that reaches a limit, also of its compiler, rejects nothing", LIMIT, async () => {
  const texts = { ...QUICK_SUM, "data/invalid_input/bad.in": "x\n" };
  const reads = "import sys\ntext = sys.stdin.read()\n";
  const validators = {
    "computes.py": `${reads}while text == "x\\n": pass\nsys.exit(42)\n`,
    "forks.py": `${reads}import os, time\nwhile text == "x\\n":\n    if os.fork() == 0: time.sleep(9)\nsys.exit(42)\n`,
    "large.c": 'asm(".fill 60000000, 1, 1");\nint main(void) { return 1; }\n',
    "broken.c": "int main(void) { return x; }\n",
  };
  const faults: (readonly string[])[] = [];
  for (const [name, code] of Object.entries(validators))
    faults.push(faultsOf(await verified({ ...texts, [`input_validators/${name}`]: code })));
  const starts = [
    "data/invalid_input/bad.in: input_validators/computes.py ends with TLE: ",
    "data/invalid_input/bad.in: input_validators/forks.py ends with PLE: ",
    "data/invalid_input/bad.in: input_validators/large.c ends with an error of its compiler: compile step: file size limit",
    "input_validators/broken.c: does not compile: ",
  ];
  for (const [at, start] of starts.entries())
    assert.ok(
      faults[at]?.some((fault) => fault.startsWith(start)),
      faults[at]?.join("\n"),
    );
  // It is said once, and not for each input, with the message of the compiler.
  const broken = faults.at(-1)?.filter((fault) => fault.includes("broken.c")) ?? [];
  assert.equal(broken.length, 1);
  assert.match(broken[0] ?? "", /error.*\bx\b/);
});

test(
  "a time limit that does not separate fast from slow submissions is noted, for a package in the format legacy",
  LIMIT,
  async () => {
    // On one of the tests, because the slowest one counts.
    const slow = "import time\nline = input()\nwhile line == '1 2' and time.process_time() < 1.2: pass\n";
    const { timeLimitSecs, skipped } = await verified({
      ...QUICK_SUM,
      "submissions/accepted/slow.py": `${slow}print(sum(map(int, line.split())))\n`,
      "submissions/time_limit_exceeded/waits.py": slow,
    });
    assert.ok((timeLimitSecs ?? 0) >= 6, String(timeLimitSecs));
    assert.match(
      skipped.join("\n"),
      /with a time limit of \d+ s, a submission that is too slow must take at least \d+ s, but submissions\/time_limit_exceeded\/waits\.py takes 1\.\d+ s/,
    );
  },
);

test("the time limit of the package decides about points", LIMIT, async () => {
  const result = await verified({
    ...edited(PACKAGES.factors, "problem.yaml", "time_limit: 2", "time_limit: 1"),
    "submissions/slow/large.py": `import time
n = int(input())
if n > 1e9:
    while time.process_time() < 1.4: pass
    print(1000000007, 1000000009)
else:
    print(*next((d, n // d) for d in range(2, n) if n % d == 0))
`,
    "submissions/submissions.yaml": `slow:
  score: 60
  secret/2-sum: {permitted: [AC], score: 30}
  secret/3-large: {permitted: [TLE], required: [TLE], score: 0, use_for_time_limit: false}
`,
  });
  assert.deepEqual(faultsOf(result), []);
  const slow = result.submissions.find(({ path }) => path === "submissions/slow/large.py");
  assert.deepEqual([slow?.verdict, slow?.score], ["TLE", 60]);
});

test("the slowest pass counts for the time limit", LIMIT, async () => {
  const slow =
    "import time\ntask, word = input().split()\nif task == 'encode':\n    while time.process_time() < 0.6: pass\n";
  const { timeLimitSecs } = await verified(edited(PACKAGES.relay, "submissions/accepted/relay.py", /.*\n/, slow));
  assert.equal(timeLimitSecs, 2);
});

test(
  "a package with a test or a program over its limit is rejected, a submission over its limit is a fault",
  LIMIT,
  async () => {
    const large = Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`output_validator/part${at}.cpp`, ""]));
    await assert.rejects(verified({ ...PACKAGES.factors, ...large }), {
      message: "output_validator: a program has at most 48 files and 1048576 bytes",
    });
    await assert.rejects(verified({ ...PACKAGES.thirds, "data/secret/1.in": "1 ".repeat(8_388_609) }), {
      message: "data/secret/1.in: an input or an answer has at most 16777216 bytes",
    });
    const result = await verified({
      ...PACKAGES.thirds,
      "submissions/accepted/double.py": `print(int(input()) * 2) # ${"long ".repeat(300)}\n`,
    });
    const faults = faultsOf(result).join("\n");
    assert.match(faults, /^submissions\/accepted\/double\.py: has 1\d{3} bytes, more than the 1024 of limits\.code$/m);
  },
);

test(
  "a package without a submission, or without an accepted one, is told from one in no installed language",
  LIMIT,
  async () => {
    const data = Object.fromEntries(Object.entries(QUICK_SUM).filter(([path]) => !path.startsWith("submissions/")));
    const first = async (more: PackageTexts) => (await verified({ ...data, ...more })).faults[0];
    assert.equal(await first({}), "submissions: the package has no submission");
    assert.equal(
      await first({ "submissions/wrong_answer/zero.py": "print(0)\n" }),
      "submissions/accepted: no submission",
    );
    assert.equal(
      await first({ "submissions/accepted/sum.cob": "" }),
      "submissions/accepted: no submission in an installed language",
    );
  },
);

test("the fault of a submission that is a single file names the file once", LIMIT, async () => {
  const { submissions } = await verified({ ...QUICK_SUM, "submissions/accepted/-x.py": "print(0)\n" });
  assert.deepEqual(submissions[0]?.faults, ["is not a valid name of a file"]);
});

test("an expectation that does not hold is a fault", LIMIT, async () => {
  const { submissions } = await verified({
    ...PACKAGES.thirds,
    "submissions/submissions.yaml": `accepted/double.txt:
  language: python3
  score: 99.9
  secret/4: {permitted: [AC]}
partly/late.py:
  score: 1
  secret/1: {required: [TLE]}
  secret: {permitted: [AC]}
  sample: {score: [1, 2]}
`,
  });
  const faults = Object.fromEntries(submissions.map((one) => [one.path.split("/").at(-1), one.faults]));
  assert.deepEqual(faults["double.txt"], ["the score 100 is not 99.9", "submissions.yaml: no test is named secret/4"]);
  assert.deepEqual(
    faults["late.py"]?.map((fault: string) => fault.replace(/, the slowest.*/, "")),
    [
      "the score 0 is not 1",
      "no test of secret/1 is TLE: 1 skipped",
      "skipped on secret/1 instead of AC",
      "the score 0 of sample is not between 1 and 2",
    ],
  );
});

test("a grader of the package makes the score of each group that names it", LIMIT, async () => {
  const result = await verified(GRADED);
  assert.deepEqual(faultsOf(result), []);
  assert.deepEqual(
    result.submissions.map(({ score }) => score),
    // Sample and twice the best part of secret: the average of 10 and 30, or of 10 and 0.
    [41, 11, 0],
  );
  const broken = { ...GRADED, "graders/best/best.py": "print('perhaps 1')\n" };
  assert.match(
    faultsOf(await verified(broken)).join("\n"),
    /increment\.py: graders\/best: the grader writes no verdict with a score/,
  );
  const limited = "name: Nested\ntype: scoring\nlimits: {validation_time: 1}\n";
  const endless = { ...GRADED, "problem.yaml": limited, "graders/best/best.py": "while True: pass\n" };
  assert.match(faultsOf(await verified(endless)).join("\n"), /increment\.py: graders\/best: the grader ends as TLE/);
});

test("a script that fails, or builds no program, is an error of the compiler", LIMIT, async () => {
  const build = "output_validators/check/build";
  const given = async (script: string) =>
    faultsOf(await verified({ ...PACKAGES.scripted, [build]: `#!/bin/sh\n${script}\n` })).join("\n");
  assert.match(await given("echo no >&2; exit 1"), /double\.py: IE on secret\/1: the checker does not compile.*no/);
  assert.match(await given("true"), /double\.py: IE on secret\/1: .*there is no program with the name run/);
});

test("an interactor or a validator with passes that fails is a fault of the package", LIMIT, async () => {
  const crashes = { ...PACKAGES.guess, "output_validator/interact.cpp": "int main() { return 1; }\n" };
  assert.match(
    faultsOf(await verified(crashes)).join("\n"),
    /^submissions\/accepted\/search\.py: IE on secret\/1: the interactor ended as RE with exit code 1/m,
  );
  const asksAgain = `import sys
open(sys.argv[3] + "nextpass.in", "w").write("encode 1")
sys.exit(42)
`;
  assert.match(
    faultsOf(await verified({ ...PACKAGES.relay, "output_validator/validate.py": asksAgain })).join("\n"),
    /^submissions\/accepted\/relay\.py: IE on secret\/1: the checker asks for more passes than the test has/m,
  );
});

const busy = (seconds: number) => `import time\nwhile time.process_time() < ${seconds}: pass\n`;
const SUMS = "print(sum(map(int, input().split())))\n";

test("an import measures the time limit that a package lacks by its accepted submissions", LIMIT, async () => {
  const { cpuSecs, measured } = await imported(PACKAGES.sum);
  assert.equal(cpuSecs, 1);
  assert.deepEqual(
    measured.sort(),
    ["Sum.java", "sum.cob", "sum.cpp", "sum.py", "two"].map((name) => `accepted/${name}`),
  );
  const slower = await imported({ ...QUICK_SUM, "submissions/accepted/sum.py": `${busy(0.5)}${SUMS}` });
  assert.equal(slower.cpuSecs, 3);
  const given = await imported({ ...PACKAGES.sum, "problem.yaml": "name: X\nlimits: {time_limit: 2.5}\n" });
  assert.deepEqual(given, { cpuSecs: 2.5, measured: [] });
  // The directory of a submission without expectations bounds nothing.
  assert.equal(
    (
      await imported({
        ...PACKAGES.thirds,
        "problem.yaml": "problem_format_version: 2025-09\nname: X\ntype: scoring\n",
      })
    ).cpuSecs,
    1,
  );
});

test("an import stores no time limit that its submissions do not support", LIMIT, async () => {
  const cases: [PackageTexts, RegExp][] = [
    [
      { "submissions/accepted/sum.py": "print(0)\n" },
      /^submissions\/accepted\/sum\.py: cannot .*: WA on sample\/1 instead of AC .*: token 1/,
    ],
    [{ "submissions/accepted/two/main.c": "int main(" }, /^submissions\/accepted\/two: cannot .*: CE on sample\/1/],
    [
      {
        "problem.yaml": `${PACKAGES.sum["problem.yaml"]}limits: {time_multiplier: 30}\n`,
        "submissions/accepted/sum.py": `${busy(0.9)}${SUMS}`,
      },
      /^the package: the time limit of \d\d s is above the 20 s that this service permits/,
    ],
  ];
  for (const [changes, message] of cases) await assert.rejects(imported({ ...QUICK_SUM, ...changes }), { message });
  const only = Object.fromEntries(
    Object.entries(PACKAGES.sum).filter(([path]) => !path.includes("accepted/") || path.endsWith(".cob")),
  );
  await assert.rejects(imported(only), { message: /no submission in an installed language to measure$/ });
});

test("an accepted submission that never ends takes only one run of an import", LIMIT, async (t) => {
  const runs = t.mock.method(slot, "run").mock;
  const paths = Array.from({ length: 100 }, (_, at) => `data/secret/${at}`);
  const tests = Object.fromEntries(
    paths.flatMap((path) => [
      [`${path}.in`, "1 2\n"],
      [`${path}.ans`, "3\n"],
    ]),
  );
  await assert.rejects(imported({ ...QUICK_SUM, ...tests, "submissions/accepted/a.py": "while True: pass\n" }), {
    message: /^submissions\/accepted\/a\.py: cannot be measured for the time limit: TLE on sample\/1/,
  });
  assert.equal(runs.calls.filter(({ arguments: [{ files }] }) => /^while/.test(`${files[0]?.data}`)).length, 1);
});

test("the checker of a package of DMOJ must accept its answers", LIMIT, async () => {
  assert.deepEqual(await verified(DMOJ), { faults: [], skipped: [], timeLimitSecs: null, submissions: [] });
  const bridged = (code: string): PackageTexts => ({
    ...DMOJ,
    "init.yml": `${DMOJ["init.yml"]}checker: {name: bridged, args: {files: check.py, lang: PY3}}\n`,
    "check.py": `import sys\n${code}\n`,
  });
  const same = "sys.exit(0 if open(sys.argv[2]).read() == open(sys.argv[3]).read() else 1)";
  assert.deepEqual((await verified(bridged(same))).faults, []);
  const { faults } = await verified(bridged("sys.exit(open(sys.argv[2]).read() == '0\\n' and 9)"));
  assert.equal(faults.length, 3);
  assert.match(faults[0] ?? "", /^init\.yml: test 1: is IE, not AC: the checker ended as RE with exit code 9/);
});

/** A package whose submissions are functions, which files of the package call. */
const INCLUDES: PackageTexts = {
  "problem.yaml": "problem_format_version: 2025-09\nname: Double\nlimits:\n  time_limit: 2\n",
  "data/secret/1.in": "21\n",
  "data/secret/1.ans": "42\n",
  "include/default/unused.txt": "of no effect",
  "include/python3/main.py": "from double import double\nprint(double(int(input())))\n",
  "include/cpp/double.h": "long twice(long n);\n",
  "include/cpp/runner.cpp":
    '#include "double.h"\n#include <cstdio>\nint main() { long n; std::scanf("%ld", &n); std::printf("%ld\\n", twice(n)); }\n',
  "submissions/accepted/double.py": "def double(n): return 2 * n\n",
  "submissions/accepted/double.cpp": '#include "double.h"\nlong twice(long n) { return 2 * n; }\n',
  "submissions/wrong_answer/double.py": "def double(n): return n\n",
};

test("files of include are added to submissions by their language", LIMIT, async () => {
  const result = await verified(INCLUDES);
  assert.deepEqual(faultsOf(result), []);
  assert.deepEqual(
    result.submissions.map(({ path, verdict }) => [path, verdict]),
    [
      ["submissions/accepted/double.cpp", "AC"],
      ["submissions/accepted/double.py", "AC"],
      ["submissions/wrong_answer/double.py", "WA"],
    ],
  );
});
