import assert from "node:assert/strict";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { type Verified, verify } from "../../../src/problems/verify.ts";
import type { Slot } from "../../../src/sandbox/slot.ts";
import { LocalJudge } from "../../../src/worker/judge-locally.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { PACKAGES, type PackageTexts, toFiles } from "../../support/problems/packages.ts";
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
