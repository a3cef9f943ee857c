import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
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
      ["Infinity", "inf"],
      [`1${"0".repeat(310)}.001`, `1${"0".repeat(310)}`],
      ["1e999999999", "10e999999998"],
    ],
    [
      ["1.02", "1"],
      ["0", `1${"0".repeat(310)}`],
      ["-7", "1e400"],
      ["1e401", "1e400"],
      ["1.0100000000000000000001", "1"],
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

test("hostile outputs take linear CPU time, also with eight answers", () => {
  const size = 262_144;
  const fill = (part: string) => part.repeat(Math.ceil(size / part.length)).slice(0, size);
  const outputs = [
    ...[`${" ".repeat(size)}x`, `${"1".repeat(size)}x`, `1.${"1".repeat(size)}x`, `1e${"1".repeat(size)}x`],
    ...[`${fill("\n")}x`, `${fill(" \n")}x`, fill("a\n"), fill("1.0 "), fill("1e9 "), fill("a "), fill("1")],
    Array.from({ length: 50_000 }, (_, at) => at.toString(36)).join("\n"),
  ];
  for (const type of CHECKER_TYPES) {
    if (type === "regex") continue;
    for (const output of outputs) {
      const before = process.cpuUsage();
      // Each answer differs only at its end.
      const answers = Array.from({ length: 8 }, (_, at) => `${output} ${at}`);
      assert.ok(!passes({ type, absolute: 0, relative: 1e-17, lineBreaks: true }, output, ...answers));
      const { user, system } = process.cpuUsage(before);
      const ms = (user + system) / 1_000;
      // The budget of src/worker/comparer.ts is 5 s.
      assert.ok(ms < 2_000, `${type} took ${ms.toFixed(0)} ms of CPU time for ${output.slice(0, 9)}…`);
    }
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

const messageOf = (checker: Checker, output: string | Buffer, answer: string | Buffer) =>
  check(checker, Buffer.from(output), [Buffer.from(answer)]).message;

test("messages show characters and the place of a difference", () => {
  const x = "x".repeat(5_000);
  const folded = { type: "tokens", caseSensitive: false } as const;
  const rows: readonly (readonly [Checker, string | Buffer, string | Buffer, string])[] = [
    [folded, "É", "é", 'token 1: expected "é", got "É"'],
    [folded, "École", "ÉCOLES", 'token 1: expected "ÉCOLES", got "École"'],
    [{ ...folded, type: "floats" }, "É", "é", 'token 1: expected "é", got "É"'],
    [
      ...([{ type: "tokens" }, `${x}ab${x}`, `${x}cd${x}`] as const),
      `token 1: expected "…${x.slice(0, 20)}cd${x.slice(0, 38)}…", got "…${x.slice(0, 20)}ab${x.slice(0, 38)}…", from byte 5001 on`,
    ],
    [
      { type: "lines" },
      x,
      `${x}!`,
      `line 1: expected "…${x.slice(0, 20)}!", got "…${x.slice(0, 20)}", from byte 5001 on`,
    ],
    [
      { type: "lines" },
      `a\n${"é".repeat(40)}1`,
      `a\n${"é".repeat(40)}2`,
      `line 2: expected "…${"é".repeat(10)}2", got "…${"é".repeat(10)}1", from byte 81 on`,
    ],
    [
      { type: "lines" },
      "\u{1F600}".repeat(40),
      "x",
      `line 1: expected "x", got "${"\u{1F600}".repeat(15)}…", from byte 1 on`,
    ],
    [{ type: "lines" }, Buffer.from([0x61, 0xff, 0x80]), "a", 'line 1: expected "a", got "a\ufffd\ufffd"'],
    [{ type: "tokens" }, "1 2", "1", 'the output continues after the answer with token 2: "2"'],
    [{ type: "tokens" }, "1", `1 ${x}`, `the output ends before token 2, expected "${x.slice(0, 60)}…"`],
    [
      { type: "tokens", lineBreaks: true },
      "1 2",
      "1\n2",
      'token 2: expected "2" in a new line, got "2" in the line of the token before',
    ],
    [{ type: "unordered_lines" }, "b\na", "a\nc", 'the output has no line "c", which is line 2 of the answer'],
    [{ type: "unordered_lines" }, "b\na", "a", 'the answer has no line "b", which is line 1 of the output'],
    [{ type: "unordered_lines" }, "a\nb", "a\na", 'the output has the line "a" 1 times, fewer than the answer'],
    [{ type: "unordered_lines" }, "a\na", "a", 'the output has the line "a" 2 times, more than the answer'],
    [{ type: "exact" }, "ab\nc", "ab\nd", "byte 4, in line 2, differs"],
  ];
  for (const [checker, output, answer, message] of rows) assert.equal(messageOf(checker, output, answer), message);
});

test("every message is valid and short, for any bytes", () => {
  const text = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.string({ unit: "binary", maxLength: 100 }).map((one) => Buffer.from(one)),
    fc
      .string({ unit: fc.constantFrom("é", "\u{1F600}", "a", "\n", " ", "1"), maxLength: 100 })
      .map((one) => Buffer.from(one)),
  );
  const checkers = fc.record({
    type: fc.constantFrom(...CHECKER_TYPES.filter((type) => type !== "regex")),
    caseSensitive: fc.boolean(),
    lineBreaks: fc.boolean(),
  });
  fc.assert(
    fc.property(checkers, text, text, (checker, output, answer) => {
      const message = messageOf(checker, Buffer.from(output), Buffer.from(answer));
      if (message === null) return;
      assert.ok(message.isWellFormed() && message.length < 400 && !/[\0\n]/.test(message), message);
      const isText = [output, answer].every((one) => Buffer.from(Buffer.from(one).toString()).equals(Buffer.from(one)));
      if (isText && !`${Buffer.from(output)}${Buffer.from(answer)}`.includes("\ufffd"))
        assert.ok(!message.includes("\ufffd"), message);
    }),
    { numRuns: 3_000 },
  );
});

test("only letters of ASCII have no case, and other bytes are compared as they are", () => {
  const folded = { type: "tokens", caseSensitive: false } as const;
  assert.ok(passes(folded, "aBC[xyz", "AbC[XYZ"));
  for (const [output, answer] of [
    ["É", "é"],
    ["@", "`"],
    ["[", "{"],
    ["ſ", "s"],
    ["\u212a", "k"],
  ] as const)
    assert.ok(!passes(folded, output, answer), `${output} is not ${answer}`);
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

test("an answer that is an expression only in parentheses of others is refused", () => {
  assert.throws(() => check({ type: "regex" }, Buffer.from("axyz"), [Buffer.from("a)|(?:b")]), SyntaxError);
});
