import assert from "node:assert/strict";
import { test } from "node:test";
import { CHECKER_TYPES, type Checker, check } from "../../../src/domain/check.ts";

const passes = (checker: Checker, output: string, ...answers: string[]) =>
  check(
    checker,
    Buffer.from(output),
    answers.map((answer) => Buffer.from(answer)),
  ).passed;

const CASES: readonly (readonly [
  Checker,
  readonly (readonly [string, string])[],
  readonly (readonly [string, string])[],
])[] = [
  [
    { type: "exact" },
    [
      ["", ""],
      ["a \n", "a \n"],
    ],
    [
      ["a", "a\n"],
      ["a ", "a"],
      ["A", "a"],
    ],
  ],
  [
    { type: "lines" },
    [
      ["a\nb", "a\nb\n"],
      ["a  \r\nb\t\n\n\n", "a\nb"],
      ["", "\n"],
      ["\n\na", "\n\na\n"],
    ],
    [
      ["a b", "a  b"],
      [" a", "a"],
      ["a\n\nb", "a\nb"],
      ["a\nb\nc", "a\nb"],
      ["a", "a\nb"],
      ["A", "a"],
    ],
  ],
  [
    { type: "tokens" },
    [
      ["a b", " a\n\n\tb "],
      ["", " \n"],
    ],
    [
      ["ab", "a b"],
      ["a b c", "a b"],
      ["a", "a b"],
      ["A", "a"],
    ],
  ],
  [
    { type: "tokens", caseSensitive: false },
    [
      ["A b", "a B"],
      ["YES", "yes"],
    ],
    [["É", "é"]],
  ],
  [
    { type: "floats", absolute: 0.01, relative: 0 },
    [
      ["1.005", "1"],
      ["x 0", "x 0.009"],
      ["1e2", "100"],
      [".5", "0.50"],
      ["-0", "0"],
      ["nan", "nan"],
    ],
    [
      ["1.02", "1"],
      ["1", "x"],
      ["x", "1"],
      ["0x1", "1"],
      ["1,0", "1"],
      ["inf", "1e999"],
      ["1 2", "1"],
      ["nan", "1"],
    ],
  ],
  [
    { type: "floats", absolute: 0, relative: 0.1 },
    [
      ["1090", "1000"],
      ["0", "0"],
    ],
    [
      ["1101", "1000"],
      ["0.001", "0"],
    ],
  ],
  [
    { type: "unordered_lines" },
    [
      ["b\na \n", "a\nb"],
      ["a\na\nb", "a\nb\na"],
    ],
    [
      ["a\nb\nb", "a\na\nb"],
      ["a", "a\na"],
    ],
  ],
];

for (const [checker, good, bad] of CASES) {
  test(`${JSON.stringify(checker)} accepts and rejects by its rules, and names the first difference`, () => {
    for (const [output, answer] of good) assert.ok(passes(checker, output, answer), JSON.stringify([output, answer]));
    for (const [output, answer] of bad) {
      const { passed, message } = check(checker, Buffer.from(output), [Buffer.from(answer)]);
      assert.ok(!passed && message, JSON.stringify([output, answer]));
    }
  });
}

test("any of several answers passes", () => {
  assert.ok(passes({ type: "lines" }, "b", "a", "b"));
  assert.ok(!passes({ type: "lines" }, "c", "a", "b"));
  assert.ok(!passes({ type: "lines" }, "c"));
});

test("bytes that are not UTF-8 are compared as bytes", () => {
  const [one, other] = [Buffer.from([0xff]), Buffer.from([0xfe])];
  assert.ok(check({ type: "lines" }, one, [one]).passed);
  assert.ok(!check({ type: "lines" }, one, [other]).passed);
});

test("hostile outputs take linear time", () => {
  const size = 200_000;
  const outputs = [`${" ".repeat(size)}x`, `${"1".repeat(size)}x`, `1.${"1".repeat(size)}x`, `1e${"1".repeat(size)}x`];
  for (const type of CHECKER_TYPES)
    for (const output of outputs) {
      const began = performance.now();
      assert.ok(!passes({ type, absolute: 1, relative: 1 }, output, "1 2"));
      const ms = performance.now() - began;
      assert.ok(ms < 500, `${type} took ${ms.toFixed(0)} ms for ${output.slice(0, 9)}…`);
    }
});

/** Numbers that seem random and are the same in each run. */
function* numbers(seed: number): Generator<number> {
  for (let x = seed; ; x = (x * 1_103_515_245 + 12_345) % 2 ** 31) yield (x >> 8) % 1000;
}

test("checkers agree with each other: exact implies lines, lines implies tokens, and all are reflexive", () => {
  const random = numbers(1);
  const next = (below: number) => (random.next().value as number) % below;
  const texts = Array.from({ length: 300 }, () =>
    Array.from({ length: next(8) }, () => ["a", "b", "1", "1.0", " ", "\n", "\t", "A"][next(8)]).join(""),
  );
  for (const [at, output] of texts.entries()) {
    const answer = texts[(at * 7 + 1) % texts.length] ?? "";
    for (const type of ["exact", "lines", "tokens", "floats", "unordered_lines"] as const) {
      assert.ok(passes({ type }, output, output), type);
      assert.equal(passes({ type }, output, answer), passes({ type }, answer, output), `${type} is symmetric`);
    }
    const implies: readonly [Checker, Checker][] = [
      [{ type: "exact" }, { type: "lines" }],
      [{ type: "lines" }, { type: "tokens" }],
      [{ type: "lines" }, { type: "unordered_lines" }],
      [{ type: "tokens" }, { type: "tokens", caseSensitive: false }],
      [{ type: "tokens" }, { type: "floats", absolute: 1e-9, relative: 1e-9 }],
    ];
    for (const [strict, loose] of implies)
      if (passes(strict, output, answer)) assert.ok(passes(loose, output, answer), `${strict.type} → ${loose.type}`);
  }
});

test("with line_breaks, line breaks count, but not empty lines and white space at ends", () => {
  for (const type of ["tokens", "floats"] as const) {
    const passes = (output: string, answer: string) =>
      check({ type, lineBreaks: true }, Buffer.from(output), [Buffer.from(answer)]).passed;
    for (const output of ["1 2\n3\n", "1 2\n3", " 1\t2 \r\n\r\n3\n\n", "\n1 2\r3"])
      assert.ok(passes(output, "1 2\n3\n"), output);
    for (const output of ["1 2 3\n", "1\n2\n3\n", "1 2\n3 4\n", "1 2\n", "1 2\n3\n4\n", "12\n3\n"])
      assert.ok(!passes(output, "1 2\n3\n"), output);
    assert.ok(passes("", "\n"));
  }
});
