import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Checked, ProgramChecker } from "../../../src/domain/check.ts";
import { type EndedChecker, INTERFACES } from "../../../src/worker/checker-interfaces.ts";

type Called = ProgramChecker["interface"];

interface Given {
  readonly stderr?: string;
  readonly stdout?: string;
  readonly stderrCutAt?: number;
  readonly files?: Readonly<Record<string, string>>;
}

const CODES = Array.from({ length: 256 }, (_, code) => code);

function end(
  called: Called,
  code: number,
  { stderr = "", stdout = "", stderrCutAt, files = {} }: Given,
  points: number | null = 10,
  acceptedShare: number | null = 1,
) {
  const ended: EndedChecker = {
    code,
    stdout,
    stderr: stderr.trim(),
    stderrCutAt: stderrCutAt ?? null,
    lineOf: (line) => line.exec(stderr),
    feedback: (name) => files[name] ?? null,
    unread: null,
  };
  return INTERFACES[called].result(ended, points, acceptedShare);
}

/** Exit codes for which the interface has a result. */
function decided(called: Called, given: Given, points: number | null = 10): Record<number, Checked["verdict"]> {
  const found = CODES.flatMap((code) => {
    const result = end(called, code, given, points);
    return result ? [[code, result.verdict] as const] : [];
  });
  return Object.fromEntries(found);
}

/** What runtimes write when a program ends by an uncaught error. */
const CRASHES: readonly string[] = [
  "",
  "thread 'main' panicked at main.rs:3:40:\ncalled `Option::unwrap()` on a `None` value\n",
  "Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\nValueError: invalid literal for int(): 'ok'\n",
  'Exception in thread "main" java.lang.NumberFormatException: For input string: "x"\n',
  "panic: runtime error: index out of range [1] with length 1\n\ngoroutine 1 [running]:\n",
  "/box/main.js:1\nthrow new Error('wrong answer')\n^\n\nError: wrong answer\n    at Object.<anonymous>\n",
  "terminate called after throwing an instance of 'std::invalid_argument'\n  what():  stoi\n",
  "sh: 1: ./check: not found\n",
  "okay\n",
  "the points 3\n",
];

for (const points of [null, 0, 10])
  describe(`crashes in a judgement with ${points} points for the test`, () => {
    for (const stderr of CRASHES) {
      const about = JSON.stringify(stderr.slice(0, 40));
      test(`testlib, no exit code counts after ${about}`, () => {
        assert.deepEqual(decided("testlib", { stderr }, points), {});
      });
      test(`kattis, only 42 and 43 count after ${about}`, () => {
        assert.deepEqual(decided("kattis", { stderr }, points), { 42: "AC", 43: "WA" });
      });
      test(`dmoj, only 0 and 1 count after ${about}`, () => {
        assert.deepEqual(decided("dmoj", { stderr }, points), { 0: "AC", 1: "WA" });
      });
    }
  });

/** The texts of testlib, with the exit codes that belong to them. */
const TESTLIB: readonly (readonly [text: string, decided: Record<number, Checked["verdict"]>])[] = [
  ["ok 3 numbers\n", { 0: "AC" }],
  ["ok \n", { 0: "AC" }],
  ["reading the answer\nok 3 numbers\n", { 0: "AC" }],
  ["wrong answer 1st words differ\n", { 1: "WA" }],
  ["debug\nwrong answer 1st words differ\n", { 1: "WA" }],
  ["wrong output format Unexpected end of file\n", { 2: "WA", 4: "WA" }],
  ["unexpected eof \n", { 8: "WA" }],
  ["FAIL the answer is no number\n", {}],
  ["points 2.5 good\n", { 7: "AC" }],
  ["points 0 nothing\n", { 7: "WA" }],
  ["points 11 too many\n", { 7: "IE" }],
  ["points nan\n", { 7: "IE" }],
  ["points -1\n", { 7: "IE" }],
  ["points 1e999\n", { 7: "IE" }],
  ["points points_info=a,b a message\n", { 7: "IE" }],
  ["debug\npoints 5\n", {}],
  ["partially correct (100) half\n", { 100: "AC", 150: "AC" }],
  ["partially correct (101) more\n", { 101: "AC", 151: "AC" }],
  ["partially correct (0) nothing\n", { 0: "WA", 50: "WA" }],
  ["partially correct (1) little\n", { 1: "AC", 51: "AC" }],
  ["partially correct (200) all\n", { 200: "AC", 250: "AC" }],
  ["partially correct (201) too much\n", { 201: "IE", 251: "IE" }],
  ["partially correct (255) too much\n", { 255: "IE" }],
  ["the output is\npartially correct (101)\n", {}],
  ["partially correct (-1)\n", {}],
  ["partially correct\n", {}],
];

describe("testlib", () => {
  for (const [stderr, wanted] of TESTLIB)
    test(`${JSON.stringify(stderr)} counts with its own exit codes only`, () => {
      assert.deepEqual(decided("testlib", { stderr }), wanted);
    });

  test("each n of 200 is that share, with both bases of the exit code", () => {
    for (let n = 1; n <= 200; n++)
      for (const base of [0, 50])
        assert.equal(end("testlib", base + n, { stderr: `partially correct (${n}) \n` })?.share, n / 200);
  });

  test("each number of quitp is that part of the points", () => {
    for (const [text, share] of [
      ["0.3333333333", 0.03333333333],
      ["5", 0.5],
      ["10", 1],
      ["10.0000000001", 1],
      ["0.0000001", 0.00000001],
      ["7.25", 0.725],
    ] as const) {
      const result = end("testlib", 7, { stderr: `points ${text} message\n` });
      assert.deepEqual([result?.verdict, result?.message], ["AC", `points ${text} message`]);
      assert.ok(Math.abs((result?.share ?? 0) - share) < 1e-12, `${text}: ${result?.share}`);
    }
  });

  test("a test without points has nothing to share", () => {
    assert.deepEqual(end("testlib", 7, { stderr: "points 5\n" }, 0), {
      verdict: "AC",
      share: 1,
      message: "points 5",
    });
    assert.equal(end("testlib", 7, { stderr: "points 5 points\n" }, 0)?.verdict, "AC");
    assert.equal(end("testlib", 7, { stderr: "points x\n" }, 0)?.verdict, "IE");
  });

  test("a test of 0 points takes every number, with quitp as with _pc", () => {
    assert.equal(end("testlib", 7, { stderr: "points 0\n" }, 0)?.verdict, "AC");
    for (const n of [0, 1, 100, 200])
      for (const base of [0, 50]) {
        const result = end("testlib", base + n, { stderr: `partially correct (${n})\n` }, 0);
        assert.deepEqual([result?.verdict, result?.share], ["AC", 1], `${n}`);
      }
    assert.equal(end("testlib", 201, { stderr: "partially correct (201)\n" }, 0)?.verdict, "IE");
  });
});

describe("a judgement without points", () => {
  for (const [name, called, code, given] of [
    ["partial results", "testlib", 100, { stderr: "partially correct (100)\n" }],
    ["full partial results", "testlib", 200, { stderr: "partially correct (200)\n" }],
    ["points", "testlib", 7, { stderr: "points 1\n" }],
    ["all points", "kattis", 42, { files: { "score_multiplier.txt": "1" } }],
    ["a share", "kattis", 42, { files: { "score_multiplier.txt": "0.5" } }],
    ["a score", "kattis", 42, { files: { "score.txt": "1" } }],
  ] as const)
    test(`takes no ${name}`, () => {
      assert.deepEqual(end(called, code, given, null), {
        verdict: "IE",
        share: 0,
        message: "the checker gives points, but the test can only be accepted or rejected",
      });
    });
  test("takes a rejection with a score", () => {
    assert.equal(end("kattis", 43, { files: { "score.txt": "1" } }, null)?.verdict, "WA");
  });
});

test("a score that is no number is none in a test without points either", () => {
  assert.equal(end("kattis", 42, { files: { "score.txt": "nan" } }, 0)?.verdict, "IE");
});

test("the message of DMOJ's checkers is on their standard output", () => {
  assert.equal(end("dmoj", 1, { stdout: "line 3", stderr: "debug" })?.message, "line 3");
  assert.equal(end("dmoj", 0, { stderr: "debug" })?.message, "debug");
});

test("testlib rejects by its exit code if the text can be in a part of standard error that was cut", () => {
  assert.deepEqual(decided("testlib", { stderr: "a word\n", stderrCutAt: 1000 }), {
    0: "IE",
    1: "WA",
    2: "WA",
    4: "WA",
    8: "WA",
  });
  assert.deepEqual(decided("testlib", { stderr: "ok a word\n", stderrCutAt: 1000 })[0], "AC");
  assert.match(
    end("testlib", 0, { stderr: "a", stderrCutAt: 1000 })?.message ?? "",
    /the first 1000 bytes that the checker wrote to standard error do not contain its result/,
  );
});

/** The interfaces of DMOJ's types: exit code and texts, with the verdict and the share of 10 points. */
const OF_DMOJ: readonly (readonly [called: Called, code: number, given: Given, verdict: string, share: number])[] = [
  ["dmoj-testlib", 0, {}, "AC", 1],
  ["dmoj-testlib", 1, {}, "WA", 0],
  ["dmoj-testlib", 2, {}, "WA", 0],
  ["dmoj-testlib", 7, { stderr: "debug\npoints 4\n" }, "AC", 0.4],
  ["dmoj-testlib", 7, { stderr: "points 0\n" }, "AC", 0],
  ["dmoj-testlib", 7, { stderr: "points 11\n" }, "IE", 0],
  ["dmoj-testlib", 7, { stderr: "points 1e1\n" }, "IE", 0],
  ["dmoj-testlib", 7, {}, "IE", 0],
  ["dmoj-testlib", 8, { stderr: "unexpected eof x\n" }, "WA", 0],
  ["dmoj-coci", 7, { stderr: "partial 1/4\n" }, "AC", 0.25],
  ["dmoj-coci", 7, { stderr: "partial 0/0\n" }, "IE", 0],
  ["dmoj-coci", 7, { stderr: `partial 1/${"9".repeat(20)}\n` }, "IE", 0],
  ["dmoj-peg", 0, { stdout: "1\n4" }, "AC", 0.25],
  ["dmoj-peg", 1, { stdout: "x\n1\n4" }, "AC", 0.25],
  ["dmoj-peg", 1, { stdout: "0\n4" }, "WA", 0],
  ["dmoj-peg", 1, { stdout: "4\n3" }, "IE", 0],
  ["dmoj-peg", 1, { stdout: "1\n0" }, "IE", 0],
  ["kattis-partial", 42, { files: { "score_multiplier.txt": "0.5" } }, "AC", 0.5],
  ["kattis-partial", 43, { files: { "score_multiplier.txt": "0.5" } }, "WA", 0.5],
  ["kattis-partial", 43, {}, "WA", 0],
  ["kattis-partial", 43, { files: { "score_multiplier.txt": "1.5" } }, "IE", 0],
  ["kattis-partial", 44, { files: { "score_multiplier.txt": "0.5" } }, "undecided", 0.5],
  ["kattis-partial", 44, {}, "undecided", 0],
  ["kattis-partial", 44, { files: { "score_multiplier.txt": "1.5" } }, "IE", 0],
  ["kattis", 43, { files: { "score_multiplier.txt": "0.5" } }, "WA", 0],
];
for (const [called, code, given, verdict, share] of OF_DMOJ)
  test(`${called} with exit code ${code} and ${JSON.stringify(given)}: ${verdict}, ${share}`, () => {
    const checked = end(called, code, given);
    assert.deepEqual([checked?.verdict, checked?.share], [verdict, share]);
  });

test("no crash gives points with the interfaces of DMOJ", () => {
  for (const stderr of CRASHES)
    for (const called of ["dmoj-testlib", "dmoj-coci", "dmoj-peg", "kattis-partial"] as const)
      for (const code of CODES)
        if (code !== (called === "kattis-partial" ? 42 : 0))
          assert.equal(end(called, code, { stderr })?.share ?? 0, 0, `${called} ${code}`);
});

test("cms: the first line of standard output is the outcome, which only counts with exit code 0", () => {
  const outcome = (stdout: string, points: number | null = 10, stderr = "") =>
    end("cms", 0, { stdout, stderr }, points);
  assert.deepEqual(outcome("1.0\n", 10, "translate:success\n"), {
    verdict: "AC",
    share: 1,
    message: "Output is correct",
  });
  assert.deepEqual(outcome("0.25\nmore", 10, "a\nb"), { verdict: "AC", share: 0.25, message: "a" });
  assert.deepEqual(outcome("0\n", null), { verdict: "WA", share: 0, message: null });
  assert.equal(outcome("1", null)?.verdict, "AC");
  // IE: the checker failed, or gives a part where there is none.
  assert.equal(outcome("0.5", null)?.verdict, "IE");
  for (const stdout of ["", "\n1.0", "ok", "nan", "inf", "-1", "1.5", "1e999", "0x1", "1 0"])
    assert.equal(outcome(stdout)?.verdict, "IE", stdout);
  assert.deepEqual(decided("cms", { stdout: "1.0" }), { 0: "AC" });
  assert.equal(end("cms", 0, { stdout: "0", stderr: "constructor" })?.message, "constructor");
});
