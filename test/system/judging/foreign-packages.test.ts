import assert from "node:assert/strict";
import { test } from "node:test";
import type { Definition } from "../../../src/domain/judgement.ts";
import type { Language } from "../../../src/domain/language.ts";
import { throughFiles } from "../../../src/domain/program-options.ts";
import { listed, loadLanguages } from "../../../src/languages/load.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { verify } from "../../../src/problems/verify.ts";
import type { Slot } from "../../../src/sandbox/slot.ts";
import { LocalJudge } from "../../../src/worker/judge-locally.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { CMS, POLYGON, POLYGON_FILES, POLYGON_INTERACTIVE } from "../../support/problems/foreign-packages.ts";
import { type PackageTexts, toFiles } from "../../support/problems/packages.ts";
import { useSlot } from "../../support/sandbox/one-slot.ts";

const LIMIT = { timeout: 120_000 };
const languages = loadLanguages(LANGUAGES);

let slot: Slot;
useSlot((one) => {
  slot = one;
});

/** The faults of a package, and the verdict and the score of each solution. */
async function verified(texts: PackageTexts) {
  const files = toFiles(texts);
  const { faults, submissions } = await verify(
    files,
    readProblem(files, languages),
    new LocalJudge(slot, languages),
    languages,
  );
  return {
    faults: [...faults, ...submissions.flatMap((one) => one.faults.map((fault) => `${one.path}: ${fault}`))],
    results: submissions.map(({ path, verdict, score }) => [path.split("/").at(-1), verdict, score]),
  };
}

/** The package with another text in one of its files. */
function edited(texts: PackageTexts, path: string, from: string, to: string): PackageTexts {
  const before = texts[path] ?? "";
  assert.ok(before.includes(from));
  return { ...texts, [path]: before.replace(from, to) };
}

test("a package of Polygon behaves as it says", LIMIT, async () => {
  assert.deepEqual(await verified(POLYGON), {
    faults: [],
    results: [
      ["eats.py", "RTE", 0],
      ["fails.py", "RTE", 0],
      ["maybe.py", "AC", 100],
      ["small.py", "WA", 40],
      ["square.dpr", null, null],
      ["square.py", "AC", 100],
      ["waits.py", "TLE", 0],
    ],
  });
});

test("verify finds what a package of Polygon says wrongly", LIMIT, async () => {
  const xml = POLYGON["problem.xml"] ?? "";
  const swapped = xml
    .replace('verdict="valid"', 'verdict="invalid"')
    .replace('verdict="ok"', 'verdict="crashed"')
    .replace('tag="wrong-answer"', 'tag="rejected"')
    .replace('group="small" tag="accepted"', 'group="large" tag="accepted"')
    .replace('tag="memory-limit-exceeded"', 'tag="time-limit-exceeded"')
    .replace(
      'tag="rejected"><source path="solutions/fails.py"',
      'tag="memory-limit-exceeded"><source path="solutions/fails.py"',
    );
  const { faults } = await verified({ ...POLYGON, "problem.xml": swapped, "tests/04": "10\n", "tests/04.a": "100\n" });
  assert.deepEqual(
    faults.map((one) =>
      one
        .split(":")
        .slice(0, 2)
        .join(":")
        .replace(/ \(\d.*$/, ""),
    ),
    [
      "tests/04: files/validate.cpp ends with exit code 3",
      "files/tests/validator-tests/01: no input validator rejects it",
      "files/tests/checker-tests/01.o: is AC, not IE",
      "solutions/eats.py: MLE on samples/01 instead of AC or TLE",
      "solutions/fails.py: RTE on samples/01 instead of AC or MLE",
      "solutions/small.py: WA on large/02 instead of AC",
    ],
  );
});

test("the checker of an interactive package of Polygon decides after the interactor", LIMIT, async () => {
  const expected = {
    faults: [],
    results: [
      ["counts.py", "WA", null],
      ["halves.py", "AC", null],
      ["says.py", "WA", null],
    ],
  };
  assert.deepEqual(await verified(POLYGON_INTERACTIVE), expected);
  // A text of the interactor is no result of a checker that ends without one.
  const silent = edited(POLYGON_INTERACTIVE, "files/check.cpp", 'quitf(_wa, "too many questions")', "exit(1)");
  const { faults } = await verified(silent);
  assert.match(
    faults.join("\n"),
    /counts\.py: IE on 02: the interactor ended as RE with exit code 1, without the text/,
  );
});

test("a package of Polygon can name files for the input and the output", LIMIT, async () => {
  assert.deepEqual(await verified(POLYGON_FILES), {
    faults: [],
    results: [
      ["standard.py", "WA", null],
      ["twice.py", "AC", null],
    ],
  });
});

test("a task of CMS behaves as it says", LIMIT, async () => {
  assert.deepEqual(await verified(CMS), {
    faults: [],
    results: [
      ["nearly.py", "AC", 70],
      ["solution.py", "AC", 100],
      ["soluzione.java", "AC", 100],
      ["template.pas", null, null],
    ],
  });
});

/** Programs that print, read a number from the file `a.in`, and write its double into the file `a.out`. */
const DOUBLES: Readonly<Record<string, string>> = {
  c: `#include <stdio.h>
int main(void) { int n; puts("no"); fscanf(fopen("a.in", "r"), "%d", &n); fprintf(fopen("a.out", "w"), "%d\\n", 2 * n); }
`,
  cpp: `#include <fstream>
#include <iostream>
#include <string>
int main() {
  std::string none;
  int n = 0;
  std::cout << "no" << std::endl;
  std::ifstream("a.in") >> n;
  std::ofstream("a.out") << (std::cin >> none ? 0 : 2 * n) << std::endl;
}
`,
  go: `package main
import ("fmt"; "os")
func main() {
  var n int
  fmt.Println("no")
  in, _ := os.Open("a.in")
  fmt.Fscan(in, &n)
  out, _ := os.Create("a.out")
  fmt.Fprintln(out, 2 * n)
}
`,
  java: `import java.nio.file.*;
public class Main {
  public static void main(String[] words) throws Exception {
    System.out.println("no");
    Files.writeString(Path.of("a.out"), 2 * Integer.parseInt(Files.readString(Path.of("a.in")).trim()) + "\\n");
  }
}
`,
  javascript:
    'const fs = require("fs");\nconsole.log("no");\nfs.writeFileSync("a.out", 2 * Number(fs.readFileSync("a.in", "utf8")) + "\\n");\n',
  python:
    'import sys\nprint("no")\nn = int(open("a.in").read())\nsys.stdout = open("a.out", "w")\nprint(2 * n if sys.stdin.read() == "" else 0)\n',
  rust: `use std::fs;
fn main() {
  println!("no");
  let n: i64 = fs::read_to_string("a.in").unwrap().trim().parse().unwrap();
  fs::write("a.out", format!("{}\\n", 2 * n)).unwrap();
}
`,
  typescript:
    'import * as fs from "node:fs";\nconsole.log("no");\nfs.writeFileSync("a.out", 2 * Number(fs.readFileSync("a.in", "utf8")) + "\\n");\n',
};

/** A main function that calls a function of the submission. */
const GRADER = `#include <stdio.h>
#include "square.h"
int main() { long long number; if (scanf("%lld", &number) != 1) return 1; printf("%lld\\n", square(number)); }
`;
const HEADER = '#ifdef __cplusplus\nextern "C"\n#endif\nlong long square(long long number);\n';
const RIGHT = '#include "square.h"\nlong long square(long long number) { return number * number; }\n';
const WRONG = '#include "square.h"\nlong long square(long long number) { return number + number; }\n';

test("graders of CMS are compiled with submissions, which are in their languages", LIMIT, async () => {
  const task: PackageTexts = {
    "task.yaml": 'name: square\ntitle: Square\ntime_limit: 1\nn_input: 1\ninfile: ""\noutfile: ""\n',
    "input/input0.txt": "3\n",
    "output/output0.txt": "9\n",
    "sol/grader.cpp": GRADER,
    "sol/grader.c": GRADER,
    "sol/square.h": HEADER,
    "sol/solution.cpp": RIGHT,
    "sol/soluzione.c": RIGHT,
    "sol/wrong.cpp": WRONG,
    "sol/whole.py": "print(int(input()) ** 2)\n",
  };
  assert.deepEqual(await verified(task), {
    faults: ["sol/whole.py: is in python, which the problem does not permit"],
    results: [
      ["solution.cpp", "AC", 100],
      ["soluzione.c", "AC", 100],
      ["whole.py", "AC", 100],
      ["wrong.cpp", "WA", 0],
    ],
  });
});

test("resources of Polygon are compiled with submissions", LIMIT, async () => {
  const resource = (path: string) =>
    `<file path="${path}" for-types="cpp.*"><stages><stage name="COMPILE"/></stages><assets><asset name="SOLUTION"/></assets></file>`;
  const solution = (tag: string, path: string) =>
    `<solution tag="${tag}"><source path="${path}" type="cpp.g++17"/></solution>`;
  const head = POLYGON_FILES["problem.xml"] ?? "";
  const xml = head
    .replace(/input-file="twice.in" output-file="twice.out"/, "")
    .replace(
      "</judging>",
      `</judging><files><resources>${resource("files/grader.cpp")}${resource("files/square.h")}</resources></files>`,
    )
    .replace(
      /<solutions>.*<\/solutions>/s,
      `<solutions>${solution("main", "right.cpp")}${solution("wrong-answer", "wrong.cpp")}</solutions>`,
    );
  const texts: PackageTexts = {
    ...POLYGON_FILES,
    "problem.xml": xml,
    ...{ "files/grader.cpp": GRADER, "files/square.h": HEADER, "right.cpp": RIGHT, "wrong.cpp": WRONG },
    ...{ "tests/1": "3\n", "tests/1.a": "9\n", "tests/2": "4\n", "tests/2.a": "16\n" },
  };
  assert.deepEqual(await verified(texts), {
    faults: [],
    results: [
      ["right.cpp", "AC", null],
      ["wrong.cpp", "WA", null],
    ],
  });
});

test("programs of every language read and write the files that a test names", LIMIT, async () => {
  const judge = new LocalJudge(slot, languages);
  const definition: Definition = {
    checker: { type: "exact" },
    groups: [{ name: "", rule: "sum", depends: [] }],
    tests: ["1", "2"].map((name) => ({
      name,
      group: "",
      points: 1,
      limits: {},
      ...throughFiles("a.in", "a.out"),
    })),
  };
  const contents = (at: number) => [`${at + 20}\n`, `${2 * (at + 20)}\n`].map((text) => Buffer.from(text));
  const found: Record<string, string> = {};
  for (const [name, code] of Object.entries(DOUBLES)) {
    const language = languages.resolve(name) as Language;
    const options = { language, profile: "judge", stop: "never" } as const;
    const program = { code: Buffer.from(code), stdin: Buffer.alloc(0) };
    const { runs } = await judge.judge(program, options, { definition, checker: null, contents });
    found[name] = runs.map(({ verdict, message }) => (message === null ? verdict : `${verdict} ${message}`)).join();
  }
  assert.deepEqual(found, Object.fromEntries(Object.keys(DOUBLES).map((name) => [name, "AC,AC"])));
  assert.deepEqual(
    Object.keys(DOUBLES).sort(),
    listed(languages)
      .map(({ name }) => name)
      .sort(),
  );
});
