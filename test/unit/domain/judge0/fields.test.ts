import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { jsonPieces } from "../../../../src/domain/json-pieces.ts";
import { isSame } from "../../../../src/domain/judge0/compare.ts";
import { Base64Text } from "../../../../src/domain/judge0/fields.ts";

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

test("a comparison takes linear time", () => {
  const long = Buffer.alloc(1_048_576, " ");
  const began = performance.now();
  assert.equal(isSame(Buffer.concat([long, bytes("x")]), Buffer.concat([long, bytes("y")])), false);
  assert.equal(isSame(Buffer.alloc(1_048_576, "\n"), long), true);
  assert.ok(performance.now() - began < 2_000);
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
