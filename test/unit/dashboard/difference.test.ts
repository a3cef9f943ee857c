import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { difference, differentParts } from "../../../dashboard/src/judgement/difference.ts";
import { CHECKER_TYPES, type Checker, check } from "../../../src/domain/check.ts";
import type { JudgedChecker } from "../../../src/http/dashboard/api/judgements.ts";
import { cpuMs } from "../../support/cpu-time.ts";

const checker = (type: string, more: Partial<JudgedChecker> = {}): JudgedChecker => ({
  ...{ type, caseSensitive: true, absolute: null, relative: null, program: null },
  ...more,
});

/** "=" for equal lines, or the two lines; a number for rows that are left out. */
function shown(expected: string, got: string, by: JudgedChecker = checker("lines")) {
  const found = difference(expected, got, by);
  return found?.rows.map((row) =>
    typeof row === "number" ? row : row.kind === "same" ? "=" : [row.expected?.text ?? null, row.got?.text ?? null],
  );
}

test("a missing, an added and a changed line are shown at their place", () => {
  assert.deepEqual(shown("a\nb\nc\n", "a\nc\n"), ["=", ["b", null], "="]);
  assert.deepEqual(shown("a\nc\n", "a\nb\nc\n"), ["=", [null, "b"], "="]);
  assert.deepEqual(shown("a\nb\nc\n", "a\nx\nc\n"), ["=", ["b", "x"], "="]);
  assert.deepEqual(shown("a\n", ""), [["a", null]]);
});

test("lines are equal if the checker accepts them", () => {
  assert.deepEqual(shown("a \n\n", "a"), [1]);
  assert.deepEqual(shown("a\n", "a", checker("exact")), ["=", ["", null]]);
  assert.deepEqual(shown("A  b", "a b", checker("tokens", { caseSensitive: false })), [1]);
  assert.deepEqual(shown("1.0 x", "1.05 x", checker("floats", { absolute: 0.1 })), [1]);
  assert.deepEqual(shown("1.0", "1.05", checker("floats", { absolute: 0.01, relative: 0.02 })), [["1.0", "1.05"]]);
  assert.deepEqual(shown("b\na", "a\nb", checker("unordered_lines")), [2]);
  assert.equal(difference("a+", "b", checker("regex")), null);
});

test("numbers beyond doubles are compared as the service does", () => {
  const by = checker("floats", { absolute: 1e-6, relative: 1e-6 });
  const huge = `1${"0".repeat(310)}`;
  assert.deepEqual(shown(huge, "0", by), [[huge, "0"]]);
  assert.deepEqual(shown(huge, "1e310", by), [1]);
  assert.deepEqual(shown("0x10", "16", by), [["0x10", "16"]]);
  assert.deepEqual(shown("é", "É", checker("tokens", { caseSensitive: false })), [["é", "É"]]);
});

test("an output that the service accepts has no different line, and the reverse for checkers of lines", () => {
  const line = fc.constantFrom(
    "",
    "a",
    "A",
    "b ",
    "1",
    "1.0",
    "a b",
    " a",
    "é",
    "É",
    "1e400",
    "inf",
    "Infinity",
    "0x1",
    "\u00a0",
  );
  const text = fc.array(line, { maxLength: 6 }).map((lines) => lines.join("\n"));
  const types = fc.constantFrom(...CHECKER_TYPES.filter((type) => type !== "regex"));
  fc.assert(
    fc.property(types, text, text, (type, expected, got) => {
      const { passed } = check({ type } as Checker, Buffer.from(got), [Buffer.from(expected)]);
      const rows = difference(expected, got, checker(type))?.rows ?? [];
      const isEqual = rows.every((row) => typeof row === "number");
      // Line breaks are only white space for a checker of words.
      if (type === "exact" || type === "lines" || type === "unordered_lines") assert.equal(isEqual, passed);
      else if (isEqual) assert.ok(passed);
    }),
  );
});

test("equal lines far from a difference are left out, and rows are bounded", () => {
  const lines = Array.from({ length: 20 }, (_, at) => `${at}`);
  const wrong = lines.with(10, "x");
  assert.deepEqual(shown(lines.join("\n"), wrong.join("\n")), [7, "=", "=", "=", ["10", "x"], "=", "=", "=", 6]);
  const many = difference("a\n".repeat(30_000), "b\n".repeat(30_000), checker("lines"));
  assert.deepEqual([many?.rows.length, many?.hidden, many?.aligned], [200, 29_800, false]);
});

test("texts of 64 KiB that differ everywhere are compared by every checker within a second each", () => {
  const text = (seed: number) => Array.from({ length: 32_768 }, (_, at) => (at * seed) % 7).join("\n");
  const started = cpuMs();
  for (const type of CHECKER_TYPES) difference(text(3).slice(0, 65_536), text(5).slice(0, 65_536), checker(type));
  assert.ok(cpuMs() - started < 6_000);
});

test("the different parts of two lines", () => {
  assert.deepEqual(differentParts("abcd", "abxd"), ["ab", "c", "d"]);
  assert.deepEqual(differentParts("aa", "aaa"), ["aa", "", ""]);
  assert.deepEqual(differentParts("aaa", "aa"), ["aa", "a", ""]);
});
