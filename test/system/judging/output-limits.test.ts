import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { useProduct } from "../../support/programs/product.ts";
import { judge } from "./judged.ts";

const LIMIT = { timeout: 120_000 };
const product = useProduct({ workers: 2 });

/** Bytes of standard output of a program and of an interactor, if the problem states no limit. */
const MOST = 8_388_608;
const WITHIN = [1, MOST - 65_536, MOST - 1, MOST];
/** Sizes of an output: around the limit, beyond it by the size of the pipe, and far beyond it. */
const BEYOND = [
  MOST + 1,
  MOST + 4,
  MOST + 1_424,
  MOST + 11_424,
  MOST + 65_535,
  MOST + 65_536,
  MOST + 65_537,
  10_000_000,
];

/** The sizes with which every pair of programs is tested. A plain run tests the other sizes with one pair only. */
const OF_EACH_PAIR = SKIPS_LONG ? [MOST, MOST + 1, MOST + 65_536] : [...WITHIN, ...BEYOND];

const python = (code: string) => ({ language: "python", code });
const interactor = (code: string) => ({
  type: "program",
  interface: "kattis",
  interactive: true,
  ...python(`import os, sys\ndef send(data):\n    while data: data = data[os.write(1, data):]\n${code}`),
});

/** Programs that do what the interactor asks for as long as it keeps to its limit. They know the size by its digits. */
const READERS: Readonly<Record<string, string>> = {
  "reads all of it and answers": `import os
size = int(os.read(0, 9)); seen = 9
while seen < size: seen += len(os.read(0, min(65536, size - seen))) or os._exit(9)
print("done", flush=True)`,
  "reads to the end of its input": `import os
size = int(os.read(0, 9)); seen = 9
while chunk := os.read(0, 65536): seen += len(chunk)
if seen != size: os._exit(9)
print("done", flush=True)`,
  "reads slowly": `import os, time
size = int(os.read(0, 9)); seen = 9
while seen < size:
    seen += len(os.read(0, min(200000, size - seen))) or os._exit(9)
    time.sleep(0.001)
print("done", flush=True)`,
};

/** An interactor that sends as many bytes as its input says. The first nine bytes are this number. */
const SENDERS: Readonly<Record<string, string>> = {
  "waits for an answer": `size = int(open(sys.argv[1]).read())
data = b'%09d' % size
send(data + b'x' * (size - 9))
if "to the end" in open(sys.argv[2]).read(): os.close(1)
sys.exit(42 if os.read(0, 16) == b"done\\n" else 43)`,
  "does not wait for an answer": `size = int(open(sys.argv[1]).read())
data = b'%09d' % size
send(data + b'x' * (size - 9))
sys.exit(42)`,
  "writes piece by piece": `size = int(open(sys.argv[1]).read())
data = b'%09d' % size + b'x' * (size - 9)
for at in range(0, size, 4093): send(data[at:at + 4093])
if "to the end" in open(sys.argv[2]).read(): os.close(1)
sys.exit(42 if os.read(0, 16) == b"done\\n" else 43)`,
};

describe("output of an interactor", { concurrency: 2 }, () => {
  for (const [sender, sends] of Object.entries(SENDERS))
    for (const [reader, reads] of Object.entries(READERS)) {
      const run = (size: number) =>
        judge(product(), {
          ...python(reads),
          tests: [{ stdin: `${size}`, expected: reader }],
          checker: interactor(sends),
        });
      const isWhole = sender === "waits for an answer" && reader === "reads all of it and answers";
      const sizes = (all: readonly number[]) =>
        all.filter((size) => size > 9 && (isWhole || OF_EACH_PAIR.includes(size)));
      for (const size of sizes(WITHIN))
        test(`of ${size} bytes is within its limit: it ${sender}, the program ${reader}`, LIMIT, async () => {
          const judged = await run(size);
          assert.equal(judged.verdict, "AC", JSON.stringify(judged));
        });
      for (const size of sizes(BEYOND))
        test(`of ${size} bytes is its own failure: it ${sender}, the program ${reader}`, LIMIT, async () => {
          const judged = await run(size);
          const message = "the output of the interactor exceeds its limit of 8388608 bytes";
          assert.deepEqual([judged.verdict, judged.runs[0]?.message], ["IE", message], JSON.stringify(judged));
        });
    }

  for (const [name, code, verdict] of [
    ["ends before, without an error", "import os; os.read(0, 9)", "AC"],
    ["fails before", "import os; os.read(0, 9); os._exit(9)", "RE"],
    ["closes its input before, and ends later", "import os, time; os.read(0, 9); os.close(0); time.sleep(1)", "AC"],
  ] as const)
    test(`a program that ${name}: ${verdict}`, LIMIT, async () => {
      const sends = `send(b'1' * 1000)\nimport time; time.sleep(0.4)\ntry:\n    for _ in range(200): send(b'x' * 65536)\nexcept OSError: pass\nsys.exit(42)`;
      const judged = await judge(product(), { ...python(code), tests: [{}], checker: interactor(sends) });
      assert.equal(judged.verdict, verdict, JSON.stringify(judged));
    });
});

/** A program that writes as many bytes as the interactor asks for. */
const FLOOD = `import os
data = b'x' * int(input())
while data: data = data[os.write(1, data):]
`;

/** What an interactor does if its input ends before it has received all bytes. */
const AT_THE_END: Readonly<Record<string, string>> = {
  rejects: "sys.exit(43)",
  "crashes on it": "int('')",
  "exceeds its own limit then": "\n    while True: send(b'y' * 65536)",
  "exceeds its time then": "\n    while True: pass",
};

describe("output of a program to its interactor", { concurrency: 2 }, () => {
  for (const [name, end] of Object.entries(AT_THE_END)) {
    const receives = `size = int(open(sys.argv[1]).read())
send(b'%d\\n' % size); seen = 0
while seen < size:
    chunk = os.read(0, 65536)
    if not chunk: break
    seen += len(chunk)
if seen < size: ${end}
sys.exit(42)`;
    const run = (size: number, more = "") =>
      judge(product(), { ...python(FLOOD + more), tests: [{ stdin: `${size}` }], checker: interactor(receives) });
    if (name === "rejects")
      for (const size of WITHIN)
        test(`of ${size} bytes is within its limit`, LIMIT, async () => {
          assert.equal((await run(size)).verdict, "AC");
        });
    const isSlow = name.startsWith("exceeds");
    const slow = SKIPS_LONG ? [MOST + 1] : [MOST + 1, 10_000_000];
    const quick = name === "rejects" ? BEYOND : BEYOND.filter((one) => OF_EACH_PAIR.includes(one));
    for (const size of isSlow ? slow : quick)
      test(`of ${size} bytes is wrong; the interactor ${name}`, LIMIT, async () => {
        const judged = await run(size);
        assert.deepEqual([judged.verdict, judged.runs[0]?.message], ["WA", "the output exceeds its limit"]);
      });
  }
});

describe("standard error of a program", { concurrency: 2 }, () => {
  const accepts = { ...python("import sys; sys.exit(42 if sys.stdin.read() == 'right\\n' else 43)") };
  const checkers = {
    lines: { type: "lines" },
    tokens: { type: "tokens" },
    "a program": { type: "program", interface: "kattis", ...accepts },
    "an interactor": interactor("sys.exit(42 if os.read(0, 16) == b'right\\n' else 43)"),
  };
  for (const [name, checker] of Object.entries(checkers))
    for (const size of [MOST, MOST + 1, 3_000_000])
      test(`of ${size} bytes does not change the verdict by ${name}`, LIMIT, async () => {
        for (const [word, verdict] of [
          ["right", "AC"],
          ["wrong", "WA"],
        ] as const) {
          const code = `import sys\nsys.stderr.write("x" * ${size})\nsys.stderr.flush()\nprint("${word}")`;
          const judged = await judge(product(), { ...python(code), tests: [{ expected: "right\n" }], checker });
          assert.equal(judged.verdict, verdict, JSON.stringify(judged));
        }
      });
});
