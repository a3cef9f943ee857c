import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { UnclosedQuoteError, wordsOf } from "../../../../src/compat/judge0/words.ts";

const LINES = [
  "",
  "  ",
  "a b\tc",
  " -n  1 ",
  "'two words' \"two more\"",
  "a'b'\"c\"d",
  "'' \"\"",
  "a\\ b \\'c",
  '"a\\"b" "\\x" "\\\\"',
  "'a\\b'",
  "--x='1 2' y",
];

test("a line is split as by a shell", () => {
  for (const line of LINES) {
    const script = `set -f; set -- ${line}; for one; do printf '%s\\0' "$one"; done`;
    const words = execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
    assert.deepEqual(wordsOf(line), words, line);
  }
});

test("nothing is expanded", () => {
  assert.deepEqual(wordsOf("$HOME `id` $(id) * ~ a;b && c | d > e"), [
    ..."$HOME `id` $(id) * ~ a;b && c | d > e".split(" "),
  ]);
});

test("a quote without its end, and a backslash at the end, are errors", () => {
  for (const line of ["'a", '"a', "a b\\", '"\\"']) assert.throws(() => wordsOf(line), UnclosedQuoteError, line);
});

test("a long line takes no longer", () => {
  assert.equal(wordsOf("'".repeat(100_000)).join(""), "");
  assert.throws(() => wordsOf(`${'"\\"'.repeat(1)}${"\\\\".repeat(100_000)}`), UnclosedQuoteError);
});
