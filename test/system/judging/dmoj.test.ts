import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import { makeTests } from "../../../src/problems/makers.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { contentsOf } from "../../../src/problems/tests.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import { LocalJudge } from "../../../src/worker/judge-locally.ts";
import { assayWithin, NOBODY } from "../../support/cli/processes.ts";
import { type PackageTexts, toFiles } from "../../support/problems/packages.ts";
import { useProduct } from "../../support/programs/product.ts";
import { importProblem, judge, verdicts, zip } from "./judged.ts";

const LIMIT = { timeout: 120_000 };
const product = useProduct({ workers: 2, moreSlots: 1 });

let imports = 0;
/** Imports a package, and judges programs on all of its tests. */
async function problemOf(texts: PackageTexts) {
  const problem = await importProblem(product(), texts, `name=p${imports++}&time_limit=2`);
  return (language: string, code: string) => judge(product(), { language, code, problem, stop: "never" });
}

const ECHO = "import sys; sys.stdout.write(sys.stdin.read())";
/** A package whose checker gets the inputs, which a submission echoes. */
const checkedBy = (checker: string, inputs: readonly string[], more: PackageTexts = {}): PackageTexts => ({
  "init.yml": `checker: ${checker}\npoints: 10\nbinary_data: true\ntest_cases:\n${inputs
    .map((_, at) => `- {in: ${at}.in, out: out}\n`)
    .join("")}`,
  ...Object.fromEntries(inputs.map((input, at) => [`${at}.in`, input])),
  out: "1\n2\n3\n4\n",
  ...more,
});
const verdictsAndPoints = ({ runs }: Awaited<ReturnType<typeof judge>>) =>
  runs.map(({ verdict, points }) => [verdict, points]);

describe("the checkers of DMOJ that are modules", { concurrency: 2 }, () => {
  for (const [checker, inputs, expected] of [
    ["linecount", ["1\n2\n3\n4\n", "1\n9\n3", "1\n2\n3\n4\n5\n"], ["AC 10", "WA 5", "WA 0"]],
    [
      "{name: linematches, args: {point_distribution: [1, 0, 0, 3]}}",
      ["1\n0\n0\n4\n", "1\n0\n0\n0\n", "1\n"],
      ["AC 10", "AC 2.5", "WA 0"],
    ],
    ["sorted", ["4\n3\n2\n1\n", "4 3\n2\n1\n"], ["AC 10", "WA 0"]],
    ["{name: sorted, args: {split_on: whitespace}}", ["4 3\n2\n1\n", "4 3 2\n"], ["AC 10", "WA 0"]],
    ["unordered", ["4 3\n2\n1\n", "4 3 2 2\n"], ["AC 10", "WA 0"]],
    ["easy", ["  43 \n2\n1", "4 3 2"], ["AC 10", "WA 0"]],
    ["rstripped", ["1 \n2\n3\n4\n", " 1\n2\n3\n4\n"], ["AC 10", "WA 0"]],
    ["{name: rstripped, args: {filter_new_line: true}}", ["1\n\n\n2\n3\n4"], ["AC 10"]],
    ["{name: sorted, args: {split_on: odd}}", ["1\n"], ["IE 0"]],
  ] as const)
    test(checker, LIMIT, async () => {
      const run = await problemOf(checkedBy(checker, inputs));
      const judged = verdictsAndPoints(await run("python", ECHO));
      assert.deepEqual(
        judged.map(([verdict, points]) => `${verdict} ${points}`),
        expected,
      );
    });
});

const CHECK = `from dmoj.result import CheckerResult
from dmoj.error import InternalError
from dmoj.checkers import standard
from dmoj.utils.unicode import utf8bytes, utf8text

def check(process_output, judge_output, judge_input, point_value, submission_source, case, result, half, **kwargs):
    print('not a result')
    word = utf8text(process_output).split()[0]
    if word == 'half': return CheckerResult(True, point_value / 2, 'half of %d' % point_value)
    if word == 'lost': return CheckerResult(False, half, 'nearly')
    if word == 'more': return CheckerResult(True, point_value + 1)
    if word == 'fail': raise InternalError('cannot decide')
    if word == 'exit': raise SystemExit(42)
    if word == 'none': return None
    if word == 'tests': return case.position == 7 and case.batch == 0 and judge_input == b'tests' and kwargs['binary_data']
    if word == 'source': return b'import sys' in submission_source and kwargs['submission_language'] == 'PY3'
    if word == 'memory': return 1000 < result.max_memory < 65536 and 0 < result.execution_time < 2
    return standard.check(process_output, judge_output)
`;

test("a checker of DMOJ in Python decides, gives points, and knows the submission and its run", LIMIT, async () => {
  const inputs = [
    "1\n2 \n3\n4",
    "5",
    "half",
    "lost",
    "more",
    "fail",
    "exit",
    "tests",
    "none",
    "source",
    "memory",
    "\xff",
  ];
  const expected = [
    "AC 10",
    "WA 0",
    "AC 5",
    "WA 2.5",
    "IE 0",
    "IE 0",
    "IE 0",
    "AC 10",
    "IE 0",
    "AC 10",
    "AC 10",
    "WA 0",
  ];
  for (const [at, input] of inputs.entries()) {
    // An IE ends the judgement, so that each input has a problem with as many tests before it.
    const only = inputs.map((_, other) => (other === at ? input : "1\n2\n3\n4\n"));
    const bytes = Buffer.from(only[at] ?? "", "latin1");
    const texts = checkedBy("{name: near.py, args: {half: 2.5}}", only, { "near.py": CHECK });
    const run = await problemOf(input === "\xff" ? { ...texts, [`${at}.in`]: "" } : texts);
    const code =
      input === "\xff"
        ? "import sys; sys.stdout.buffer.write(bytes([255]) if not sys.stdin.read() else b'1\\n2\\n3\\n4\\n')"
        : ECHO;
    const { runs } = await run("python", code);
    assert.equal(`${runs[at]?.verdict} ${runs[at]?.points}`, expected[at], `${bytes} ${runs[at]?.message}`);
    if (input === "half") assert.equal(runs[at]?.message, "half of 10");
    if (input === "fail") assert.match(runs[at]?.message ?? "", /InternalError: cannot decide/);
    if (input === "\xff") assert.equal(runs[at]?.message, "invalid unicode");
  }
});

test("a checker of DMOJ in Python that attacks achieves nothing", LIMIT, async () => {
  for (const [attack, message] of [
    ["while True: pass", /ended as TLE/],
    ["x = [b'x' * (1 << 20) for _ in range(1 << 12)]", /ended as MLE|MemoryError/],
    ["import os\n    while True: os.fork()", /ended as PLE|BlockingIOError/],
    ["open('/etc/shadow').read()", /PermissionError|FileNotFoundError/],
    ["import socket; socket.create_connection(('127.0.0.1', 22))", /Error/],
    ["open('feedback/score_multiplier.txt', 'w').write('9'); import os; os._exit(42)", /score is not between 0 and 1/],
    ["open('feedback/x', 'w').write('x' * (1 << 23)); import os; os._exit(42)", /feedback directory/],
    ["import os; os._exit(0)", /ended as AC with exit code 0/],
  ] as const) {
    const run = await problemOf(checkedBy("near.py", ["1"], { "near.py": `def check(*_, **__):\n    ${attack}\n` }));
    const { verdict, score, runs } = await run("python", ECHO);
    assert.deepEqual([verdict, score], ["IE", 0], attack);
    assert.match(runs[0]?.message ?? "", message, attack);
  }
});

describe("the types of checkers of DMOJ that are programs", { concurrency: 2 }, () => {
  /** Ends with the code and the texts of the output of the submission. */
  const SAYS = `import sys
code, out, err = open(sys.argv[2]).read().split('|')
print(out, end=''); print(err, end='', file=sys.stderr)
sys.exit(int(code))
`;
  for (const [type, ends] of [
    ["default", { "0||": "AC 10", "1|no|": "WA 0", "2||": "IE 0", "7||points 3\n": "IE 0" }],
    [
      "testlib",
      {
        "0||": "AC 10",
        "1||": "WA 0",
        "2||": "WA 0",
        "3||": "IE 0",
        "7||points 3\n": "AC 3",
        "7||points 11\n": "IE 0",
        "7||": "IE 0",
        "8||unexpected eof x\n": "WA 0",
      },
    ],
    [
      "coci",
      {
        "0||": "AC 10",
        "7||x\npartial 1/4\n": "AC 2.5",
        "7||partial 0/4\n": "AC 0",
        "7||partial 5/4\n": "IE 0",
        "7||partial 1/0\n": "IE 0",
        "7||partial -1/4\n": "IE 0",
      },
    ],
    [
      "peg",
      {
        "0||": "AC 10",
        "1||": "WA 0",
        "1|x\n1\n4\n|": "AC 2.5",
        "0|0\n4\n|": "AC 10",
        "1|4\n0\n|": "IE 0",
        "2||": "IE 0",
      },
    ],
  ] as const)
    test(type, LIMIT, async () => {
      for (const [end, expected] of Object.entries(ends)) {
        const checker = `{name: bridged, args: {files: says.py, lang: PY3, type: ${type}, args_format_string: '{input_file} {output_file}'}}`;
        const run = await problemOf(checkedBy(checker, [end], { "says.py": SAYS }));
        const { runs } = await run("python", ECHO);
        assert.equal(`${runs[0]?.verdict} ${runs[0]?.points}`, expected, `${end}: ${runs[0]?.message}`);
      }
    });
});

const GUESS: PackageTexts = {
  "init.yml": "custom_judge: guess.py\nunbuffered: yes\ntest_cases: [{in: a, points: 10}]\n",
  a: "37\n",
  "guess.py": `from dmoj.graders.interactive import InteractiveGrader
from dmoj.result import CheckerResult

class Grader(InteractiveGrader):
    def interact(self, case, interactor):
        print('not for the submission')
        wanted = int(case.input_data())
        for guesses in range(1, 100):
            guess = interactor.readint(1, 100)
            if guess == wanted:
                interactor.writeln('OK')
                return CheckerResult(True, case.points / 2) if guesses > 10 else True
            interactor.writeln('SINKS' if guess < wanted else 'FLOATS')
        return False
`,
};

test("a grader of DMOJ in Python talks with the submission", LIMIT, async () => {
  const run = await problemOf(GUESS);
  const half =
    "low, high = 1, 100\nwhile True:\n    n = (low + high) // 2\n    print(n)\n    a = input()\n    if a == 'OK': break\n    if a == 'SINKS': low = n + 1\n    else: high = n - 1\n";
  for (const [language, code, verdict, points, message] of [
    ["python", half, "AC", 10, null],
    ["python", "n = 1\nwhile print(n) or input() != 'OK': n += 1", "AC", 5, null],
    ["python", "print('A')", "WA", 0, 'expected int, got "A"'],
    ["python", "print(101)", "WA", 0, "expected int in range [1, 100], got 101"],
    ["python", "pass", "WA", 0, null],
    ["python", "print(1)\nraise SystemExit(3)", "RE", 0, "exited with code 3"],
    // Without a flush, because the package says that output has no buffer.
    [
      "c",
      '#include <stdio.h>\nint main() { char a[9]; for (int n = 37; ; n = 37) { printf("%d\\n", n); if (scanf("%8s", a) != 1 || a[0] == \'O\') return 0; } }',
      "AC",
      10,
      null,
    ],
    [
      "cpp",
      '#include <iostream>\nint main() { std::string a; std::cout << 37 << "\\n"; std::cin >> a; }',
      "AC",
      10,
      null,
    ],
  ] as const) {
    const { runs } = await run(language, code);
    assert.deepEqual([runs[0]?.verdict, runs[0]?.points, runs[0]?.message], [verdict, points, message], code);
  }
});

/** A package with a grader that is no InteractiveGrader, unless it has another class as its base. */
const gradedBy = (methods: string, base = "StandardGrader", more = ""): PackageTexts => ({
  "init.yml": `custom_judge: grade.py\npoints: 10\n${more}test_cases: [{in: a, out: b}]\n`,
  ...{ a: "21\n", b: "42\n" },
  "grade.py": `from dmoj.graders.standard import StandardGrader
from dmoj.graders.interactive import InteractiveGrader
from dmoj.result import CheckerResult, Result

class Note:
    def __init__(self, text): self.text = text

class Grader(${base}):
${methods}`,
});

test(
  "a grader of DMOJ that talks with the submission itself decides when it knows how the submission has ended",
  LIMIT,
  async () => {
    const slow = await problemOf(
      gradedBy(`    def _interact_with_process(self, case, result):
        assert self._current_proc.stdin is None
        self._current_proc.stdout.close()
        self._current_proc.wait()

    def check_result(self, case, result):
        waits = result.result_flag == Result.TLE
        result.result_flag = Result.AC
        return CheckerResult(waits, 9 / len(self.source) if waits else 0)
`),
    );
    for (const [code, expected] of [
      ["while 1:0", ["AC", 1]],
      ["while True: pass", ["AC", 0.5625]],
      ["1", ["WA", 0]],
      ["raise SystemExit(3)", ["WA", 0]],
    ] as const) {
      const { runs } = await slow("python", code);
      assert.deepEqual([runs[0]?.verdict, runs[0]?.points], expected, code);
      // The record of the run has the verdict of the kernel's evidence.
      const { json } = await product().ask("GET", `/api/result/${runs[0]?.submission_id}`);
      const { verdict } = (json as { result: { verdict: string } }).result;
      assert.equal(verdict, code.startsWith("while") ? "TLE" : code === "1" ? "AC" : "RE");
    }
  },
);

test(
  "a grader of DMOJ keeps what it has seen, and can give points to a failed run, which keeps its verdict",
  LIMIT,
  async () => {
    const remembers = await problemOf(
      gradedBy(`    def _interact_with_process(self, case, result):
        error = super()._interact_with_process(case, result)
        self.note = Note(result.proc_output.decode())
        return error

    def check_result(self, case, result):
        assert 1000 < result.max_memory and result.execution_time > 0
        if result.result_flag: return CheckerResult(True, 4, 'failed after ' + self.note.text.strip())
        return self.note.text == '42\\n' and super().check_result(case, result)
`),
    );
    const talks = await problemOf(
      gradedBy(
        `    def interact(self, case, interactor):
        interactor.writeln(7)
        self.answer = interactor.readint(0, 100)
        return self.answer == 14

    def check_result(self, case, result):
        return CheckerResult(False, 3) if result.result_flag & Result.IR else super().check_result(case, result)
`,
        "InteractiveGrader",
      ),
    );
    const double = "print(2 * int(input()))";
    for (const [run, code, expected] of [
      [remembers, double, ["AC", 10, null]],
      [remembers, "print(input())", ["WA", 0, null]],
      [remembers, `${double}\nraise SystemExit(3)`, ["RE", 4, "failed after 42"]],
      [remembers, `${double}\nwhile True: pass`, ["TLE", 4, null]],
      [talks, double, ["AC", 10, null]],
      [talks, `${double}\nprint('more' * 100000)`, ["AC", 10, null]],
      [talks, "print(1)\nwhile input(): pass", ["RE", 3, "exited with code 1"]],
      [talks, "print('x')\nraise SystemExit(0)", ["WA", 0, 'expected int, got "x"']],
      [talks, "raise SystemExit(3)", ["RE", 3, "exited with code 3"]],
    ] as const) {
      const { runs } = await run("python", code);
      const [{ verdict, points, message } = { verdict: "", points: 0, message: "" }] = runs;
      assert.deepEqual([verdict, points], expected.slice(0, 2), `${code}: ${message}`);
      if (verdict !== "TLE") assert.equal(message, expected[2], code);
    }
  },
);

test("a grader of DMOJ without a decision of its own calls the checker of the package", LIMIT, async () => {
  const run = await problemOf(
    gradedBy("    pass\n", "StandardGrader", "checker: {name: floats, args: {precision: 1}}\n"),
  );
  assert.deepEqual(verdictsAndPoints(await run("python", "print(42.01)")), [["AC", 10]]);
  assert.deepEqual(verdictsAndPoints(await run("python", "print(50)")), [["WA", 0]]);
  assert.deepEqual(verdictsAndPoints(await run("python", "print(42)\nraise SystemExit(1)")), [["RE", 0]]);
});

test("a checker of DMOJ decides about a failed run only if it says so", LIMIT, async () => {
  const failing = "print(1)\nprint(2)\nraise SystemExit(1)";
  const count = await problemOf(checkedBy("linecount", [""]));
  assert.deepEqual(verdictsAndPoints(await count("python", failing)), [["RE", 5]]);
  const check = "def check(output, *_, result, **__):\n    result.result_flag = 0\n    return output == b'1\\n2\\n'\n";
  const silent = await problemOf(checkedBy("near.py", [""], { "near.py": check }));
  assert.deepEqual(verdictsAndPoints(await silent("python", failing)), [["RE", 0]]);
  const asked = await problemOf(checkedBy("near.py", [""], { "near.py": `${check}check.run_on_error = True\n` }));
  assert.deepEqual(verdictsAndPoints(await asked("python", failing)), [["AC", 10]]);
  assert.deepEqual(verdictsAndPoints(await asked("python", "raise SystemExit(1)")), [["WA", 0]]);
  assert.deepEqual(verdictsAndPoints(await asked("c", "int main(void) { return oops; }")), [["CE", 0]]);
});

test("a grader of DMOJ that attacks achieves nothing", LIMIT, async () => {
  const talking = (body: string, rest = "") =>
    gradedBy(`    def _interact_with_process(self, case, result):\n        ${body}\n${rest}`);
  const decides = (body: string) => `    def check_result(self, case, result):\n        ${body}\n`;
  for (const [texts, message] of [
    [
      talking("import os; os._exit(44)", decides("import os; os._exit(44)")),
      /FileNotFoundError|leaves the verdict to the run/,
    ],
    [talking("pass", decides("import os; os._exit(44)")), /leaves the verdict to the run, which has not failed/],
    [talking("pass", decides("result.result_flag |= Result.TLE; return True")), /cannot be set: \['TLE'\]/],
    [talking("self.lost = lambda: 0"), /pickle/],
    [talking("self.large = b'x' * (1 << 25)"), /feedback directory|FSE|Error/],
    [talking("while True: pass"), /ended as TLE/],
    [talking("self._current_proc.kill()"), /AttributeError/],
    // Methods that are not found in the text.
    [gradedBy("    locals()['gra' + 'de'] = lambda self, case: None\n"), /a method grade are not supported/],
    [
      gradedBy("    locals()['_interact_with_' + 'process'] = lambda *_: None\n"),
      /a method _interact_with_process are not/,
    ],
  ] as const) {
    const run = await problemOf(texts);
    const { verdict, runs } = await run("python", "print(42)");
    assert.equal(verdict, "IE", runs[0]?.message ?? "");
    assert.match(runs[0]?.message ?? "", message);
  }
});

test("an interactor of DMOJ that is a program need not flush its output", LIMIT, async () => {
  const run = await problemOf({
    "init.yml": "interactive: {files: double.c, feedback: true}\ntest_cases: [{in: a, points: 10}]\n",
    a: "21\n",
    "double.c": `#include <stdio.h>
int main(int argc, char **argv) {
  int n, m;
  FILE *input = fopen(argv[1], "r");
  if (argc != 3 || fscanf(input, "%d", &n) != 1) return 9;
  printf("%d\\n", n);
  if (scanf("%d", &m) != 1) return 1;
  fputs("seen", stderr);
  return m != 2 * n;
}
`,
  });
  assert.deepEqual(verdictsAndPoints(await run("python", "print(2 * int(input()))")), [["AC", 10]]);
  const wrong = await run("python", "print(input())");
  assert.deepEqual([wrong.verdict, wrong.runs[0]?.message], ["WA", "seen"]);
});

const SIGNATURE: PackageTexts = {
  "init.yml": "signature_grader: {entry: main.c, header: sum.h}\ntest_cases: [{in: a, out: b}]\n",
  ...{ a: "2 3\n", b: "5\n" },
  "main.c":
    '#include "sum.h"\n#include <stdio.h>\nint main(void) { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", sum(a, b)); return 0; }\n',
  "sum.h": "#pragma once\nint sum(int a, int b);\n",
};

test("a signature of DMOJ is graded with the program of the package, also when it is judged again", LIMIT, async () => {
  const problem = await importProblem(product(), SIGNATURE, "name=signature&time_limit=2");
  const on = (language: string, more: object) => judge(product(), { language, problem, ...more });
  const right = "int sum(int a, int b) { return a + b; }\nint main(void) { return 1; }\n";
  const first = await on("c", { code: right });
  assert.deepEqual([first.verdict, (await on("cpp", { code: right })).verdict], ["AC", "AC"]);
  assert.equal((await on("c", { code: "int sum(int a, int b) { return a - b; }" })).verdict, "WA");
  const wrong = await on("c", { code: "int sum(int a, int b) { return oops; }" });
  assert.equal(wrong.verdict, "CE");
  const { json } = await product().ask("GET", `/api/result/${wrong.runs[0]?.submission_id}`);
  assert.match(JSON.stringify(json), /main\.c:1:/, "the line is that of the submission");
  // A file of the submission does not take the place of one of the package.
  const forged = { "signature-grader.c": '#include <stdio.h>\nint main(void) { puts("5"); }' };
  assert.equal((await on("c", { code: "int sum(int a, int b) { return 0; }", files: forged })).verdict, "WA");
  const refused = await product().ask("POST", "/api/judgements", { language: "python", code: "print(5)", problem });
  assert.equal(refused.status, 400);
  assert.match(JSON.stringify(refused.json), /the problem permits only \.c, \.cpp/);
  const again = await product().ask("POST", `/api/judgements/${first.id}/rejudge`);
  assert.equal(again.status, 202, JSON.stringify(again.json));
  const rejudged = await product().ask("GET", `/api/judgements/${(again.json as { id: string }).id}?wait=true`);
  assert.equal((rejudged.json as { verdict: string }).verdict, "AC");
});

test("a submission can open its standard streams by the names of the package", LIMIT, async () => {
  const run = await problemOf({
    "init.yml": "symlinks: {data.in: /dev/stdin, data.out: /dev/stdout}\ntest_cases: [{in: a, out: a}]\n",
    a: "7\n",
  });
  const python = "open('data.out', 'w').write(open('data.in').read())";
  assert.equal((await run("python", python)).verdict, "AC");
  const c =
    '#include <stdio.h>\nint main(void) { int n; freopen("data.in", "r", stdin); scanf("%d", &n); printf("%d\\n", n); }';
  assert.equal((await run("c", c)).verdict, "AC");
});

describe("generators of DMOJ", { concurrency: 1 }, () => {
  const languages = installedLanguages();
  let slot: Slot;
  /** Opens the slot that the service does not hold, as soon as its last user has gone. */
  const openSlot = async (): Promise<Slot> => {
    for (;;)
      try {
        return await Slot.open(product().launcher.socket);
      } catch (error) {
        if (!String(error).includes("slots all are taken")) throw error;
        await sleep(100);
      }
  };
  before(async () => {
    slot = await openSlot();
  });
  after(() => slot.close());
  const made = async (generator: string, cases = "- {generator_args: [3]}\n") => {
    const problem = readProblem(
      toFiles({
        // A machine can take more than a second to give a process 2 GiB, so that the limits of time and memory are far apart.
        "init.yml": `generator: {source: make.py, time_limit: 1, memory_limit: 131072}\ntest_cases:\n${cases}`,
        "make.py": generator,
        a: "x",
      }),
      languages,
    );
    assert.ok(problem.makings);
    await makeTests(problem.makings, new LocalJudge(slot, languages));
    return problem.tests.map((one) => contentsOf(one).map(String));
  };

  test("make the tests", LIMIT, async () => {
    const doubles = "import sys\nn = int(sys.argv[1])\nprint(n, end='')\nprint(2 * n, end='', file=sys.stderr)";
    assert.deepEqual(await made(doubles, "- {generator_args: [3]}\n- {generator_args: [4], out: a}\n"), [
      ["3", "6\n"],
      ["4", "x\n"],
    ]);
  });

  for (const [attack, message] of [
    [
      "import sys; print('no\\x1b input', file=sys.stderr); sys.exit(3)",
      /test 1: the program that makes the test ended as RE: exited with code 3: no input$/,
    ],
    ["while True: pass", /ended as TLE/],
    ["while True: print('x' * 4096)", /writes more than 16777216 bytes to standard output|ended as TLE/],
    ["import sys; sys.stderr.write('x' * 17000000)", /writes more than 16777216 bytes to standard error$/],
    ["import os\nwhile True: os.fork()", /ended as (PLE|RE)/],
    ["x = [b'x' * (1 << 20) for _ in range(1 << 12)]", /ended as (MLE|RE)/],
    ["open('/etc/shadow').read()", /ended as RE/],
  ] as const)
    test(`achieve nothing: ${attack}`, LIMIT, async () => {
      await assert.rejects(made(attack), { name: "PackageError", message });
    });

  /** What the command that imports a package sends to the process that stores it. */
  const packedBy = async (t: TestContext, texts: PackageTexts, ...flags: string[]) => {
    const directory = mkdtempSync(join(tmpdir(), "assay-problem-"));
    t.after(() => rmSync(directory, { recursive: true }));
    chmodSync(directory, 0o755);
    const archive = join(directory, "x.zip");
    writeFileSync(archive, zip(texts));
    const within = ["setpriv", "--reuid", `${NOBODY}`, "--regid", `${NOBODY}`, "--clear-groups", "--"];
    const command = ["problems", "import", archive, "--account", "x", "--name", "x", "--time-limit", "1", ...flags];
    assert.equal((await assayWithin(within, "", ...command, "--probe")).code, 3);
    const socket = product().launcher.socket;
    // The service holds all other slots.
    slot.close();
    const packed = async () => await assayWithin(within, "", ...command, "--launcher-socket", socket);
    let read = await packed();
    for (; read.stderr.includes("slots all are taken"); read = await packed()) await sleep(100);
    slot = await openSlot();
    return read;
  };

  test("run when the command imports the package", LIMIT, async (t) => {
    const init = "generator: make.py\ntest_cases: [{generator_args: [21]}]\n";
    const source = "import sys\nprint(2 * int(sys.argv[1]))\nprint('made answer', file=sys.stderr)\n";
    const read = await packedBy(t, { "init.yml": init, "make.py": source });
    assert.equal(read.code, 0, read.stderr);
    const [head = "", ...contents] = read.stdout.split("\n");
    assert.deepEqual([JSON.parse(head).name, contents], ["x", ["42", "made answer", ""]]);
  });

  for (const [file, source, message] of [
    [
      "make.c",
      "int main(void) { return oops; }",
      /^init\.yml: test 1: the program that makes the test ended as RE: the program does not compile/,
    ],
    ["make.py", "while True: pass", /^init\.yml: test 1: the program that makes the test ended as TLE/],
  ] as const)
    test(`that fail refuse the package, or make a faulty version: ${file}`, LIMIT, async (t) => {
      const init = `generator: {source: ${file}, time_limit: 1}\ntest_cases: [{}]\n`;
      const texts = { "init.yml": init, [file]: source };
      const refused = await packedBy(t, texts);
      assert.deepEqual([refused.code, refused.stdout], [1, ""]);
      const { code, stdout, stderr } = await packedBy(t, texts, "--allow-faults");
      assert.equal(code, 0, stderr);
      const { definition, contents } = JSON.parse(stdout);
      assert.equal(definition.faults.length, 1);
      assert.match(definition.faults[0], message);
      assert.deepEqual(
        contents[0].map(({ bytes }: { bytes: number }) => bytes),
        [0, 0],
      );
    });

  test("are refused by a request, which names the command", LIMIT, async () => {
    const texts = { "init.yml": "generator: make.py\ntest_cases: [{}]\n", "make.py": "" };
    const zipped = { "content-type": "application/zip" };
    const { status, json } = await product().ask(
      "POST",
      "/api/problems?name=made&time_limit=1&allow_faults=true",
      zip(texts),
      zipped,
    );
    assert.equal(status, 422, JSON.stringify(json));
    assert.match(JSON.stringify(json), /its programs make: use the command assay problems import/);
  });
});

test("after a failed case of a batch, the others of the batch are skipped, but no others", LIMIT, async () => {
  const run = await problemOf({
    "init.yml":
      "pretest_test_cases: [{in: a, out: a}]\ntest_cases:\n- batched: [{in: b, out: a}, {in: a, out: a}]\n- {in: b, out: a}\n- batched: [{in: a, out: a}]\n- batched: [{in: a, out: a}]\n  dependencies: [1]\n",
    ...{ a: "1", b: "2" },
  });
  assert.deepEqual(verdicts(await run("python", ECHO)), ["AC", "WA", null, "WA", "AC", null]);
  const none = await run("python", "print(2)");
  assert.deepEqual(verdicts(none), ["WA", null, null, null, null, null]);
});
