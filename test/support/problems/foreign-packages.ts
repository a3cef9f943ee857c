import type { PackageTexts } from "./packages.ts";

/** Packages of Polygon and tasks of CMS. Their programs use a small header of these tests in place of the real testlib.h. */

/** Like older versions of testlib.h, it uses a type of <cstdint> without including this header. */
const TESTLIB = `#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
enum TResult { _ok, _wa, _pe, _fail };
static FILE *inf, *ouf, *ans, *tout;
static void registerTestlibCmd(int, char **words) {
  inf = fopen(words[1], "r"), ouf = fopen(words[2], "r"), ans = fopen(words[3], "r");
}
static void registerInteraction(int, char **words) { inf = fopen(words[1], "r"), tout = fopen(words[2], "w"); }
[[noreturn]] static void quitf(TResult result, const char *text) {
  const char *names[] = {"ok", "wrong answer", "wrong output format", "FAIL"};
  fprintf(stderr, "%s %s\\n", names[result], text);
  if (tout) fclose(tout);
  exit(result);
}
static bool number(FILE *from, uint64_t *value) {
  unsigned long long read;
  if (fscanf(from, "%llu", &read) != 1) return false;
  *value = read;
  return true;
}
`;

/** Accepts the same number as in the answer. */
const CHECK = `#include "testlib.h"
int main(int count, char **words) {
  registerTestlibCmd(count, words);
  uint64_t got, expected;
  if (!number(ans, &expected)) quitf(_fail, "there is no answer");
  if (!number(ouf, &got)) quitf(_pe, "there is no number");
  if (got != expected) quitf(_wa, "another number");
  quitf(_ok, "the number");
}
`;

/** Accepts one number of at most 100; in the group "small", of at most 9. */
const VALIDATE = `#include <string.h>
#include "testlib.h"
int main(int count, char **words) {
  uint64_t value, most = 100;
  for (int at = 1; at + 1 < count; at++)
    if (!strcmp(words[at], "--group") && !strcmp(words[at + 1], "small")) most = 9;
  if (!number(stdin, &value) || value > most) quitf(_fail, "no number within its bounds");
}
`;

const solution = (tag: string, path: string, type: string, more = "") =>
  `<solution tag="${tag}"><source path="solutions/${path}" type="${type}"/>${more}</solution>`;

/** A testset as Polygon writes it: \`kinds\` are the parts of the paths of the tests with their endings. */
function testset(
  attributes: string,
  directory: string,
  tests: readonly string[],
  kinds: Readonly<Record<string, string>>,
  more = "",
): string {
  const patterns = Object.entries(kinds).map(
    ([kind, ending]) => `<${kind}-path-pattern>${directory}/%02d${ending}</${kind}-path-pattern>`,
  );
  const list = tests.map((one) => `<test ${one}/>`).join("");
  return `<testset${attributes}>${more}<test-count>${tests.length}</test-count>${patterns.join("")}<tests>${list}</tests></testset>`;
}

const LIMITS = "<time-limit>1500</time-limit><memory-limit>134217728</memory-limit>";
const DATA = { input: "", answer: ".a" };

/** A package with points: groups of both policies, dependencies, tests of the checker and of the validator, and tags of all kinds. */
export const POLYGON: PackageTexts = {
  "problem.xml": `<?xml version="1.0" encoding="utf-8" standalone="no"?>
<problem revision="3" short-name="square" url="https://example.org/square">
  <names><name language="russian" value="Квадрат"/><name language="english" value="Square &amp; root"/></names>
  <judging cpu-name="any" cpu-speed="1" input-file="" output-file="" run-count="1">
${testset(
  ' name="tests"',
  "tests",
  [
    'method="manual" sample="true" group="samples" points="0.0"',
    'cmd="gen 1" method="generated" group="large" points="60.0"',
    'cmd="gen 2" method="generated" group="large" points="0.0"',
    'cmd="gen 3" method="generated" group="small" points="15.5"',
    'cmd="gen 4" method="generated" group="small" points="24.5"',
  ],
  DATA,
  LIMITS,
).replace(
  "</testset>",
  `<groups>
    <group name="samples" points-policy="each-test" feedback-policy="complete"/>
    <group name="large" points="60.0" points-policy="complete-group" feedback-policy="icpc">
      <dependencies><dependency group="samples"/><dependency group="small"/></dependencies></group>
    <group name="small" points-policy="each-test" feedback-policy="points"/>
  </groups></testset>`,
)}
  </judging>
  <files><resources><file path="files/testlib.h" type="h.g++"/></resources>
    <executables><executable><source path="files/check.cpp" type="cpp.g++17"/></executable></executables></files>
  <assets>
    <checker name="std::ncmp.cpp" type="testlib"><source path="files/check.cpp" type="cpp.g++17"/><copy path="check.cpp"/>
      ${testset("", "files/tests/checker-tests", ['verdict="ok"', 'verdict="wrong-answer"', 'verdict="presentation-error"', 'verdict="crashed"'], { input: "", output: ".o", answer: ".a" })}
    </checker>
    <validators><validator><source path="files/validate.cpp" type="cpp.g++17"/>
      ${testset("", "files/tests/validator-tests", ['verdict="valid"', 'verdict="invalid"', 'verdict="invalid" group="small"'], { input: "" })}
    </validator></validators>
    <solutions>
      ${solution("main", "square.py", "python.3")}
      ${solution("wrong-answer", "small.py", "python.3", '<extra-tags><extra-tag group="small" tag="accepted" testset="tests"/></extra-tags>')}
      ${solution("time-limit-exceeded", "waits.py", "python.3")}
      ${solution("memory-limit-exceeded", "eats.py", "python.3")}
      ${solution("time-limit-exceeded-or-accepted", "maybe.py", "python.3")}
      ${solution("rejected", "fails.py", "python.3")}
      ${solution("accepted", "square.dpr", "pas.delphi")}
      ${solution("failed", "breaks.py", "python.3")}
    </solutions>
  </assets>
</problem>
`,
  "files/testlib.h": TESTLIB,
  "files/check.cpp": CHECK,
  "check.cpp": CHECK,
  "files/validate.cpp": VALIDATE,
  "doall.sh": "exit 1\n",
  "tests/01": "3\n",
  "tests/01.a": "9\n",
  "tests/02": "70\n",
  "tests/02.a": "4900\n",
  "tests/03": "100\n",
  "tests/03.a": "10000\n",
  "tests/04": "2\n",
  "tests/04.a": "4\n",
  "tests/05": "9\n",
  "tests/05.a": "81\n",
  "files/tests/checker-tests/01": "1\n",
  "files/tests/checker-tests/01.o": "1\n",
  "files/tests/checker-tests/01.a": "1\n",
  "files/tests/checker-tests/02": "1\n",
  "files/tests/checker-tests/02.o": "2\n",
  "files/tests/checker-tests/02.a": "1\n",
  "files/tests/checker-tests/03": "1\n",
  "files/tests/checker-tests/03.o": "one\n",
  "files/tests/checker-tests/03.a": "1\n",
  "files/tests/checker-tests/04": "1\n",
  "files/tests/checker-tests/04.o": "1\n",
  "files/tests/checker-tests/04.a": "none\n",
  "files/tests/validator-tests/01": "100\n",
  "files/tests/validator-tests/02": "101\n",
  "files/tests/validator-tests/03": "10\n",
  "solutions/square.py": "print(int(input()) ** 2)\n",
  "solutions/small.py": "print(min(int(input()), 20) ** 2)\n",
  "solutions/waits.py": "while True: pass\n",
  "solutions/eats.py": "all = []\nwhile True: all.append(bytearray(1 << 20))\n",
  "solutions/maybe.py": "print(int(input()) ** 2)\n",
  "solutions/fails.py": "raise SystemExit(1)\n",
  "solutions/square.dpr": "begin end.\n",
  "solutions/breaks.py": "print(1)\n",
};

/** The interactor says higher or lower, and writes the number of questions for the checker, which accepts at most seven. */
export const POLYGON_INTERACTIVE: PackageTexts = {
  "problem.xml": `<problem short-name="guess"><names/><judging run-count="1">
${testset(' name="tests"', "tests", ['method="manual"', 'method="manual"'], DATA, LIMITS)}
</judging><assets>
<checker type="testlib"><source path="files/check.cpp" type="cpp.g++17"/></checker>
<interactor><source path="files/interact.cpp" type="cpp.g++17"/></interactor>
<solutions>
${solution("main", "halves.py", "python.3")}
${solution("wrong-answer", "counts.py", "python.3")}
${solution("presentation-error", "says.py", "python.3")}
</solutions></assets></problem>
`,
  "files/testlib.h": TESTLIB,
  "files/check.cpp": `#include "testlib.h"
int main(int count, char **words) {
  registerTestlibCmd(count, words);
  uint64_t questions, secret, answer;
  if (!number(ouf, &questions) || !number(inf, &secret) || !number(ans, &answer) || secret != answer) quitf(_fail, "no numbers");
  if (questions > 7) quitf(_wa, "too many questions");
  quitf(_ok, "few questions");
}
`,
  "files/interact.cpp": `#include "testlib.h"
int main(int count, char **words) {
  registerInteraction(count, words);
  uint64_t secret, guess, questions = 0;
  if (!number(inf, &secret)) quitf(_fail, "no secret");
  do {
    if (!number(stdin, &guess)) quitf(_pe, "no number");
    questions++;
    puts(guess < secret ? "higher" : guess > secret ? "lower" : "found");
    fflush(stdout);
  } while (guess != secret);
  fprintf(tout, "%d\\n", (int)questions);
  quitf(_ok, "wrong answer is no result of the interactor");
}
`,
  "tests/01": "1\n",
  "tests/01.a": "1\n",
  "tests/02": "77\n",
  "tests/02.a": "77\n",
  "solutions/halves.py": `low, high = 1, 100
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    answer = input()
    if answer == "found": break
    if answer == "higher": low = middle + 1
    else: high = middle - 1
`,
  "solutions/counts.py": `for guess in range(1, 101):
    print(guess, flush=True)
    if input() == "found": break
`,
  "solutions/says.py": 'print("seven", flush=True)\ninput()\n',
};

/** Its programs read and write files, and its files come from Windows. */
export const POLYGON_FILES: PackageTexts = {
  "problem.xml": `<problem short-name="twice"><judging input-file="twice.in" output-file="twice.out">
${testset(' name="tests"', "tests", ["", ""], DATA, LIMITS).replaceAll("%02d", "%d")}
</judging><assets>
<checker><source path="files/check.cpp" type="cpp.g++17"/></checker>
<solutions>
${solution("main", "twice.py", "python.3")}
${solution("wrong-answer", "standard.py", "python.3")}
</solutions></assets></problem>
`.replaceAll("\n", "\r\n"),
  "files/testlib.h": TESTLIB,
  "files/check.cpp": CHECK,
  "tests/1": "20\r\n1\r\n",
  "tests/1.a": "40\r\n",
  "tests/2": "20\n1\r\n",
  "tests/2.a": "40",
  "solutions/twice.py":
    'text = open("twice.in", newline="").readline()\nprint("not the output")\nopen("twice.out", "w").write(str(2 * int(text)))\n',
  "solutions/standard.py": 'print(2 * int(open("twice.in").readline()))\n',
};

/** A task of CMS with subtasks, a checker that gives a part of the points, and files for input and output. */
export const CMS: PackageTexts = {
  "task.yaml": `name: "near"
title: "A number nearby"
time_limit: 1.5
memory_limit: 128
n_input: 5
token_mode: disabled
public_testcases: 0,1
author: somebody
`,
  "gen/GEN": `# ST: 0
#COPY: statement/input0
#  The first real subtask.
#ST: 40
1
2   # a comment
#ST:60
#STNAME: hard

3
4
`,
  "gen/valida.py": "",
  "check/checker.cpp": `#include <cstdlib>
#include <fstream>
#include <iostream>
#include "distance.h"
int main(int, char **words) {
  long long expected, got;
  std::ifstream(words[2]) >> expected;
  bool read = bool(std::ifstream(words[3]) >> got);
  long long off = read ? distance(expected, got) : 100;
  std::cout << (off == 0 ? "1.0" : off == 1 ? "0.5" : "0.0") << std::endl;
  std::cerr << (off == 0 ? "translate:success" : off == 1 ? "one less" : "translate:wrong") << std::endl;
}
`,
  "check/distance.h": "inline long long distance(long long a, long long b) { return a < b ? b - a : a - b; }\n",
  "check/checker": "a compiled program",
  "statement/statement.pdf": "",
  "att/near.cpp": "",
  ...Object.fromEntries(
    [5, 6, 7, 8, 9].flatMap((number, at) => [
      [`input/input${at}.txt`, `${number}\n`],
      [`output/output${at}.txt`, `${number * 10}\n`],
    ]),
  ),
  "sol/solution.py": 'open("output.txt", "w").write(str(int(open("input.txt").read()) * 10))\n',
  "sol/soluzione.java": `import java.nio.file.*;
public class near {
  public static void main(String[] words) throws Exception {
    int number = Integer.parseInt(Files.readString(Path.of("input.txt")).trim());
    Files.writeString(Path.of("output.txt"), number * 10 + "\\n");
  }
}
`,
  "sol/nearly.py":
    'number = int(open("input.txt").read()) * 10\nopen("output.txt", "w").write(str(number + (number > 80)))\n',
  "sol/template.pas": "",
};
