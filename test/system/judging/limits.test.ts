import assert from "node:assert/strict";
import { test } from "node:test";
import { PACKAGES, type PackageTexts } from "../../support/problems/packages.ts";
import { useProduct } from "../../support/programs/product.ts";
import { importProblem, judge, verdicts } from "./judged.ts";

const LIMIT = { timeout: 120_000 };
const product = useProduct({ workers: 2 });

const MIB = 1_048_576;
const python = (code: string) => ({ language: "python", code });

/** A package with one test, whose problem.yaml has these limits. */
function packageWith(limits: string, files: PackageTexts = {}): PackageTexts {
  return {
    "problem.yaml": `problem_format_version: 2025-09\nname: Limits\nlimits:\n  time_limit: 2\n${limits}`,
    "data/secret/1.in": "1\n",
    "data/secret/1.ans": "1\n",
    "submissions/accepted/one.py": "print(1)\n",
    ...files,
  };
}

/** The time limit is far above the CPU time of these programs, even where the machine gives memory slowly. */
async function judgeOn(name: string, limits: string, code: string) {
  const problem = await importProblem(product(), packageWith(limits), `name=${name}&time_limit=10`);
  return await judge(product(), { ...python(code), problem });
}

/** A program that writes 1.5 MiB in lines, and one whose last line differs. */
const LINES = 196_608;
const LONG = python(`print("1234567\\n" * ${LINES}, end="")`);
const WRONG = python(`print("1234567\\n" * ${LINES - 1} + "1234568")`);

test("an output above 1 MiB is compared to its end, and the first MiB of it is stored", LIMIT, async () => {
  const tests = [{ expected: "1234567\n".repeat(LINES) }];
  const right = await judge(product(), { ...LONG, tests });
  assert.equal(right.verdict, "AC", JSON.stringify(right));
  const { json } = await product().ask("GET", `/api/result/${right.runs[0]?.submission_id}`);
  const { output } = json as { output: { stdout: string; integrity: string } };
  assert.deepEqual([output.stdout.length, output.integrity], [MIB, "truncated_by_judge_limit"]);
  const wrong = await judge(product(), { ...WRONG, tests });
  assert.equal(wrong.verdict, "WA");
  assert.match(wrong.runs[0]?.message ?? "", /^line 196608: expected "1234567", got "1234568"$/);
});

test("a test can state a higher limit of the output, and is refused if no output could be right", LIMIT, async () => {
  const long = "1234567\n".repeat(9 * 131_072);
  const program = python(`print("1234567\\n" * ${9 * 131_072}, end="")`);
  const { status, json } = await product().ask("POST", "/api/judgements", { ...program, tests: [{ expected: long }] });
  assert.equal(status, 400);
  assert.match(JSON.stringify(json), /tests\.0\.expected: is longer than the 8388608 bytes that the program can write/);
  const judged = await judge(product(), {
    ...program,
    tests: [{ expected: long, limits: { stdout_bytes: 16 * MIB } }],
  });
  assert.equal(judged.verdict, "AC", JSON.stringify(judged));
  const beyond = await product().ask("POST", "/api/judgements", {
    ...program,
    tests: [{ expected: "1", limits: { stdout_bytes: 16 * MIB + 1 } }],
  });
  assert.equal(beyond.status, 400);
  assert.match(JSON.stringify(beyond.json), /tests\.0\.limits\.stdout_bytes: at most 16777216 for python/);
});

test("an input of 16 MiB reaches the program, and its checker", LIMIT, async () => {
  const stdin = "7".repeat(16 * MIB);
  const checker = {
    type: "program",
    interface: "kattis",
    ...python(
      "import sys\ninput, answer = (open(path).read() for path in sys.argv[1:3])\nsys.exit(42 if len(input) == int(sys.stdin.read()) == int(answer) else 43)\n",
    ),
  };
  const program = python("import sys\nprint(len(sys.stdin.read()))");
  for (const more of [{}, { checker }]) {
    const judged = await judge(product(), { ...program, tests: [{ stdin, expected: `${16 * MIB}\n` }], ...more });
    assert.equal(judged.verdict, "AC", JSON.stringify(judged));
  }
});

/** Touches so many MiB of memory. */
const uses = (mebibytes: number) =>
  `data = bytearray(${mebibytes} << 20)\ndata[::4096] = b"1" * (${mebibytes} << 8)\nprint(1)\n`;

test(
  "a package decides the memory of its runs; without a limit, they have the default of the format",
  LIMIT,
  async () => {
    const judged = async (name: string, limits: string, mebibytes: number) =>
      verdicts(await judgeOn(name, limits, uses(mebibytes)))[0];
    assert.equal(await judged("memory", "", 1_200), "AC");
    assert.equal(await judged("memory512", "  memory: 512\n", 400), "AC");
    assert.equal(await judged("memory512", "  memory: 512\n", 600), "MLE");
    assert.equal(await judged("memory64", "  memory: 64\n", 100), "MLE");
  },
);

/** Recurses so deep that it needs more than this many MiB of stack. */
const recurses = (mebibytes: number) =>
  `#include <cstdio>\nint deep(int n) { volatile char frame[1024]; frame[0] = 1; return n ? deep(n - 1) + frame[0] : 0; }\n` +
  `int main() { printf("%d\\n", deep(${mebibytes} * 1024) > 0); }\n`;

test(
  "a program may use half of the memory that its package permits as a stack, and so may a checker",
  LIMIT,
  async () => {
    const judged = async (name: string, limits: string, mebibytes: number) => {
      const problem = await importProblem(product(), packageWith(limits), `name=${name}&time_limit=10`);
      return verdicts(await judge(product(), { language: "cpp", code: recurses(mebibytes), problem }))[0];
    };
    assert.equal(await judged("stack", "", 700), "AC");
    assert.equal(await judged("stack512", "  memory: 512\n", 200), "AC");
    // Endless recursion ends at the stack, and not at the memory limit.
    assert.equal(await judged("stack512", "  memory: 512\n", 400), "SIG");
    const checker = {
      type: "program",
      interface: "kattis",
      language: "cpp",
      code: recurses(700).replace('printf("%d\\n", deep', "return 41 + (deep").replace("> 0);", "> 0);"),
    };
    const tests = [{ expected: "1" }];
    const checked = await judge(product(), { ...python("print(1)"), tests, checker });
    assert.equal(checked.verdict, "AC", JSON.stringify(checked));
  },
);

test("the heap of Node does not end a program before its memory limit does", LIMIT, async () => {
  const problem = await importProblem(product(), packageWith(""), "name=heap&time_limit=10");
  const judged = async (mebibytes: number) => {
    const code = `const all = [];\nfor (let at = 0; at < ${mebibytes}; at++) all.push(new Array(131072).fill(at + 0.5));\nconsole.log(1);\n`;
    return verdicts(await judge(product(), { language: "javascript", code, problem }))[0];
  };
  assert.deepEqual([await judged(1_700), await judged(3_000)], ["AC", "MLE"]);
});

test("a package can have a time limit above that of the profile", LIMIT, async () => {
  const code = "import time\nwhile time.process_time() < 4.5: pass\nprint(1)\n";
  const texts = packageWith("");
  const problem = await importProblem(product(), texts, "name=slow&time_limit=6");
  const judged = await judge(product(), { ...python(code), problem });
  assert.equal(judged.verdict, "AC", JSON.stringify(judged));
  const short = await judge(product(), {
    ...python(code),
    problem: await importProblem(product(), texts, "name=slow"),
  });
  assert.equal(short.verdict, "TLE");
});

test("a package limits the source of a program, and the operator that of all programs", LIMIT, async () => {
  const long = (bytes: number) => `print(1)#${"x".repeat(bytes - 9)}`;
  const problem = await importProblem(product(), packageWith("  code: 1\n"), "name=code");
  const ask = async (code: string, more: object) => {
    const { status, json } = await product().ask("POST", "/api/judgements", { ...python(code), ...more });
    return [status, (json as { error?: string }).error ?? ""] as const;
  };
  assert.deepEqual(await ask(long(1_025), { problem }), [
    400,
    "code: the problem permits 1024 bytes of source, not 1025",
  ]);
  assert.equal((await judge(product(), { ...python(long(1_024)), problem })).verdict, "AC");
  const tests = [{ expected: "1" }];
  assert.equal((await judge(product(), { ...python(long(200_000)), tests })).verdict, "AC");
  assert.deepEqual(await ask(long(262_145), { tests }), [
    400,
    "code must be at most 262144 bytes of UTF-8, got 262145",
  ]);
});

test(
  "the verdict on an interactive problem with more than 1 MiB in both directions is that of the interactor",
  LIMIT,
  async () => {
    const { echo } = PACKAGES;
    const texts: PackageTexts = {
      ...Object.fromEntries(Object.entries(echo).filter(([path]) => path === "problem.yaml")),
      "data/secret/1.in": "1\n",
      "data/secret/1.ans": "1\n",
      "output_validators/interact.py": `import sys
data = b"x" * ${2 * MIB} + b"\\n"
for _ in range(3):
    sys.stdout.buffer.write(data)
    sys.stdout.flush()
    if sys.stdin.buffer.readline() != data: sys.exit(43)
sys.exit(42)
`,
      "submissions/accepted/cat.py": "import sys\nfor line in sys.stdin: print(line, end='', flush=True)\n",
    };
    const problem = await importProblem(product(), texts, "name=long-echo&time_limit=2");
    const judged = await judge(product(), { ...python(texts["submissions/accepted/cat.py"] ?? ""), problem });
    assert.equal(judged.verdict, "AC", JSON.stringify(judged));
  },
);
