import assert from "node:assert/strict";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { type Verified, verify } from "../../../src/problems/verify.ts";
import type { Slot } from "../../../src/sandbox/slot.ts";
import { LocalJudge } from "../../../src/worker/judge-locally.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { DMOJ, PACKAGES, type PackageTexts, toFiles } from "../../support/problems/packages.ts";
import { useSlot } from "../../support/sandbox/one-slot.ts";

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

const faultsOf = ({ faults, submissions }: Verified) => [
  ...faults,
  ...submissions.flatMap((one) => one.faults.map((fault) => `${one.path}: ${fault}`)),
];

for (const [name, texts] of Object.entries(PACKAGES)) {
  test(`the package ${name} behaves as it says`, LIMIT, async () => {
    const result = await verified(texts);
    assert.deepEqual(faultsOf(result), []);
    assert.ok(result.submissions.length > 0);
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

test("a package that does not behave as it says has its faults named", LIMIT, async () => {
  const faults = await verified({
    ...PACKAGES.words,
    "data/secret/3.in": "incomprehensibilities\n",
    "data/secret/3.ans": "incomprehensibilities\n",
    "data/invalid_input/short.in": "a\n",
    "data/invalid_output/1.out": "a b\n",
    "submissions/accepted/wrong.py": "print('b')\n",
    "submissions/wrong_answer/right.py": "print(*sorted(input().split()))\n",
    "submissions/run_time_error/broken.c": "int main(",
  }).then(faultsOf);
  const wanted = [
    "data/secret/3.in: input_validators/words ends with exit code 43",
    "data/invalid_input/short.in: no input validator rejects it",
    "data/invalid_output/1.out: is AC, not WA",
    "submissions/accepted/wrong.py: WA on secret/1",
    "submissions/wrong_answer/right.py: no WA",
  ];
  for (const fault of wanted) assert.ok(faults.includes(fault), `${fault} is missing in ${faults.join("\n")}`);
  assert.ok(
    faults.some((fault) => fault.startsWith("submissions/run_time_error/broken.c: CE")),
    faults.join("\n"),
  );
});

test("a time limit that separates nothing is a fault", LIMIT, async () => {
  const slow = "import time\nend = time.process_time() + 1.2\nwhile time.process_time() < end: pass\n";
  const { timeLimitSecs, faults } = await verified({
    ...PACKAGES.sum,
    "submissions/accepted/slow.py": `${slow}print(sum(map(int, input().split())))\n`,
    "submissions/time_limit_exceeded/waits.py": slow,
  });
  assert.ok((timeLimitSecs ?? 0) >= 6, String(timeLimitSecs));
  assert.match(
    faults.join("\n"),
    /with a time limit of \d+ s, \d+ s are too slow, but submissions\/time_limit_exceeded\/waits\.py takes 1\.\d+ s/,
  );
});

test("a score is that with the time limit of the package", LIMIT, async () => {
  const late = "import time\nn = int(input())\nif n == 2:\n  while time.process_time() < 1.6: pass\nprint(n)\n";
  const { submissions, faults } = await verified({
    "problem.yaml": "problem_format_version: 2025-09\nname: Echo\ntype: scoring\nlimits: {time_limit: 1}\n",
    "data/secret/1.in": "1\n",
    "data/secret/1.ans": "1\n",
    "data/secret/2.in": "2\n",
    "data/secret/2.ans": "2\n",
    "data/secret/3.in": "3\n",
    "data/secret/3.ans": "3\n",
    "submissions/accepted/echo.py": "print(input())\n",
    "submissions/accepted/echo.js.txt.js": 'console.log(require("fs").readFileSync(0, "utf8"))\n',
    "submissions/time_limit_exceeded/late.py": late,
    "submissions/submissions.yaml":
      "accepted:\n  score: 100\ntime_limit_exceeded/late.py:\n  language: python3\n  score: 66.667\n  secret:\n    score: [60, 70]\n",
  });
  assert.deepEqual(faults, []);
  const late3 = submissions.find(({ path }) => path.endsWith("late.py"));
  assert.deepEqual([late3?.verdict, late3?.score, late3?.faults], ["TLE", 66.666667, []]);
});

test("validators get the arguments of the inputs and outputs that they check", LIMIT, async () => {
  const args = {
    "data/valid_output/1.out": "b   a",
    "data/valid_output/1.yaml": "output_validator_args: [any-order]\ninput_validator_args: ['1']\n",
    "data/invalid_input/long.in": "four\n",
  };
  const tooLong = "data/invalid_input/long.in: no input validator rejects it";
  assert.deepEqual(faultsOf(await verified({ ...PACKAGES.words, ...args })), [tooLong]);
  const own = { "data/invalid_input/test_group.yaml": "input_validator_args: ['3']\n" };
  assert.deepEqual(faultsOf(await verified({ ...PACKAGES.words, ...args, ...own })), []);
  const shorter = { ...own, "data/valid_output/1.yaml": "input_validator_args: ['0']\n" };
  assert.deepEqual(faultsOf(await verified({ ...PACKAGES.words, ...args, ...shorter })), [
    "data/valid_output/1.in: input_validators/words ends with exit code 43",
    "data/valid_output/1.out: is WA, not AC",
  ]);
});

test("the checker of a package of DMOJ must work with the answers", LIMIT, async () => {
  assert.deepEqual(await verified(DMOJ), { faults: [], timeLimitSecs: null, submissions: [] });
  const bridged = (code: string): PackageTexts => ({
    ...DMOJ,
    "init.yml": `${DMOJ["init.yml"]}checker: {name: bridged, args: {files: check.py, lang: PY3}}\n`,
    "check.py": `import sys\n${code}\n`,
  });
  const same = "sys.exit(0 if open(sys.argv[2]).read() == open(sys.argv[3]).read() else 1)";
  assert.deepEqual(faultsOf(await verified(bridged(same))), []);
  const faults = faultsOf(await verified(bridged("sys.exit(open(sys.argv[2]).read() == '0\\n' and 9)")));
  assert.equal(faults.length, 3);
  assert.match(faults[0] ?? "", /^test 1: the checker fails for its answer: the checker ended as RE with exit code 9/);
});

test("the largest input and answer fit into one request together with a validator", LIMIT, async () => {
  const [input, answer] = [`${"1 ".repeat(2_097_151)}1\n`, "1 ".repeat(1_048_576)];
  const { "data/secret/1.yaml": _, "data/secret/1.in": __, ...base } = PACKAGES.words;
  const result = await verified({
    ...base,
    "input_validators/words/__main__.py": "import sys; sys.exit(42 if len(sys.stdin.read()) % 2 == 0 else 43)\n",
    "output_validator/validate.py": "import os, sys; sys.exit(42 if os.path.getsize(sys.argv[1]) == 4194304 else 43)\n",
    "data/secret/1.in": input,
    "data/secret/1.ans": answer,
    "data/secret/2.in": input,
    "data/secret/2.ans": "",
    "submissions/accepted/sort.js": "console.log(1)\n",
  });
  assert.deepEqual(
    result.submissions.map(({ verdict }) => verdict),
    ["AC"],
  );
  assert.ok(!result.faults.some((fault) => fault.includes("secret")), result.faults.join("\n"));
});
