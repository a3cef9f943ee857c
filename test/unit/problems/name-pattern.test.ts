import assert from "node:assert/strict";
import { test } from "node:test";
import { Budget, namePattern, PatternError } from "../../../src/problems/name-pattern.ts";

const matched = (pattern: string, name: string) => {
  const found = namePattern(pattern, new Budget())(name);
  return found && Object.fromEntries(found);
};

test("an expression of Python finds the groups of a name", () => {
  const pattern = String.raw`((?P<batch>\w+)\.)?(?P<case>\d+)\.in`;
  assert.deepEqual(matched(pattern, "1.in"), { batch: null, case: "1" });
  assert.deepEqual(matched(pattern, "easy.12.IN.txt"), { batch: "easy", case: "12" });
  assert.equal(matched(pattern, "a/1.in"), null);
  assert.equal(matched(`${pattern}$`, "1.in.txt"), null);
});

/** Parts of expressions with the same meaning in Python and JavaScript. */
const ATOMS = [
  "a",
  "b",
  ".",
  "[ab]",
  "[^a]",
  String.raw`\d`,
  String.raw`\W`,
  "(a|b)",
  "(?:ab|a)",
  "(a*)",
  "(?=b)",
  "(?!ab)",
  "^",
  "$",
  String.raw`\b`,
];
const COUNTS = ["", "", "", "*", "+", "?", "*?", "{2}", "{1,2}", "{0,}?"];

test("random expressions match what the engine of JavaScript matches", () => {
  let seed = 1;
  const pick = <T>(all: readonly T[]): T => {
    seed = (seed * 48_271) % 2_147_483_647;
    return all[seed % all.length] as T;
  };
  let matches = 0;
  for (let round = 0; round < 4_000; round++) {
    const atoms = Array.from({ length: 1 + (round % 5) }, () => {
      const atom = pick(ATOMS);
      return /^(\(\?[=!]|\^|\$|\\b)/.test(atom) ? atom : atom + pick(COUNTS);
    });
    const text = `(?P<all>${atoms.join("")})${pick(["", "$", "|b"])}`;
    const name = Array.from({ length: round % 7 }, () => pick(["a", "b", "1", "."])).join("");
    const expected = new RegExp(`^(?:${text.replace("?P<", "?<")})`, "i").exec(name);
    const found = namePattern(text, new Budget())(name);
    assert.equal(found?.get("all"), expected ? (expected.groups?.all ?? null) : undefined, `${text} on ${name}`);
    if (found) matches++;
  }
  assert.ok(matches > 500, `${matches}`);
});

test("an expression that takes exponential time elsewhere ends at once", () => {
  const name = `${"a".repeat(390)}!`;
  for (const pattern of ["(a+)+$", "(a|aa)+$", "(a|a?)+$", "(.*)*x", "(((a*)*)*)*$"])
    assert.equal(matched(pattern, name), null);
  const all = namePattern(`${"(?=.*a.*b)".repeat(30)}x`, new Budget());
  assert.throws(() => {
    for (let n = 0; n < 20_000; n++) all(name);
  }, PatternError);
});

test("wrong, huge and unsupported expressions are refused", () => {
  for (const [pattern, message] of [
    ["(", /ends too early|\( too many/],
    [")", /\) too many/],
    ["*", /repeats nothing/],
    ["a**", /repetition of a repetition/],
    ["a{3,2}", /has the repetition/],
    ["(?P<a>.)(?P=a)", /not supported/],
    ["(?<=a)b", /not supported/],
    ["(?i)a", /not supported/],
    [String.raw`(a)\1`, /not supported/],
    ["(?P<a>.)(?P<a>.)", /wrong name/],
    ["((a{1000}){1000}){1000}", /too large/],
    ["((?=(?:(?=a{900})x){900})x){900}", /too large/],
    ["(".repeat(40) + ")".repeat(40), /too deep/],
    ["a".repeat(401), /more than 400 characters/],
    ["[", /ends too early/],
    ["[b-a]", /range/],
  ] as const)
    assert.throws(() => namePattern(pattern, new Budget()), message, pattern);
});
