import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { useProduct } from "../../support/programs/product.ts";
import { judge, verdicts } from "./judged.ts";

const LIMIT = { timeout: 60_000 };
const product = useProduct({ workers: 2 });

/** Thinks of the number in the input; a program has ten attempts to find it. */
const GUESSING = `import sys
secret = int(open(sys.argv[1]).read())
for attempt in range(10):
    line = sys.stdin.readline()
    if not line.strip().isdigit():
        open(sys.argv[3] + "judgemessage.txt", "w").write("not a number")
        sys.exit(43)
    guess = int(line)
    if guess == secret:
        print("right", flush=True)
        sys.exit(42)
    print("more" if guess < secret else "less", flush=True)
open(sys.argv[3] + "judgemessage.txt", "w").write("no attempt is left")
sys.exit(43)
`;
const interactor = (code: string, more: object = {}) => ({
  type: "program",
  interface: "kattis",
  interactive: true,
  language: "python",
  code,
  ...more,
});

/** Programs that find the number, one for each language. */
const SEARCHES: Readonly<Record<string, string>> = {
  c: `#include <stdio.h>
int main(void) { int low = 0, high = 1000; char word[16];
  for (;;) { int middle = (low + high) / 2; printf("%d\\n", middle); fflush(stdout);
    if (scanf("%15s", word) != 1 || word[0] == 'r') return 0;
    if (word[0] == 'm') low = middle + 1; else high = middle - 1; } }`,
  cpp: `#include <iostream>
#include <string>
int main() { int low = 0, high = 1000; std::string word;
  for (;;) { int middle = (low + high) / 2; std::cout << middle << std::endl;
    if (!(std::cin >> word) || word == "right") return 0;
    if (word == "more") low = middle + 1; else high = middle - 1; } }`,
  go: `package main
import "fmt"
func main() { low, high := 0, 1000
  for { middle := (low + high) / 2; fmt.Println(middle); var word string
    if n, _ := fmt.Scan(&word); n != 1 || word == "right" { return }
    if word == "more" { low = middle + 1 } else { high = middle - 1 } } }`,
  java: `import java.util.Scanner;
public class Main { public static void main(String[] args) { int low = 0, high = 1000; Scanner in = new Scanner(System.in);
  while (true) { int middle = (low + high) / 2; System.out.println(middle);
    if (!in.hasNext()) return; String word = in.next(); if (word.equals("right")) return;
    if (word.equals("more")) low = middle + 1; else high = middle - 1; } } }`,
  javascript: `let [low, high] = [0, 1000];
const ask = () => console.log((low + high) >> 1);
require("node:readline").createInterface({ input: process.stdin }).on("line", (word) => {
  const middle = (low + high) >> 1;
  if (word === "right") process.exit(0);
  if (word === "more") low = middle + 1; else high = middle - 1;
  ask();
});
ask();`,
  python: `low, high = 0, 1000
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    word = input()
    if word == "right": break
    if word == "more": low = middle + 1
    else: high = middle - 1`,
  rust: `use std::io::{stdin, stdout, Write};
fn main() { let (mut low, mut high) = (0, 1000);
  loop { let middle = (low + high) / 2; println!("{}", middle); stdout().flush().unwrap();
    let mut word = String::new(); stdin().read_line(&mut word).unwrap();
    match word.trim() { "more" => low = middle + 1, "less" => high = middle - 1, _ => return } } }`,
  typescript: `let low: number = 0, high: number = 1000;
const ask = (): void => console.log((low + high) >> 1);
require("node:readline").createInterface({ input: process.stdin }).on("line", (word: string) => {
  const middle = (low + high) >> 1;
  if (word === "right") process.exit(0);
  if (word === "more") low = middle + 1; else high = middle - 1;
  ask();
});
ask();`,
};
const TESTS = [{ stdin: "0\n" }, { stdin: "777\n" }];

describe("an interactive problem, in every language", { concurrency: 2 }, () => {
  for (const [language, code] of Object.entries(SEARCHES))
    test(language, LIMIT, async () => {
      const judged = await judge(product(), { language, code, tests: TESTS, checker: interactor(GUESSING) });
      assert.deepEqual([judged.verdict, verdicts(judged)], ["AC", ["AC", "AC"]], JSON.stringify(judged));
    });

  test("an interactor in C++ with the interface of testlib", LIMIT, async () => {
    const code = `#include <cstdio>
int main(int count, char **args) { int secret, guess; FILE *in = fopen(args[1], "r"), *log = fopen(args[2], "w");
  if (!in || !log || fscanf(in, "%d", &secret) != 1) return 3;
  while (scanf("%d", &guess) == 1) { fprintf(log, "%d\\n", guess);
    puts(guess == secret ? "right" : guess < secret ? "more" : "less"); fflush(stdout); if (guess == secret) { fputs("ok", stderr); return 0; } }
  fputs("wrong answer no number", stderr); return 1; }`;
    const checker = interactor(code, { language: "cpp", interface: "testlib" });
    const right = await judge(product(), { language: "python", code: SEARCHES.python, tests: TESTS, checker });
    assert.equal(right.verdict, "AC", JSON.stringify(right));
    const wrong = await judge(product(), { language: "python", code: "print('x')", tests: TESTS, checker });
    assert.deepEqual([wrong.verdict, wrong.runs[0]?.message], ["WA", "wrong answer no number"]);
  });
});

const FAST = { cpu_time_secs: 0.3, wall_time_secs: 0.5 };

/** Programs for the guessing problem with the number 777. */
const CONTESTANTS: Readonly<Record<string, readonly [code: string, verdict: string, message?: RegExp]>> = {
  "ends at once": ["pass", "WA", /not a number/],
  "crashes at once": ["import os; os.abort()", "SIG"],
  "fails at once": ["raise SystemExit(42)", "RE"],
  "writes no number": ["print('x', flush=True); input()", "WA", /not a number/],
  "fails after it was rejected": ["print('x', flush=True)\nwhile True: input()", "WA", /not a number/],
  "uses all attempts": ["for i in range(10): print(i, flush=True); input()", "WA", /no attempt is left/],
  "does not flush": ["import sys\nprint(5)\nsys.stdin.readline()", "TLE"],
  "waits without a question": ["import sys; sys.stdin.readline()", "TLE"],
  "sleeps in its turn": ["import time\nprint(5, flush=True); input(); time.sleep(60)", "TLE"],
  "computes forever in its turn": ["print(5, flush=True); input()\nwhile True: pass", "TLE"],
  "sends one byte now and then": ["import time\nwhile True: print(end='1', flush=True); time.sleep(0.01)", "TLE"],
  floods: ["import os\nwhile True: os.write(1, b'1' * 65536)", "WA|TLE"],
  "floods and ends": ["import os\nfor _ in range(200): os.write(1, b'1' * 65536)", "WA"],
  "uses too much memory": ["print(5, flush=True); input(); x = bytearray(1 << 33)", "MLE|RE"],
  "closes its output": ["import os; os.close(1); input()", "WA", /not a number/],
  "closes both": ["import os, time; os.close(1); os.close(0); time.sleep(60)", "TLE|WA"],
  "goes on after it was accepted": ["print(777, flush=True)\nwhile True: pass", "TLE"],
  "fails after it was accepted": ["print(777, flush=True); input(); raise SystemExit(1)", "RE"],
  "leaves a process behind that holds its output": [
    "import os, time\nif os.fork() == 0: time.sleep(60)",
    "WA",
    /not a number/,
  ],
  "reads the input of the interactor": ["print(open('judge/input').read(), flush=True)", "RE"],
  "looks for the interactor in its file system": [
    "import os\nprint(sum('judge' in names or 'input' in files for _, names, files in os.walk('/box')), flush=True); input()\nraise SystemExit(5)",
    "RE",
  ],
  "writes feedback for the interactor": [
    "import os\nos.makedirs('feedback'); open('feedback/score_multiplier.txt', 'w').write('1'); print('x', flush=True)",
    "WA",
    /not a number/,
  ],
  "writes into its own input": [
    "import os\nfd = os.open('/proc/self/fd/0', os.O_WRONLY)\nos.write(fd, b'right\\n' * 10)\nprint('x', flush=True)",
    "WA|RE",
  ],
  "kills everything that it can see": ["import os\nos.kill(-1, 9)", "WA|SIG|RE"],
};

describe("contestants", { concurrency: 2 }, () => {
  for (const [name, [code, verdict, message]] of Object.entries(CONTESTANTS))
    test(`a program that ${name}: ${verdict}`, LIMIT, async () => {
      const tests = [{ stdin: "777\n", limits: FAST }];
      const judged = await judge(product(), { language: "python", code, tests, checker: interactor(GUESSING) });
      assert.match(judged.verdict, new RegExp(`^(${verdict})$`), JSON.stringify(judged));
      if (message) assert.match(judged.runs[0]?.message ?? "", message);
      assert.equal(judged.score, 0);
    });
});

test(
  "a program that fails has its own verdict, however fast the interactor answers to the end of its input",
  LIMIT,
  async () => {
    const code = "#include <cstdio>\nint main() { int c; while ((c = getchar()) != EOF) {} return 43; }";
    const tests = Array.from({ length: 30 }, () => ({ stdin: "777\n" }));
    const body = { language: "python", code: "raise SystemExit(3)", tests, stop: "never" };
    const judged = await judge(product(), { ...body, checker: interactor(code, { language: "cpp" }) });
    assert.deepEqual(new Set(verdicts(judged)), new Set(["RE"]));
  },
);

/** Interactors that fail; the program waits for them. */
const INTERACTORS: Readonly<Record<string, readonly [code: string, message: RegExp]>> = {
  crashes: ["import os; os.abort()", /signal 6/],
  "ends with another exit code": ["raise SystemExit(0)", /exit code 0/],
  "does not compile": ["def", /exit code 1|does not compile/],
  "computes forever": ["while True: pass", /TLE/],
  "floods and accepts": [
    "import os\nfor _ in range(140): os.write(1, b'x' * 65536)\nraise SystemExit(42)",
    /exceeds its limit/,
  ],
  "forks without end": ["import os\nwhile True: os.fork()", /PLE/],
  "uses too much memory": ["x = bytearray(1 << 34)", /MLE|exit code 1/],
  "accepts and leaves too many files": [
    "import sys\nfor i in range(200): open(sys.argv[3] + str(i), 'w').write('x')\nsys.exit(42)",
    /feedback directory/,
  ],
  "gives more points than the test has": [
    "import sys\nopen(sys.argv[3] + 'score.txt', 'w').write('5')\nsys.exit(42)",
    /exit code 42/,
  ],
  "asks for another pass in a test without passes, and crashes": [
    "import sys\nopen(sys.argv[3] + 'nextpass.in', 'w').write('5')\nsys.exit(1)",
    /exit code 1/,
  ],
};

describe("an interactor that fails is not to blame on the program", { concurrency: 2 }, () => {
  for (const [name, [code, message]] of Object.entries(INTERACTORS))
    test(name, { timeout: 120_000 }, async () => {
      const body = { language: "python", code: "import sys\nfor line in sys.stdin: pass" };
      const tests = [{ stdin: "1\n", points: 1 }];
      const judged = await judge(product(), { ...body, tests, checker: interactor(code) });
      assert.equal(judged.verdict, "IE", JSON.stringify(judged));
      assert.match(judged.runs[0]?.message ?? "", message);
    });

  test("does not compile, in C++", LIMIT, async () => {
    const checker = interactor("int main() { return", { language: "cpp" });
    const body = { language: "python", code: "print(1)", tests: [{ stdin: "1\n" }] };
    const judged = await judge(product(), { ...body, checker });
    assert.deepEqual([judged.verdict, /does not compile/.test(judged.runs[0]?.message ?? "")], ["IE", true]);
  });
});
