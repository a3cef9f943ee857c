import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { defaultValidator } from "../../../src/problems/default-validator.ts";
import { matches } from "../../../src/problems/expectations.ts";
import { PackageError, packageFromDirectory } from "../../../src/problems/files.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { PACKAGES, type PackageTexts, toFiles } from "../../support/problems/packages.ts";

const languages = loadLanguages(LANGUAGES);
const read = (texts: PackageTexts) => readProblem(toFiles(texts), languages);

test("tests are in the order of their names, with the points and the checker of their groups", () => {
  const { definition, tests, scoring, timing } = read(PACKAGES.factors);
  assert.deepEqual([scoring, timing.limitSecs, timing.acToLimit], [true, 2, 2]);
  assert.deepEqual(
    definition.tests.map(({ name, group, points }) => [name, group, points]),
    [
      ["sample/1", "sample", 0],
      ["secret/1-small/1", "secret/1-small", 30],
      ["secret/2-sum/1", "secret/2-sum", 15],
      ["secret/2-sum/2", "secret/2-sum", 15],
      ["secret/3-large/1", "secret/3-large", 40],
    ],
  );
  assert.deepEqual(
    definition.groups.map(({ name, rule, depends }) => [name, rule, depends]),
    [
      ["sample", "sum", []],
      ["secret/1-small", "min", []],
      ["secret/2-sum", "sum", ["secret/1-small"]],
      ["secret/3-large", "min", ["sample", "secret/1-small"]],
    ],
  );
  assert.deepEqual(definition.tests[0]?.limits, { memory_bytes: 134_217_728 });
  assert.equal(String(tests[1]?.contents()[0]), "15\n");
});

test("settings of a test are its own, or else those of its groups", () => {
  const { definition, tests } = read(PACKAGES.words);
  const [first, second] = definition.tests;
  assert.deepEqual(first?.args, ["as-is"]);
  assert.equal(second?.args, undefined);
  const args = definition.tests.map(({ checker }) => checker?.type === "program" && checker.args);
  assert.deepEqual(args, [["any-order"], []]);
  assert.deepEqual(tests[0]?.inputValidatorArgs, { "": ["9", "as-is"] });
  const legacy = read(PACKAGES.root);
  assert.deepEqual(legacy.definition.tests[1]?.checker, {
    type: "floats",
    caseSensitive: false,
    absolute: 1e-4,
    relative: 1e-4,
  });
  assert.deepEqual(
    legacy.definition.tests.map(({ points }) => points),
    [0, 20, 20, 60],
  );
});

test("a wrong package is rejected with its file and line", () => {
  const base = PACKAGES.factors;
  for (const [changes, error] of [
    [{ "problem.yaml": undefined }, /^problem\.yaml: is missing$/],
    [{ "problem.yaml": "name: [" }, /^problem\.yaml:1: /],
    [{ "problem.yaml": "problem_format_version: 2025-09\n" }, /^problem\.yaml:1: name: /],
    [
      { "problem.yaml": "name: a\nproblem_format_version: 2023-07\n" },
      /^problem\.yaml:2: problem_format_version: 2023-07 is/,
    ],
    [
      { "problem.yaml": "problem_format_version: 2025-09\nname: a\ntype: interactive\n" },
      /^problem\.yaml:3: type: interactive/,
    ],
    [
      { "problem.yaml": "problem_format_version: 2025-09\nname: a\nlimits:\n  memory: 1\n  speed: 2\n" },
      /^problem\.yaml:5: limits\.speed/,
    ],
    [
      { "problem.yaml": "problem_format_version: 2025-09\nname: a\nlimits:\n  memory: 999999\n" },
      /^problem\.yaml:4: limits\.memory/,
    ],
    [
      { "problem.yaml": "problem_format_version: 2025-09\nname: a\n" },
      /^data\/secret.*test_group\.yaml:1: (max_score|score|require)/,
    ],
    [{ "data/secret/1-small/1.ans": undefined }, /^data\/secret\/1-small\/1\.ans: is missing/],
    [
      { "data/secret/1-small/test_group.yaml": "max_score: many\n" },
      /^data\/secret\/1-small\/test_group\.yaml:1: max_score/,
    ],
    [{ "data/secret/1-small/test_group.yaml": "# \nspeed: 1\n" }, /^data\/secret\/1-small\/test_group\.yaml:2: speed/],
    [
      { "data/secret/1-small/test_group.yaml": "score_aggregation: sum\n" },
      /test_group\.yaml:1: max_score: a number is required/,
    ],
    [
      { "data/secret/2-sum/test_group.yaml": "max_score: 1\nrequire_pass: secret/3-large\n" },
      /2-sum\/test_group\.yaml:2: require_pass/,
    ],
    [{ "data/secret/1-small/more/test_group.yaml": "{}" }, /more\/test_group\.yaml: a group cannot/],
    [{ "data/secret/other/1.in": "1", "data/secret/other/1.ans": "1" }, /^data\/secret\/other\/1\.in: is in no group/],
    [{ "output_validator/build": "#!/bin/sh" }, /^output_validator\/build: /],
    [{ "output_validator/more.py": "" }, /^output_validator\/more\.py: is in another language/],
    [{ "include/c/x.h": "" }, /^include: is not supported/],
    [{ "data/secret/1-small/1.files/x": "" }, /^data\/secret\/1-small\/1\.files\/x: /],
  ] as const) {
    const texts = Object.fromEntries(Object.entries({ ...base, ...changes }).filter(([, text]) => text !== undefined));
    assert.throws(
      () => read(texts as PackageTexts),
      (thrown: Error) => {
        assert.ok(thrown instanceof PackageError, String(thrown.stack));
        assert.match(thrown.message, error);
        return true;
      },
    );
  }
});

test("arguments of the default validator become a checker", () => {
  const checker = (text: string) => defaultValidator(text.split(" ").filter(Boolean));
  assert.deepEqual(checker(""), { type: "tokens", caseSensitive: false });
  assert.deepEqual(checker("case_sensitive"), { type: "tokens", caseSensitive: true });
  assert.deepEqual(checker("case_sensitive space_change_sensitive"), { type: "exact" });
  assert.deepEqual(checker("float_absolute_tolerance 1e-3"), { type: "floats", caseSensitive: false, absolute: 1e-3 });
  for (const wrong of [
    "magic",
    "float_tolerance",
    "float_tolerance x",
    "space_change_sensitive",
    "float_tolerance 1 float_tolerance 2",
  ])
    assert.equal(typeof checker(wrong), "string", wrong);
});

test("globs match a path or its directories", () => {
  assert.ok(matches("accepted", "accepted/a.py"));
  assert.ok(matches("accepted/*", "accepted/a.py"));
  assert.ok(matches("{wrong_answer,accepted}/a.{py,cpp}", "accepted/a.py"));
  assert.ok(!matches("*", "x/y.py") === false);
  assert.ok(!matches("a.py", "accepted/a.py"));
  assert.ok(!matches("accepted/*.cpp", "accepted/a.py"));
  assert.ok(!matches("secret/1.", "secret/12"));
});

test("links are refused", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "assay-package-"));
  t.after(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, "problem.yaml"), "name: x\n");
  assert.deepEqual([...(await packageFromDirectory(directory)).keys()], ["problem.yaml"]);
  symlinkSync("/etc/passwd", join(directory, "data"));
  await assert.rejects(packageFromDirectory(directory), /^PackageError: data: is neither/);
});
