/** The files of a problem package: path → text. This file has a package of each supported shape. */
export type PackageTexts = Readonly<Record<string, string>>;

const SUM_INPUT_VALIDATOR = `import re, sys
sys.exit(42 if re.fullmatch(r"-?\\d+ -?\\d+\\n", sys.stdin.read()) else 1)
`;

/** The older format with its default validator. */
const sum: PackageTexts = {
  "problem.yaml": "name: Sum of two\nlicense: public domain\n",
  "data/sample/1.in": "1 2\n",
  "data/sample/1.ans": "3\n",
  "data/secret/1-small.in": "-4 4\n",
  "data/secret/1-small.ans": "0\n",
  "data/secret/2-large.in": "2000000000 2000000000\n",
  "data/secret/2-large.ans": "4000000000\n",
  "input_validators/validate.py": SUM_INPUT_VALIDATOR,
  "submissions/accepted/sum.py": "print(sum(map(int, input().split())))\n",
  "submissions/accepted/sum.cpp":
    "#include <iostream>\nint main() { long long a, b; std::cin >> a >> b; std::cout << a + b; }\n",
  "submissions/accepted/Sum.java": `import java.util.*;
public class Sum { public static void main(String[] a) { var s = new Scanner(System.in); System.out.println(s.nextLong() + s.nextLong()); } }
`,
  "submissions/accepted/two/main.c":
    '#include <stdio.h>\n#include "add.h"\nint main() { long long a, b; scanf("%lld %lld", &a, &b); printf("%lld\\n", add(a, b)); }\n',
  "submissions/accepted/two/add.h": "long long add(long long a, long long b);\n",
  "submissions/accepted/two/add.c": '#include "add.h"\nlong long add(long long a, long long b) { return a + b; }\n',
  "submissions/accepted/sum.cob": "a language that is not installed",
  "submissions/wrong_answer/overflow.c":
    '#include <stdio.h>\nint main() { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); }\n',
  "submissions/time_limit_exceeded/waits.py": "while True: pass\n",
  "submissions/run_time_error/fails.py": "raise SystemExit(1)\n",
};

/** The older format with tolerances and a score for each group. */
const root: PackageTexts = {
  "problem.yaml":
    "name: {en: Square root}\ntype: scoring\nvalidator_flags: float_tolerance 1e-4\ngrading: {objective: max}\n",
  "data/sample/testdata.yaml": "accept_score: 0\n",
  "data/sample/1.in": "4\n",
  "data/sample/1.ans": "2\n",
  "data/secret/testdata.yaml": "on_reject: continue\ngrader_flags: accept_if_any_accepted\n",
  "data/secret/1-exact/testdata.yaml": "accept_score: 40\ngrader_flags: min\n",
  "data/secret/1-exact/1.in": "16\n",
  "data/secret/1-exact/1.ans": "4\n",
  "data/secret/1-exact/2.in": "25\n",
  "data/secret/1-exact/2.ans": "5\n",
  "data/secret/2-others/testdata.yaml": "accept_score: 60\ngrader_flags: min\n",
  "data/secret/2-others/1.in": "2\n",
  "data/secret/2-others/1.ans": "1.41421356\n",
  "submissions/accepted/root.py": "print(f'{float(input()) ** 0.5:.6f}')\n",
  "submissions/partially_accepted/integers.py": "import math; print(math.isqrt(int(input())))\n",
  "submissions/wrong_answer/none.py": "print('none')\n",
};

const VALIDATOR_CPP = `#include <cstdlib>
#include <fstream>
#include <iostream>
#include "feedback.h"
// Accepts two factors of the number of the input; with the argument "parts" half of the points if one of them is 1.
int main(int count, char **words) {
  long long number, a, b;
  std::ifstream(words[1]) >> number;
  if (!(std::cin >> a >> b) || a * b != number) reject(words[3], "not its factors");
  bool parts = count > 4 && std::string(words[4]) == "parts";
  if (parts && (a == 1 || b == 1)) std::ofstream(std::string(words[3]) + "score_multiplier.txt") << "0.5";
  std::exit(42);
}
`;

/** The newer format with groups that depend on others and a validator in C++, of two files. */
const factors: PackageTexts = {
  "problem.yaml":
    "problem_format_version: 2025-09\nname: Factors\ntype: scoring\nuuid: 8ee7605a-d1ce-47b3-be37-15de5acd757e\nlimits:\n  time_limit: 2\n  memory: 128\n",
  "output_validator/validate.cpp": VALIDATOR_CPP,
  "output_validator/feedback.h": `#include <cstdlib>
#include <fstream>
#include <string>
inline void reject(std::string directory, std::string message) {
  std::ofstream(directory + "judgemessage.txt") << message;
  std::exit(43);
}
`,
  "data/sample/1.in": "6\n",
  "data/sample/1.ans": "",
  "data/secret/test_group.yaml": "max_score: 100\n",
  "data/secret/1-small/test_group.yaml": "max_score: 30\n",
  "data/secret/1-small/1.in": "15\n",
  "data/secret/1-small/1.ans": "",
  "data/secret/2-sum/test_group.yaml":
    "max_score: 30\nscore_aggregation: sum\nrequire_pass: secret/1-small\noutput_validator_args: [parts]\n",
  "data/secret/2-sum/1.in": "77\n",
  "data/secret/2-sum/1.ans": "",
  "data/secret/2-sum/2.in": "143\n",
  "data/secret/2-sum/2.ans": "",
  "data/secret/3-large/test_group.yaml":
    "max_score: 40\nscore_aggregation: min\nrequire_pass: [sample, secret/1-small]\noutput_validator_args: [parts]\n",
  "data/secret/3-large/1.in": "1000000016000000063\n",
  "data/secret/3-large/1.ans": "",
  "submissions/accepted/search.cpp": `#include <iostream>
int main() { long long n; std::cin >> n; long long d = n > 1e15 ? 1000000007 : 2; while (d * d <= n && n % d) d++; if (d * d > n) d = 1; std::cout << d << " " << n / d; }
`,
  "submissions/half/one.py": "print(1, input())\n",
  "submissions/wrong_answer/zero.py": "print(0, 0)\n",
  "submissions/submissions.yaml": `accepted:
  score: 100
half/{one,two}.py:
  permitted: [AC]
  score: [64.9, 65.1]
wrong_answer/*.py:
  message: not its factors
  secret/1-small:
    permitted: [WA]
`,
};

/** The newer format with a validator in Python, arguments, and outputs for the validator. */
const words: PackageTexts = {
  "problem.yaml": "problem_format_version: 2025-09\nname: {en: Words, de: Wörter}\n",
  "output_validator/validate.py": `import sys
wanted = open(sys.argv[2]).read().split()
got = sys.stdin.read().split()
if "any-order" in sys.argv[4:]: wanted, got = sorted(wanted), sorted(got)
sys.exit(42 if wanted == got else 43)
`,
  "input_validators/words/__init__.py": "",
  "input_validators/words/__main__.py": `import sys
longest = int(sys.argv[1]) if len(sys.argv) > 1 else 5
sys.exit(42 if all(len(word) <= longest for word in sys.stdin.read().split()) else 43)
`,
  "data/secret/test_group.yaml": "input_validator_args: ['9']\n",
  "data/secret/1.in": "b a\n",
  "data/secret/1.ans": "a b\n",
  "data/secret/1.yaml": "output_validator_args: [any-order]\nargs: [as-is]\n",
  "data/secret/2.in": "sorted b\n",
  "data/secret/2.ans": "b sorted\n",
  "data/invalid_input/long.in": "extraordinary\n",
  "data/invalid_output/1.in": "b a\n",
  "data/invalid_output/1.ans": "a b\n",
  "data/invalid_output/1.out": "a\n",
  "data/valid_output/1.in": "b a\n",
  "data/valid_output/1.ans": "a b\n",
  "data/valid_output/1.out": "a   b",
  "data/valid_output/any.in": "comprehensible a\n",
  "data/valid_output/any.ans": "a comprehensible\n",
  "data/valid_output/any.out": "comprehensible a\n",
  "data/valid_output/any.yaml": "input_validator_args: ['14']\noutput_validator_args: [any-order]\n",
  "submissions/accepted/sort.js": `const words = require("fs").readFileSync(0, "utf8").trim().split(" ");
console.log((process.argv[2] === "as-is" ? words : words.sort()).join("\\n"));
`,
};

/** The newer format with points for each test, a condition for all of them, and a program whose ending does not tell its language. */
const thirds: PackageTexts = {
  "problem.yaml": "problem_format_version: 2025-09\nname: Thirds\ntype: scoring\nlimits:\n  code: 1\n  output: 1\n",
  "data/sample/1.in": "1\n",
  "data/sample/1.ans": "2\n",
  "data/secret/test_group.yaml": "require_pass: sample\n",
  "data/secret/1.in": "2\n",
  "data/secret/1.ans": "4\n",
  "data/secret/2.in": "3\n",
  "data/secret/2.ans": "6\n",
  "data/secret/3.in": "4\n",
  "data/secret/3.ans": "8\n",
  "submissions/accepted/double.txt": "print(int(input()) * 2)\n",
  "submissions/partly/square.py": "n = int(input()); print(n * n if n > 1 else 2)\n",
  "submissions/partly/late.py": "n = int(input()); print(n * 2 if n > 1 else 0)\n",
  "submissions/partly/old.py": "in a language that is not installed",
  "submissions/submissions.yaml": `accepted:
  score: 100
accepted/double.txt:
  language: python3
partly/square.py:
  score: [33.33, 33.34]
  secret: {score: 33.333333}
partly/late.py:
  score: 0
  sample: {required: [WA]}
  secret: {permitted: [WA]}
partly/old.py:
  language: pascal
`,
};

/** The newer format with an interactor in C++. */
const guess: PackageTexts = {
  "problem.yaml": "problem_format_version: 2025-09\nname: Guess\ntype: [interactive, pass-fail]\n",
  "output_validator/interact.cpp": `#include <cstdlib>
#include <fstream>
#include <iostream>
int main(int count, char **words) {
  int secret, number;
  std::ifstream(words[1]) >> secret;
  for (int left = std::atoi(words[4]); left > 0 && std::cin >> number; left--) {
    std::cout << (number == secret ? "right" : number < secret ? "more" : "less") << std::endl;
    if (number == secret) return 42;
  }
  std::ofstream(std::string(words[3]) + "judgemessage.txt") << "not found";
  return 43;
}
`,
  "data/secret/test_group.yaml": "output_validator_args: ['10']\n",
  "data/secret/1.in": "1\n",
  "data/secret/1.ans": "",
  "data/secret/2.in": "777\n",
  "data/secret/2.ans": "",
  "submissions/accepted/search.cpp": `#include <iostream>
int main() { int low = 0, high = 1000; std::string word; while (word != "right") { int middle = (low + high) / 2; std::cout << middle << std::endl;
  if (!(std::cin >> word)) return 1; if (word == "more") low = middle + 1; else high = middle - 1; } }
`,
  "submissions/accepted/search.py": `low, high, word = 0, 1000, ""
while word != "right":
    middle = (low + high) // 2
    print(middle, flush=True)
    word = input()
    if word == "more": low = middle + 1
    else: high = middle - 1
`,
  "submissions/wrong_answer/one.py": "print(1, flush=True); input()\n",
  "submissions/run_time_error/fails.py":
    "print(1, flush=True)\nif input() != 'right': print(777, flush=True); input(); raise SystemExit(3)\n",
  "submissions/time_limit_exceeded/waits.py": "print(1, flush=True)\nif input() != 'right':\n    while True: pass\n",
  "submissions/submissions.yaml": "wrong_answer: {message: not found}\n",
};

/** The newer format with two passes and a validator in Python: what the first pass writes is the input of the second one. */
const relay: PackageTexts = {
  "problem.yaml": "problem_format_version: 2025-09\nname: Relay\ntype: multi-pass\n",
  "output_validator/validate.py": `import os, sys
feedback, written = sys.argv[3], sys.stdin.read().strip()
if os.path.exists(feedback + "number"):
    sys.exit(42 if written == open(feedback + "number").read() else 43)
if not set(written) <= {"a", "b"}: sys.exit(43)
open(feedback + "number", "w").write(open(sys.argv[1]).read().split()[1])
open(feedback + "nextpass.in", "w").write("decode " + written)
sys.exit(42)
`,
  "data/secret/1.in": "encode 5\n",
  "data/secret/1.ans": "",
  "data/secret/2.in": "encode 0\n",
  "data/secret/2.ans": "",
  "submissions/accepted/relay.py": `task, word = input().split()
if task == "encode": print(f"{int(word):b}".translate({48: "a", 49: "b"}))
else: print(int(word.translate({97: "0", 98: "1"}), 2))
`,
  "submissions/wrong_answer/forgets.py": "task, word = input().split(); print('a' if task == 'encode' else 0)\n",
  "submissions/run_time_error/fails.py": "task, word = input().split(); print('a'); assert task == 'encode'\n",
};

/** The older format with an interactor in Python and two passes. */
const echo: PackageTexts = {
  "problem.yaml": "name: Echo\nvalidation: custom interactive multi-pass\nlimits:\n  validation_passes: 2\n",
  "output_validators/interact.py": `import os, sys
first = sys.argv[3] + "first"
number = int(open(sys.argv[1]).read())
print(number, flush=True)
if sys.stdin.readline().strip() != str(number): sys.exit(43)
if not os.path.exists(first):
    open(first, "w").write("x")
    open(sys.argv[3] + "nextpass.in", "w").write(str(number + 1))
sys.exit(42)
`,
  "data/secret/1.in": "4\n",
  "data/secret/1.ans": "",
  "submissions/accepted/echo.py": "print(input(), flush=True)\n",
  "submissions/wrong_answer/even.py": "print(int(input()) // 2 * 2, flush=True)\n",
};

const WITHIN = `import sys
guess, number = float(sys.stdin.read()), float(open(sys.argv[2]).read())
`;

/** The older format with a validator that writes scores, of which the smallest one counts, and groups that end at a failure. */
const near: PackageTexts = {
  "problem.yaml": "name: Near\ntype: scoring\nvalidation: custom score\n",
  "output_validators/near.py": `${WITHIN}if abs(guess - number) > 10: sys.exit(43)
open(sys.argv[3] + "score.txt", "w").write(str(3 * (10 - abs(guess - number))))
sys.exit(42)
`,
  "data/sample/testdata.yaml": "accept_score: 0\nrange: 0 0\n",
  "data/sample/1.in": "1\n",
  "data/sample/1.ans": "1\n",
  "data/secret/testdata.yaml": "on_reject: continue\ngrader_flags: accept_if_any_accepted\n",
  "data/secret/1-min/testdata.yaml": "on_reject: break\ngrader_flags: min\nrange: 0 30\n",
  "data/secret/1-min/1.in": "20\n",
  "data/secret/1-min/1.ans": "20\n",
  "data/secret/1-min/2.in": "30\n",
  "data/secret/1-min/2.ans": "30\n",
  "data/secret/2-sum/testdata.yaml": "on_reject: break\nrange: 0 90\n",
  "data/secret/2-sum/1.in": "40\n",
  "data/secret/2-sum/1.ans": "40\n",
  "data/secret/2-sum/2.in": "60\n",
  "data/secret/2-sum/2.ans": "60\n",
  "data/secret/2-sum/3.in": "40 1\n",
  "data/secret/2-sum/3.ans": "41\n",
  "submissions/accepted/same.py": "print(sum(map(int, input().split())))\n",
  "submissions/partially_accepted/near.py": "n = sum(map(int, input().split())); print(n + (5 if n == 30 else 0))\n",
  "submissions/partially_accepted/second.py": "n = sum(map(int, input().split())); print(0 if n == 60 else n)\n",
};

/** The newer format with a score for each test, of which the smallest one counts. */
const least: PackageTexts = {
  "problem.yaml": "problem_format_version: 2025-09\nname: Least\ntype: scoring\n",
  "output_validator/near.py": `${WITHIN}if abs(guess - number) > 10: sys.exit(43)
open(sys.argv[3] + "score.txt", "w").write(repr(10 - abs(guess - number)))
sys.exit(42)
`,
  "data/secret/test_group.yaml": "max_score: 15\n",
  "data/secret/1/test_group.yaml": "max_score: 10\nscore_aggregation: min\n",
  "data/secret/1/1.in": "20\n",
  "data/secret/1/1.ans": "20\n",
  "data/secret/1/2.in": "30\n",
  "data/secret/1/2.ans": "30\n",
  "data/secret/1/3.in": "32\n",
  "data/secret/1/3.ans": "32\n",
  "data/secret/2/test_group.yaml": "max_score: 5\nscore_aggregation: min\n",
  "data/secret/2/1.in": "7\n",
  "data/secret/2/1.ans": "12\n",
  "submissions/accepted/same.py": "print(input())\n",
  "submissions/near/third.py": "n = int(input()); print(n + (20 / 3 if n == 30 else 0))\n",
  "submissions/submissions.yaml": `accepted: {score: 15}
near/third.py:
  permitted: [AC]
  score: [8.333332, 8.333334]
  secret/1: {score: [3.333333, 3.333334]}
  secret/2: {score: 5}
`,
};

/** The older format with groups within groups, whose points are summed, averaged and compared. */
const nested: PackageTexts = {
  "problem.yaml": "name: Nested\ntype: scoring\n",
  "data/testdata.yaml": "on_reject: continue\n",
  "data/sample/1.in": "1\n",
  "data/sample/1.ans": "2\n",
  "data/secret/testdata.yaml": "grader_flags: sum accept_if_any_accepted\n",
  "data/secret/1-one.in": "2\n",
  "data/secret/1-one.ans": "3\n",
  "data/secret/2-steps/testdata.yaml": "grader_flags: avg accept_if_any_accepted\n",
  "data/secret/2-steps/a/testdata.yaml": "accept_score: 10\n",
  "data/secret/2-steps/a/1.in": "3\n",
  "data/secret/2-steps/a/1.ans": "4\n",
  "data/secret/2-steps/b/testdata.yaml": "accept_score: 30\ngrader_flags: min\non_reject: break\n",
  "data/secret/2-steps/b/1.in": "-4\n",
  "data/secret/2-steps/b/1.ans": "-3\n",
  "data/secret/2-steps/b/2.in": "5\n",
  "data/secret/2-steps/b/2.ans": "6\n",
  "submissions/accepted/increment.py": "print(int(input()) + 1)\n",
  "submissions/partially_accepted/positive.py": "print(abs(int(input())) + 1)\n",
  "submissions/wrong_answer/none.py": "print('none')\n",
};

/** A grader that takes the best of the scores, times its argument. Its package is `nested` with this grader for secret. */
export const GRADED: PackageTexts = {
  ...nested,
  "graders/best/best.py": `import sys
rows = [line.split() for line in sys.stdin]
verdict = "AC" if any(verdict == "AC" for verdict, _ in rows) else "WA"
print(verdict, float(sys.argv[1]) * max(float(score) for _, score in rows))
`,
  "data/secret/testdata.yaml": "grading: custom\ngrader_flags: '2'\nrange: 0 40\n",
  "data/secret/2-steps/testdata.yaml": "grading: default\ngrader_flags: avg accept_if_any_accepted\n",
};

/** The older format with validators that scripts of their own build and run. */
const scripted: PackageTexts = {
  "problem.yaml": "name: Scripts\nvalidation: custom\n",
  "output_validators/check/build": `#!/bin/sh
set -e
cc check.c -o check
printf '#!/bin/sh\\nexec "\${0%%/*}/check" "$@"\\n' > run
chmod +x run
`,
  "output_validators/check/check.c": `#include <stdio.h>
int main(int count, char **words) {
  int wanted = 0, got = -1;
  FILE *answer = fopen(words[2], "r");
  return answer && fscanf(answer, "%d", &wanted) == 1 && scanf("%d", &got) == 1 && wanted == got ? 42 : 43;
}
`,
  "input_validators/number/run": `#!/usr/bin/env python3
import sys
sys.exit(42 if sys.stdin.read().strip().isdigit() else 43)
`,
  "data/secret/1.in": "7\n",
  "data/secret/1.ans": "14\n",
  "data/invalid_input/1.in": "seven\n",
  "submissions/accepted/double.py": "print(int(input()) * 2)\n",
  "submissions/accepted/scripts/build": "#!/bin/sh\necho 'print(int(input()) * 2)' > double.py\n",
  "submissions/accepted/scripts/run": "#!/bin/sh\nexec python3 double.py\n",
  "submissions/wrong_answer/same.py": "print(input())\n",
  "submissions/run_time_error/broken/run": "#!/bin/sh\nexit 3\n",
};

/** The older format with two validators, in different languages: the output must be a number of three digits, and that of the answer. */
const both: PackageTexts = {
  "problem.yaml": "name: Both\nvalidation: custom\nvalidator_flags: '3'\n",
  "output_validators/digits.cpp": `#include <cstdlib>
#include <iostream>
#include <string>
int main(int count, char **words) {
  std::string word;
  std::cin >> word;
  return count == 5 && word.size() == std::stoul(words[4]) ? 42 : 43;
}
`,
  "output_validators/it's equal/check.py": `import sys
from equal import equal
sys.exit(42 if equal(open(sys.argv[2]).read(), sys.stdin.read()) else 43)
`,
  "output_validators/it's equal/equal.py": "def equal(a, b): return a.split() == b.split()\n",
  "data/secret/1.in": "123\n",
  "data/secret/1.ans": "123\n",
  "data/secret/2.in": "1234\n",
  "data/secret/2.ans": "123\n",
  "submissions/accepted/first.py": "print(input()[:3])\n",
  "submissions/wrong_answer/all.py": "print(input())\n",
  "submissions/wrong_answer/last.py": "print(input()[-3:])\n",
};

/** The newer format with files of tests, one of which replaces a file of a submission, and an input validator that reads them. */
const filed: PackageTexts = {
  "problem.yaml": "problem_format_version: 2025-09\nname: Files\n",
  "input_validators/read.py": `import sys
sys.exit(42 if open(sys.stdin.read().strip()).read().strip().isdigit() else 43)
`,
  "data/secret/1.in": "number.txt\n",
  "data/secret/1.ans": "7\n",
  "data/secret/1.files/number.txt": "7\n",
  "data/secret/1.files/more/1.in": "none\n",
  "data/secret/1.files/more/test_group.yaml": "none\n",
  "data/secret/2.in": "more/deep.txt\n",
  "data/secret/2.ans": "8\n",
  "data/secret/2.files/more/deep.txt": "8\n",
  "data/secret/2.files/number.txt": "9\n",
  "data/invalid_input/1.in": "number.txt\n",
  "data/invalid_input/1.files/number.txt": "x\n",
  "submissions/accepted/open.py": "print(open(input()).read())\n",
  "submissions/accepted/open.cpp": `#include <fstream>
#include <iostream>
int main() { std::string name, word; std::cin >> name; std::ifstream(name) >> word; std::cout << word; }
`,
  "submissions/accepted/own/main.py": "print(open(input()).read())\n",
  "submissions/accepted/own/number.txt": "6\n",
  "submissions/wrong_answer/first.py": "print(open('number.txt').read())\n",
  "submissions/run_time_error/above.py": "print(open('../' + input()).read())\n",
};

/** The newer format with submissions that consist of answers, or of a program that makes them. */
const answered: PackageTexts = {
  "problem.yaml": "problem_format_version: 2025-09\nname: Answers\ntype: [scoring, submit-answer]\n",
  "output_validator/near.py": `${WITHIN}if abs(guess - number) > 10: sys.exit(43)
open(sys.argv[3] + "score_multiplier.txt", "w").write(str(1 - abs(guess - number) / 10))
sys.exit(42)
`,
  "data/secret/test_group.yaml": "max_score: 100\n",
  "data/secret/1.in": "a\n",
  "data/secret/1.ans": "40\n",
  "data/secret/2 b.in": "b\n",
  "data/secret/2 b.ans": "50\n",
  "submissions/accepted/all/secret/1.out": "40\n",
  "submissions/accepted/all/secret/2 b.out": "50\n",
  "submissions/accepted/makes.py": "print(40 if input() == 'a' else 50)\n",
  "submissions/partly/near/secret/1.out": "45\n",
  "submissions/partly/near/secret/2 b.out": "50\n",
  "submissions/partly/near/notes.txt": "for people\n",
  "submissions/wrong_answer/one/secret/1.out": "40\n",
  "submissions/submissions.yaml": `accepted: {score: 100}
partly/near: {permitted: [AC], score: 75}
wrong_answer: {message: the submission has no file secret/2 b.out, score: 50}
`,
};

export const PACKAGES = {
  answered,
  both,
  filed,
  sum,
  root,
  factors,
  words,
  thirds,
  guess,
  relay,
  echo,
  near,
  least,
  nested,
  scripted,
} as const;

export function toFiles(texts: PackageTexts): Map<string, Buffer> {
  return new Map(Object.entries(texts).map(([path, text]) => [path, Buffer.from(text)]));
}

/** The format of DMOJ: pretests, batches that depend on others, and checkers for some tests. */
export const DMOJ: PackageTexts = {
  "init.yml": `test_cases:
- {in: 0.in, out: 0.out, points: 0}
- {in: 1.in, out: 1.out, points: 5}
- {in: 2.in, out: 2.out, points: 10, checker: identical, binary_data: true}
- points: 10
  batched:
  - {in: 0.in, out: 0.out}
  - {in: 1.in, out: 1.out}
  - {in: 0.in, out: 0.out}
- points: 20
  batched:
  - {in: 1.in, out: 1.out}
  dependencies: [1]
  checker: {name: floats, args: {precision: 3, error_mode: absolute}}
`,
  "0.in": "0 0",
  "0.out": "0",
  "1.in": "1 2",
  "1.out": "3\r\n",
  "2.in": "1\r2",
  "2.out": "3",
};
