import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isSame } from "../../../../src/compat/judge0/compare.ts";
import { Base64Text } from "../../../../src/compat/judge0/fields.ts";
import { jsonPieces } from "../../../../src/domain/json-pieces.ts";

const bytes = (text: string) => Buffer.from(text, "latin1");

test("white space at the ends of lines and of the whole makes no difference, other white space does", () => {
  const ends = fc.string({ unit: fc.constantFrom(" ", "\t", "\r", "\v", "\f", "\0"), maxLength: 3 });
  const line = fc.string({ unit: fc.constantFrom("a", "b", " ", "é"), maxLength: 4 });
  fc.assert(
    fc.property(fc.array(fc.tuple(line, ends, ends)), fc.nat(3), (lines, more) => {
      const one = lines.map(([text, end]) => text + end).join("\n");
      const other = lines.map(([text, , end]) => text + end).join("\n") + "\n".repeat(more);
      return isSame(bytes(one), bytes(other)) && !isSame(bytes(`x${one}`), bytes(`y${other}`));
    }),
  );
  for (const [one, other] of [
    ["a b", "ab"],
    [" a", "a"],
    ["a\n\nb", "a\nb"],
    ["", "a"],
  ])
    assert.equal(isSame(bytes(one ?? ""), bytes(other ?? "")), false);
});

test("a comparison of the longest texts takes little time: the service does nothing else meanwhile", () => {
  const long = (text: string) => Buffer.alloc(1_048_576, text);
  const spaces = long(" ");
  const pairs = [
    [Buffer.concat([spaces, bytes("x")]), Buffer.concat([spaces, bytes("y")]), false],
    [long("\n"), spaces, true],
    [long("\n"), long("\n"), true],
    [Buffer.concat([long("\n"), bytes("x")]), Buffer.concat([long(" \n"), bytes("x")]), false],
    [long("x \n"), long("x\n"), false],
    [long("x \n"), Buffer.from(long("x \n").toString().replaceAll(" ", "")), true],
  ] as const;
  for (const [one, other, expected] of pairs) {
    const before = process.threadCpuUsage();
    assert.equal(isSame(one, other), expected);
    const { user, system } = process.threadCpuUsage(before);
    assert.ok(user + system < 200_000, `${user + system} us`);
  }
});

test("base64 has lines of 60 characters, and is the same in pieces", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20_000 }), (some) => {
      const whole = Buffer.from(some).toString("base64");
      const lines = whole.match(/.{1,60}/g) ?? [];
      const text = new Base64Text(Buffer.from(some)).toString();
      return text === lines.map((line) => `${line}\n`).join("");
    }),
    { numRuns: 50 },
  );
  assert.equal([...jsonPieces({ a: new Base64Text(bytes("hello\n")) })].join(""), '{"a":"aGVsbG8K\\n"}');
});
