import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { useProduct } from "../../support/programs/product.ts";
import { judge, verdicts } from "./judged.ts";

const LIMIT = { timeout: 60_000 };
const product = useProduct({ workers: 2 });

/** A checker that compares the first words, as problem packages have it. */
const KATTIS = {
  type: "program",
  interface: "kattis",
  language: "python",
  code: `import sys
answer = open(sys.argv[2]).read().split()
sys.exit(42 if sys.stdin.read().split() == answer else 43)
`,
};

const python = (code: string) => ({ language: "python", code });

/** Programs that want a verdict that their output does not deserve. The answer is 7. */
const FORGERIES: Readonly<Record<string, readonly [code: string, verdict: string]>> = {
  "exits with the code that accepts": ["import sys; sys.exit(42)", "RE"],
  "prints the code that accepts": ["print(42)", "WA"],
  "reads the answer where the checker has it": [
    "import os\nprint(open('judge/answer').read() if os.path.exists('judge/answer') else 'none')",
    "WA",
  ],
  "searches its file system for the answer": [
    `import os
for top in ("/box", "/tmp", "/dev/shm", "/run", "/var"):
    for where, _, names in os.walk(top):
        for name in names:
            try:
                if open(os.path.join(where, name), "rb").read(64).strip() == b"7": print(7); raise SystemExit
            except OSError: pass
print("none")`,
    "WA",
  ],
  "writes feedback of its own": [
    "import os\nos.makedirs('feedback')\nopen('feedback/score.txt', 'w').write('1')\nprint('none')",
    "WA",
  ],
  "prints nothing": ["pass", "WA"],
  "closes its output": ["import os; os.close(1)", "WA"],
  "prints the answer and more than fits": ["print(7)\nfor _ in range(9000): print(' ' * 1000)", "WA"],
  "prints the answer among zero bytes": ["print('7' + chr(0))", "WA"],
  "prints the answer to standard error": ["import sys; print(7, file=sys.stderr)", "WA"],
  "prints the answer from a process that outlives it": [
    "import os, time\nif os.fork() == 0:\n    time.sleep(0.5)\n    print(7)",
    "WA",
  ],
  "prints the answer and fails": ["print(7); raise SystemExit(1)", "RE"],
};

describe("a program cannot forge a verdict", { concurrency: 2 }, () => {
  for (const [name, [code, verdict]] of Object.entries(FORGERIES))
    for (const checker of ["tokens", KATTIS])
      test(`${name}, against ${typeof checker === "string" ? checker : "a program"}`, LIMIT, async () => {
        const judged = await judge(product(), { ...python(code), tests: [{ stdin: "x", expected: "7" }], checker });
        assert.equal(judged.verdict, verdict, JSON.stringify(judged));
      });
});

/** Programs that print \`clean\` if nothing of an earlier run is left, and then leave something. */
const LEFTOVERS: Readonly<Record<string, { readonly language: string; readonly code: string }>> = {
  "a replaced program": {
    language: "c",
    code: `#include <stdio.h>
#include <unistd.h>
int main(int count, char **words) {
  puts(access("left", F_OK) ? "clean" : "left");
  fclose(fopen("left", "w"));
  remove("main");
  FILE *f = fopen("main", "w");
  fputs("#!/usr/bin/false", f);
  fclose(f);
}`,
  },
  "files in every directory": python(`import os
places = ["/box/left", "/tmp/left", "/dev/shm/left"]
print("left" if any(map(os.path.exists, places)) else "clean")
for place in places: open(place, "w").write("x")`),
  processes: python(`import os, time
names = [open(f"/proc/{pid}/cmdline").read() for pid in os.listdir("/proc") if pid.isdigit()]
print("left" if any("left" in name for name in names) else "clean", flush=True)
if os.fork() == 0:
    os.setsid()
    os.execv("/usr/bin/python3", ["left", "-c", "import time; time.sleep(60)"])`),
  "a module that Python would import": python(`import os
try:
    import left
    print("left")
except ImportError:
    print("clean")
open("left.py", "w").write("")
os.makedirs("__pycache__", exist_ok=True)`),
  "System V memory": {
    language: "c",
    code: `#include <stdio.h>
#include <sys/shm.h>
int main() {
  puts(shmget(4711, 64, 0) < 0 ? "clean" : "left");
  shmget(4711, 64, IPC_CREAT | 0600);
}`,
  },
};

describe("a run leaves nothing for the next one", { concurrency: 2 }, () => {
  for (const [name, program] of Object.entries(LEFTOVERS))
    test(name, LIMIT, async () => {
      const tests = Array(6).fill({ expected: "clean" });
      const judged = await judge(product(), { ...program, tests, stop: "never" });
      assert.deepEqual(verdicts(judged), Array(6).fill("AC"), JSON.stringify(judged));
    });
});

const kattis = (code: string, more: object = {}) => ({ ...KATTIS, code, ...more });
const testlib = (code: string) => ({ ...KATTIS, interface: "testlib", code });
const FEEDBACK = "import os, sys\ndirectory = sys.argv[3]\n";

/** A checker whose compilation leaves files. */
const leaving = (compile: string) => ({
  ...kattis("#!/bin/sh\nexit 42\n", { language: "multifile" }),
  files: { "compile.sh": `#!/bin/sh\n${compile}\n` },
});
const TAKEN = /^the checker has a file (judge|feedback)(\/[a-z.]+)?, where the files of the test are put$/;

/** Checkers, with the verdict of a program that is right, its points of 4, and its message. */
const CHECKERS: Readonly<
  Record<string, readonly [checker: object, verdict: string, points: number, message: RegExp | null]>
> = {
  accepts: [kattis("raise SystemExit(42)"), "AC", 4, null],
  rejects: [kattis("raise SystemExit(43)"), "WA", 0, null],
  "exits with 0": [kattis("pass"), "IE", 0, /^the checker ended as AC with exit code 0$/],
  "exits with 1": [kattis("raise ValueError('no')"), "IE", 0, /exit code 1: .*ValueError: no/s],
  "ends by a signal": [kattis("import os; os.abort()"), "IE", 0, /^the checker ended as SIG with signal 6/],
  "never ends": [kattis("while True: pass"), "IE", 0, /^the checker ended as TLE/],
  "eats memory": [kattis("x = bytearray(2 ** 40)"), "IE", 0, /^the checker ended as (RE|MLE)/],
  "starts processes without end": [
    kattis("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"),
    "IE",
    0,
    /^the checker ended as (PLE|TLE)/,
  ],
  "does not compile": [{ ...KATTIS, language: "c", code: "int main(" }, "IE", 0, /^the checker does not compile: /],
  "has a file of the test after its compilation": [leaving("mkdir judge && touch judge/input"), "IE", 0, TAKEN],
  "has a file in place of a directory": [leaving("touch judge"), "IE", 0, TAKEN],
  "has feedback before it has run": [leaving("mkdir feedback && touch feedback/score.txt"), "IE", 0, TAKEN],
  "gives points": [
    kattis(`${FEEDBACK}open(directory + '/score.txt', 'w').write('1.5')\nsys.exit(42)`),
    "AC",
    1.5,
    null,
  ],
  "gives a share": [
    kattis(`${FEEDBACK}open(directory + '/score_multiplier.txt', 'w').write('0.25')\nsys.exit(42)`),
    "AC",
    1,
    null,
  ],
  "gives too many points": [
    kattis(`${FEEDBACK}open(directory + '/score.txt', 'w').write('4.5')\nsys.exit(42)`),
    "IE",
    0,
    /exit code 42/,
  ],
  "gives negative points": [
    kattis(`${FEEDBACK}open(directory + '/score.txt', 'w').write('-1')\nsys.exit(42)`),
    "IE",
    0,
    /exit code 42/,
  ],
  "gives points that are no number": [
    kattis(`${FEEDBACK}open(directory + '/score.txt', 'w').write('1e999 nan')\nsys.exit(42)`),
    "IE",
    0,
    /exit code 42/,
  ],
  "gives points to a wrong program": [
    kattis(`${FEEDBACK}open(directory + '/score.txt', 'w').write('4')\nsys.exit(43)`),
    "WA",
    0,
    null,
  ],
  "has a message": [
    kattis(`${FEEDBACK}open(directory + '/judgemessage.txt', 'a').write('line 3\\n')\nsys.exit(43)`),
    "WA",
    0,
    /^line 3$/,
  ],
  "has a long message of any bytes": [
    kattis(`${FEEDBACK}open(directory + '/judgemessage.txt', 'wb').write(b'\\0\\xff<b>' * 10000)\nsys.exit(43)`),
    "WA",
    0,
    /^.{501}$/su,
  ],
  "has a message of 35 MB": [
    kattis(`${FEEDBACK}open(directory + '/judgemessage.txt', 'wb').write(b'line 3\\n' * 5000000)\nsys.exit(43)`),
    "WA",
    0,
    /^line 3\nline 3/,
  ],
  "fills the feedback directory": [
    kattis(`${FEEDBACK}for n in range(100): open(directory + f'/{n}', 'wb').write(b'x' * 100000)\nsys.exit(42)`),
    "IE",
    0,
    /^the feedback directory/,
  ],
  "removes the feedback directory": [
    kattis(`${FEEDBACK}import shutil; shutil.rmtree(directory); sys.exit(42)`),
    "IE",
    0,
    /^the feedback directory/,
  ],
  "replaces the feedback directory by a link": [
    kattis(
      `${FEEDBACK}import shutil; shutil.rmtree(directory); os.symlink('/etc', directory.rstrip('/')); sys.exit(42)`,
    ),
    "IE",
    0,
    /^the feedback directory/,
  ],
  "empties the feedback directory": [
    kattis(`${FEEDBACK}for name in os.listdir(directory): os.unlink(directory + '/' + name)\nsys.exit(42)`),
    "IE",
    0,
    /^the feedback directory .* is empty/,
  ],
  "leaves a hidden file": [
    kattis(`${FEEDBACK}open(directory + '/.log', 'w').write('x'); sys.exit(42)`),
    "IE",
    0,
    /^the feedback directory .* a name that begins with a dot/,
  ],
  "has a file of its own in place of the service's": [
    kattis(`${FEEDBACK}os.rename(directory + '/placeholder', directory + '/log'); sys.exit(42)`),
    "AC",
    4,
    null,
  ],
  "makes a pipe in the feedback directory": [
    kattis(`${FEEDBACK}os.mkfifo(directory + '/score.txt'); sys.exit(42)`),
    "IE",
    0,
    /^the feedback directory/,
  ],
  "leaves a process": [
    kattis("import os, time\nif os.fork() == 0: time.sleep(60)\nos._exit(42)"),
    "IE",
    0,
    /^the feedback directory .* a process that it started still ran/,
  ],
  ...Object.fromEntries(
    ["1e999", "nan", "-0", "inf", "1 2", "0x1", "1e", "."].map((text) => [
      `gives the score ${text}`,
      [
        kattis(`${FEEDBACK}open(directory + 'score.txt', 'w').write('${text}')\nsys.exit(42)`),
        "IE",
        0,
        /exit code 42, but its score is not between 0 and 4$/,
      ] as const,
    ]),
  ),
  "gives a third as programs print it": [
    kattis(`${FEEDBACK}open(directory + 'score.txt', 'w').write(f'{1 / 3}\\n')\nsys.exit(42)`),
    "AC",
    0.333333,
    null,
  ],
  "gives a score with an exponent": [
    kattis(`${FEEDBACK}open(directory + 'score.txt', 'w').write('2.5e-1')\nsys.exit(42)`),
    "AC",
    0.25,
    null,
  ],
  "gives a score of 10 MB": [
    kattis(`${FEEDBACK}open(directory + 'score.txt', 'w').write('1' * 10_000_000)\nsys.exit(42)`),
    "IE",
    0,
    /^the feedback directory/,
  ],
  "gives points and a share": [
    kattis(
      `${FEEDBACK}for name in ('score', 'score_multiplier'): open(f'{directory}{name}.txt', 'w').write('1')\nsys.exit(42)`,
    ),
    "IE",
    0,
    /^the checker has both/,
  ],
  "gives an empty score": [
    kattis(`${FEEDBACK}open(directory + 'score.txt', 'w')\nsys.exit(42)`),
    "IE",
    0,
    /exit code 42/,
  ],
  "has as many classes as fit, but not with the test": [
    {
      ...KATTIS,
      language: "java",
      code: `${Array.from({ length: 61 }, (_, at) => `class C${at} {}`).join("\n")}
class Main { public static void main(String[] words) { System.exit(42); } }`,
    },
    "IE",
    0,
    /too many or too large/,
  ],
  "is a public class with a name of its own": [
    {
      ...KATTIS,
      language: "java",
      code: "package judges;\npublic class Check { public static void main(String[] words) { System.exit(42); } }",
    },
    "AC",
    4,
    null,
  ],
  "prints without end": [kattis("while True: print('x' * 65536)"), "IE", 0, /^the checker ended as TLE/],
  "does not read the output": [kattis("import os; os.close(0); raise SystemExit(42)"), "AC", 4, null],
  "looks for other boxes": [
    kattis("import os\nraise SystemExit(42 if len([p for p in os.listdir('/proc') if p.isdigit()]) <= 2 else 1)"),
    "AC",
    4,
    null,
  ],
  "testlib: accepts": [testlib("import sys; print('ok', file=sys.stderr)"), "AC", 4, /^ok$/],
  "testlib: exits with 0 without its text": [testlib("pass"), "IE", 0, /exit code 0, without the text of testlib/],
  "testlib: has the files in its order": [
    testlib(`import sys
texts = [open(name).read() for name in sys.argv[1:4]]
print("ok", texts, file=sys.stderr)
sys.exit(0 if texts == ["in", "out\\n", "answer"] else 3)`),
    "AC",
    4,
    /^ok /,
  ],
  "testlib: rejects": [testlib("import sys; sys.exit('wrong answer 1st words differ')"), "WA", 0, /^wrong answer/],
  "testlib: fails": [testlib("raise SystemExit(3)"), "IE", 0, /exit code 3/],
  "testlib: gives points": [
    testlib("import sys; print('points 2 good', file=sys.stderr); sys.exit(7)"),
    "AC",
    2,
    /good/,
  ],
  "testlib: gives no points": [testlib("raise SystemExit(7)"), "IE", 0, /exit code 7/],
  "testlib: gives a share": [
    testlib("import sys; print('partially correct (50) a quarter', file=sys.stderr); sys.exit(50)"),
    "AC",
    1,
    /a quarter/,
  ],
  "testlib: gives a share, compiled with TESTSYS": [
    testlib("import sys; print('partially correct (50) a quarter', file=sys.stderr); sys.exit(100)"),
    "AC",
    1,
    /a quarter/,
  ],
  "testlib: gives a share of nothing": [
    testlib("import sys; print('partially correct (0) nothing', file=sys.stderr)"),
    "WA",
    0,
    /nothing/,
  ],
  "testlib: gives a share without its text": [testlib("raise SystemExit(100)"), "IE", 0, /exit code 100, without/],
  "in C++": [
    {
      ...KATTIS,
      language: "cpp",
      code: `#include <fstream>
#include <iostream>
int main(int count, char **words) {
  std::string answer, output;
  std::ifstream(words[2]) >> answer;
  std::cin >> output;
  std::ofstream(std::string(words[3]) + "/judgemessage.txt") << words[4] << output << answer;
  return 42;
}`,
      args: ["argument "],
    },
    "AC",
    4,
    /^argument outanswer$/,
  ],
};

describe("a checker that fails is not to blame on the program", { concurrency: 2 }, () => {
  for (const [name, [checker, verdict, points, message]] of Object.entries(CHECKERS))
    test(name, LIMIT, async () => {
      const tests = [{ stdin: "in", expected: "answer", points: 4 }];
      const judged = await judge(product(), {
        ...python("print('out')"),
        tests: [...tests, ...tests],
        checker,
        stop: "never",
      });
      const [run] = judged.runs;
      assert.deepEqual([judged.verdict, run?.verdict, run?.points], [verdict, verdict, points], JSON.stringify(judged));
      if (message) assert.match(run?.message ?? "", message);
      else assert.equal(run?.message, null);
    });
});
