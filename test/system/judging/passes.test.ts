import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { useProduct } from "../../support/programs/product.ts";
import { judge } from "./judged.ts";

const LIMIT = { timeout: 60_000 };
const product = useProduct({ workers: 2 });

/** Sends a text to the program and back through it: pass 2 must decode what pass 1 has encoded. */
const TWO_PASSES = `import os, sys
given, answer, feedback = open(sys.argv[1]).read(), open(sys.argv[2]).read(), sys.argv[3]
got = sys.stdin.read()
log = open(feedback + "judgemessage.txt", "a")
first = not os.path.exists(feedback + "seen")
open(feedback + "seen", "a").write("x")
if first:
    log.write("encoded " + got.strip() + ";")
    open(feedback + "nextpass.in", "w").write("decode " + got)
    sys.exit(42)
log.write("decoded " + got.strip())
sys.exit(42 if got.strip() == answer.strip() else 43)
`;
const multi = (code: string, passes = 2) => ({
  type: "program",
  interface: "kattis",
  language: "python",
  passes,
  code,
});
const ENCODES = `verb, text = input().split()
print(text[::-1] if verb in ("encode", "decode") else "?")`;

describe("a multi-pass problem", { concurrency: 2 }, () => {
  const tests = [{ stdin: "encode abc\n", expected: "abc\n" }];
  const run = (code: string, checker: object) => judge(product(), { language: "python", code, tests, checker });

  test("passes when the last pass is right, and keeps the files of the checker", LIMIT, async () => {
    const judged = await run(ENCODES, multi(TWO_PASSES));
    assert.deepEqual([judged.verdict, judged.runs[0]?.message], ["AC", "encoded cba;decoded abc"]);
  });

  test("is wrong if the second pass is wrong", LIMIT, async () => {
    const judged = await run(
      "verb, text = input().split()\nprint(text[::-1] if verb == 'encode' else 'x')",
      multi(TWO_PASSES),
    );
    assert.deepEqual([judged.verdict, judged.runs[0]?.message], ["WA", "encoded cba;decoded x"]);
  });

  test("a program remembers nothing of the pass before", LIMIT, async () => {
    const code = `import os
places = ["/box/seen", "/tmp/seen", "/dev/shm/seen"]
verb, text = input().split()
if verb == "decode": print("abc" if any(map(os.path.exists, places)) else "nothing")
else:
    for place in places: open(place, "w").write(text)
    print("x")`;
    const judged = await run(code, multi(TWO_PASSES));
    assert.deepEqual([judged.verdict, judged.runs[0]?.message], ["WA", "encoded x;decoded nothing"]);
  });

  test("a program that fails in the second pass has its own verdict", LIMIT, async () => {
    const judged = await run(
      "verb, text = input().split()\nif verb == 'decode': raise SystemExit(3)\nprint(1)",
      multi(TWO_PASSES),
    );
    assert.equal(judged.verdict, "RE");
  });

  for (const [name, code, message] of [
    [
      "asks for pass after pass",
      "import sys\nopen(sys.argv[3] + 'nextpass.in', 'w').write('encode a')\nsys.exit(42)",
      /more passes/,
    ],
    [
      "rejects and asks for another",
      "import sys\nopen(sys.argv[3] + 'nextpass.in', 'w').write('encode a')\nsys.exit(43)",
      /another pass/,
    ],
  ] as const)
    test(`a checker that ${name} fails`, LIMIT, async () => {
      const judged = await run(ENCODES, multi(code, 3));
      assert.equal(judged.verdict, "IE");
      assert.match(judged.runs[0]?.message ?? "", message);
    });

  test("a checker that makes a directory of the placeholder gets it in the next pass", LIMIT, async () => {
    const code = `import os, sys
given, feedback = open(sys.argv[1]).read().split(), sys.argv[3]
if given[0] == "decode": sys.exit(42 if os.listdir(feedback + "placeholder") == ["left"] else 43)
os.remove(feedback + "placeholder")
os.mkdir(feedback + "placeholder")
open(feedback + "placeholder/left", "w").write("x")
open(feedback + "nextpass.in", "w").write("decode a")
sys.exit(42)`;
    const judged = await run(ENCODES, multi(code));
    assert.equal(judged.verdict, "AC", JSON.stringify(judged));
  });

  test("with an interactor", LIMIT, async () => {
    const code = `import os, sys
given, feedback = open(sys.argv[1]).read().split(), sys.argv[3]
print(*given, flush=True)
got = sys.stdin.readline().strip()
if given[0] == "decode": sys.exit(42 if got == "abc" else 43)
open(feedback + "nextpass.in", "w").write("decode " + got)
sys.exit(42)`;
    const judged = await run(ENCODES, { ...multi(code), interactive: true });
    assert.equal(judged.verdict, "AC", JSON.stringify(judged));
  });
});
