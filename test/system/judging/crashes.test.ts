import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { useProduct } from "../../support/programs/product.ts";
import { importProblem, judge } from "./judged.ts";

const LIMIT = { timeout: 120_000 };
const product = useProduct({ workers: 2 });

/** Checkers by language that crash if the output is not a number, because their authors did not expect that. */
const CRASHES: Readonly<Record<string, readonly [language: string, code: string]>> = {
  "an unwrap in Rust": [
    "rust",
    `use std::{env, fs}; fn main() { let path = env::args().nth(2).unwrap();
let n: i32 = fs::read_to_string(path).unwrap().trim().parse().unwrap(); std::process::exit(if n == 7 { 0 } else { 1 }) }`,
  ],
  "an index in Rust": [
    "rust",
    'fn main() { let v: Vec<i32> = std::env::args().skip(9).map(|_| 1).collect(); println!("{}", v[3]) }',
  ],
  "a panic in a thread in Rust": [
    "rust",
    'fn main() { let _ = std::thread::spawn(|| { panic!("no number") }).join(); }',
  ],
  "an uncaught error in Python": ["python", "int('x')"],
  "an uncaught error in a thread of Python": [
    "python",
    "import threading\nthread = threading.Thread(target=lambda: int('x'))\nthread.start(); thread.join()",
  ],
  "an error of its syntax in Python": ["python", "def"],
  "an uncaught error in JavaScript": ["javascript", "throw new Error('no number')"],
  "a rejected promise in JavaScript": ["javascript", "Promise.reject(new Error('no number'))"],
  "an uncaught error in TypeScript": ["typescript", "throw new Error('no number')"],
  "an uncaught error in Java": [
    "java",
    'public class Main { public static void main(String[] words) { Integer.parseInt("x"); } }',
  ],
  "an uncaught error in a thread of Java": [
    "java",
    'public class Main { public static void main(String[] words) throws Exception { Thread t = new Thread(() -> Integer.parseInt("x")); t.start(); t.join(); } }',
  ],
  "a panic in Go": ["go", 'package main\nfunc main() { panic("no number") }'],
  "a missing file in Go": [
    "go",
    'package main\nimport ("log"; "os")\nfunc main() { if _, err := os.Open("none"); err != nil { log.Fatal(err) } }',
  ],
  "an uncaught exception in C++": ["cpp", '#include <string>\nint main() { return std::stoi("x"); }'],
  "a wrong address in C": ["c", "int main(void) { return *(volatile int *)0; }"],
  "a failed assertion in C": ["c", "#include <assert.h>\nint main(void) { assert(0); }"],
  "a command that is not found": ["python", "import os, sys\nsys.exit(os.system('check-it') >> 8)"],
  "a command that cannot be executed": ["python", "import os, sys\nsys.exit(os.system('/etc/passwd') >> 8)"],
  "a command that a signal ended": ["python", "import subprocess, sys\nsys.exit(128 + 11)"],
};

/** Ends of a checker with an exit code and no text. Python itself uses the codes 1 and 2. */
const CODES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 41, 44, 50, 101, 127, 150, 200, 250, 255];

const crashing = (called: string, [language, code]: readonly [string, string], more: object = {}) => ({
  type: "program",
  interface: called,
  language,
  code,
  ...more,
});

for (const called of ["testlib", "kattis"])
  describe(`a crash is no result of ${called}`, { concurrency: 2 }, () => {
    const ends = {
      ...CRASHES,
      ...Object.fromEntries(
        CODES.map((code) => [`exit code ${code}`, ["python", `import os; os._exit(${code})`] as const]),
      ),
    };
    for (const [name, end] of Object.entries(ends))
      test(name, LIMIT, async () => {
        const tests = [{ stdin: "1", points: 10 }];
        const program = { language: "python", code: "print('x')" };
        const judged = await judge(product(), { ...program, tests, checker: crashing(called, end) });
        assert.deepEqual([judged.verdict, judged.score], ["IE", 0], JSON.stringify(judged));
        assert.match(judged.runs[0]?.message ?? "", /^the checker ended as (AC|RE|SIG) with (exit code|signal) \d+/);
      });
  });

describe("a crash of an interactor is no result", { concurrency: 2 }, () => {
  for (const called of ["testlib", "kattis"])
    for (const name of ["an unwrap in Rust", "an uncaught error in Python", "a panic in a thread in Rust"] as const)
      test(`of ${called}: ${name}`, LIMIT, async () => {
        const checker = crashing(called, CRASHES[name] ?? ["", ""], { interactive: true });
        const program = { language: "python", code: "print('x')" };
        const judged = await judge(product(), { ...program, tests: [{ stdin: "1", points: 10 }], checker });
        assert.deepEqual([judged.verdict, judged.score], ["IE", 0], JSON.stringify(judged));
        assert.match(judged.runs[0]?.message ?? "", /^the interactor ended as (AC|RE|SIG) with (exit code|signal) \d+/);
      });
});

/** A checker that ends with the exit code and the text of its input. */
const SAYS = `import sys
code, text = open(sys.argv[1]).read().split(maxsplit=1)
sys.stderr.write(text)
sys.exit(int(code))
`;

describe("points of a checker with the texts of testlib", { concurrency: 2 }, () => {
  const program = { language: "python", code: "print('x')" };
  const checker = crashing("testlib", ["python", SAYS]);
  for (const [stdin, verdict, score] of [
    ["100 partially correct (100) half\n", "AC", 5],
    ["150 partially correct (100) half\n", "AC", 5],
    ["101 partially correct (101) a little more\n", "AC", 5.05],
    ["101 thread 'main' panicked\n", "IE", 0],
    ["0 partially correct (0) nothing\n", "WA", 0],
    ["7 points 2.5 a quarter\n", "AC", 2.5],
    ["7 points 10.5 too many\n", "IE", 0],
    ["7 points_info=1\n", "IE", 0],
  ] as const)
    test(`${JSON.stringify(stdin)}: ${verdict}, ${score} of 10`, LIMIT, async () => {
      const judged = await judge(product(), { ...program, tests: [{ stdin, points: 10 }], checker });
      assert.deepEqual([judged.verdict, judged.score], [verdict, score], JSON.stringify(judged));
    });

  for (const stdin of ["100 partially correct (100)\n", "200 partially correct (200)\n", "7 points 1\n"])
    test(`${JSON.stringify(stdin)} is a failure of the checker where tests have no points`, LIMIT, async () => {
      const judged = await judge(product(), { ...program, tests: [{ stdin }], checker });
      assert.deepEqual([judged.verdict, judged.score], ["IE", 0], JSON.stringify(judged));
      assert.equal(judged.runs[0]?.message, "the checker gives points, but the test can only be accepted or rejected");
    });

  test("a test in a group has points", LIMIT, async () => {
    const tests = [{ stdin: "100 partially correct (100)\n", group: "a" }];
    const judged = await judge(product(), { ...program, tests, checker });
    assert.deepEqual([judged.verdict, judged.score], ["AC", 0.5], JSON.stringify(judged));
  });
});

describe("messages of checkers", { concurrency: 2 }, () => {
  const program = { language: "python", code: "print('x')" };
  for (const [name, bytes, wanted] of [
    ["are cut between characters", "'wrong answer ' + 'é' * 3000", /^wrong answer é{487}…$/],
    ["are cut between surrogate pairs", "'wrong answer ' + '😀' * 3000", /^wrong answer (😀){243}…$/u],
    ["are cut before a half character", "' ' * 1986 + 'wrong answer ' + 'é' * 3000", /^wrong answer$/],
  ] as const)
    for (const called of ["testlib", "kattis"])
      test(`of ${called} ${name}`, LIMIT, async () => {
        const code =
          called === "kattis"
            ? `import sys\nopen(sys.argv[3] + 'judgemessage.txt', 'w', encoding='utf8').write(${bytes})\nsys.exit(43)`
            : `import sys\nsys.stderr.write(${bytes.replace(/^' ' \* 1986/, "'\\n' * 1986")})\nsys.exit(1)`;
        const checker = crashing(called, ["python", code]);
        const judged = await judge(product(), { ...program, tests: [{ stdin: "1" }], checker });
        assert.equal(judged.verdict, "WA", JSON.stringify(judged));
        assert.match(judged.runs[0]?.message ?? "", wanted);
      });
});

/** Checkers in C whose compile step reaches a limit of its own. */
const COMPILES: Readonly<Record<string, readonly [code: string, limit: RegExp]>> = {
  "writes a too large file": ['asm(".fill 60000000, 1, 1");', /file size limit exceeded/],
  "uses too much memory": [
    `#define A 1,1,1,1,1,1,1,1,1,1,\n${[..."BCDEFGHI"].map((name, at) => `#define ${name} ${"ABCDEFGH"[at]?.repeat(10).split("").join(" ")}\n`).join("")}int all[] = {I};`,
    /memory limit|time limit/,
  ],
};

describe("a limit of the compile step of a checker", { concurrency: 2 }, () => {
  for (const [name, [code, limit]] of Object.entries(COMPILES))
    for (const [who, more] of Object.entries({ checker: {}, interactor: { interactive: true } }))
      test(`the compiler of the ${who} ${name}`, LIMIT, async () => {
        const checker = crashing("kattis", ["c", `${code}\nint main(void) { return 42; }`], more);
        const body = { language: "python", code: "print('x')", tests: [{ stdin: "1" }], checker };
        const judged = await judge(product(), body);
        assert.equal(judged.verdict, "IE", JSON.stringify(judged));
        const message = judged.runs[0]?.message ?? "";
        assert.ok(message.startsWith(`the ${who}'s compile step: `) && limit.test(message), message);
      });
});

test(
  "a checker of DMOJ of the type default accepts and rejects by its exit code, and gives no part of the points",
  LIMIT,
  async () => {
    const problem = await importProblem(
      product(),
      {
        "init.yml":
          "checker: {name: bridged, args: {files: check.py, lang: PY3}}\ntest_cases: [{in: a, out: b, points: 10}]\n",
        a: "1",
        b: "7",
        "check.py": `import sys
word = open(sys.argv[2]).read().strip()
print("read " + word)
if word.startswith("exit"): sys.exit(int(word[4:]))
sys.exit(0 if int(word) == 7 else 1)
`,
      },
      "name=dmoj-default&time_limit=1",
    );
    for (const [output, verdict, score, message] of [
      ["7", "AC", 10, /^read 7$/],
      ["8", "WA", 0, /^read 8$/],
      ["x", "WA", 0, /^read x$/],
      ["exit2", "IE", 0, /exit code 2/],
      ["exit7", "IE", 0, /exit code 7/],
      ["exit101", "IE", 0, /exit code 101/],
      ["exit150", "IE", 0, /exit code 150/],
    ] as const) {
      const judged = await judge(product(), { language: "python", code: `print("${output}")`, problem });
      assert.deepEqual([judged.verdict, judged.score], [verdict, score], JSON.stringify(judged));
      assert.match(judged.runs[0]?.message ?? "", message);
    }
  },
);
