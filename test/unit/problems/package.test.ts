import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { groupScores } from "../../../src/domain/judgement.ts";
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
  assert.equal(String(tests[1]?.contents[0]), "15\n");
});

test("settings of a test are its own, or else those of its groups", () => {
  const { definition, inputs, outputs } = read(PACKAGES.words);
  const [first, second] = definition.tests;
  assert.deepEqual(first?.args, ["as-is"]);
  assert.equal(second?.args, undefined);
  const args = definition.tests.map(({ checker }) => checker?.type === "program" && checker.args);
  assert.deepEqual(args, [["any-order"], []]);
  const inputArgs = Object.fromEntries(inputs.map(({ path, args }) => [path, args]));
  assert.deepEqual(inputArgs["data/secret/1.in"], { "": ["9", "as-is"] });
  assert.deepEqual(inputArgs["data/valid_output/any.in"], { "": ["14"] });
  assert.deepEqual(
    outputs.map(({ path, verdict, checker }) => [path, verdict, checker.type === "program" && checker.args]),
    [
      ["data/invalid_output/1.out", "WA", []],
      ["data/valid_output/1.out", "AC", []],
      ["data/valid_output/any.out", "AC", ["any-order"]],
    ],
  );
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

test("the output validator of an interactive or multi-pass problem is a checker of that kind", () => {
  const kindOf = (texts: PackageTexts) => {
    const { checker, tests } = read(texts).definition;
    assert.deepEqual(tests[0]?.checker, {
      ...checker,
      ...(tests[0]?.checker?.type === "program" && { args: tests[0].checker.args }),
    });
    return checker.type === "program" ? [checker.language, checker.interactive, checker.passes] : [];
  };
  assert.deepEqual(kindOf(PACKAGES.guess), ["cpp", true, undefined]);
  assert.deepEqual(kindOf(PACKAGES.relay), ["python", undefined, 2]);
  assert.deepEqual(kindOf(PACKAGES.echo), ["python", true, 2]);
  const passes = "problem_format_version: 2025-09\nname: a\ntype: multi-pass\nlimits:\n  validation_passes: 5\n";
  assert.deepEqual(kindOf({ ...PACKAGES.relay, "problem.yaml": passes }), ["python", undefined, 5]);
});

test("all groups depend on what secret depends on, and thirds of the points are not rounded", () => {
  const texts = { ...PACKAGES.factors, "data/secret/test_group.yaml": "max_score: 100\nrequire_pass: sample\n" };
  assert.deepEqual(
    read(texts).definition.groups.map(({ depends }) => depends),
    [[], ["sample"], ["sample", "secret/1-small"], ["sample", "secret/1-small"]],
  );
  const { definition } = read(PACKAGES.thirds);
  const shares = definition.tests.map(() => 1);
  const states = definition.tests.map(() => "AC" as const);
  assert.deepEqual(
    groupScores(definition, states, shares).map(({ score, maxScore }) => [score, maxScore]),
    [
      [0, 0],
      [100, 100],
    ],
  );
});

test("settings in the root of the older format apply to all tests", () => {
  const texts = { ...PACKAGES.root, "data/testdata.yaml": "output_validator_flags: case_sensitive\n" };
  const [first] = read(texts).definition.tests;
  assert.deepEqual(first?.checker, { type: "floats", caseSensitive: true, absolute: 1e-4, relative: 1e-4 });
});

const HEAD = "problem_format_version: 2025-09\nname: a\n";

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
    [{ "problem.yaml": `${HEAD}type: magic\n` }, /^problem\.yaml:3: type: magic is no type/],
    [{ "problem.yaml": `${HEAD}type: []\n` }, /^problem\.yaml:3: type/],
    [{ "problem.yaml": `${HEAD}type: submit-answer\n` }, /^problem\.yaml:3: type: submit-answer .*not supported/],
    [
      { "problem.yaml": `${HEAD}type:\n- scoring\n- interactive\n- pass-fail\n` },
      /^problem\.yaml:6: type: pass-fail and scoring exclude each other/,
    ],
    [{ "problem.yaml": `${HEAD}type: [interactive, submit-answer]\n` }, /^problem\.yaml:3: type: .*exclude/],
    [{ "problem.yaml": `${HEAD}type: [scoring, scoring]\n` }, /^problem\.yaml:3: type: scoring is there twice/],
    [{ "problem.yaml": `${HEAD}type: scoring\nconstants: {a: 1}\n` }, /^problem\.yaml:4: constants/],
    [
      { "problem.yaml": `${HEAD}type: scoring\nlimits:\n  validation_passes: 3\n` },
      /^problem\.yaml:5: limits\.validation_passes: only for multi-pass/,
    ],
    [
      { "problem.yaml": `${HEAD}type: [scoring, multi-pass]\nlimits:\n  validation_passes: 1\n` },
      /^problem\.yaml:5: limits\.validation_passes/,
    ],
    [
      { "problem.yaml": `${HEAD}type: [scoring, multi-pass]\nlimits:\n  validation_passes: 21\n` },
      /^problem\.yaml:5: limits\.validation_passes/,
    ],
    [
      {
        "problem.yaml": `${HEAD}type: [scoring, interactive]\n`,
        "output_validator/validate.cpp": undefined,
        "output_validator/feedback.h": undefined,
      },
      /^problem\.yaml:3: type: .*needs an output validator/,
    ],
    [
      {
        "problem.yaml": `${HEAD}type: [scoring, interactive]\n`,
        "data/invalid_output/1.in": "",
        "data/invalid_output/1.ans": "",
        "data/invalid_output/1.out": "",
      },
      /^data\/invalid_output\/1\.in: an interactive or multi-pass problem has no outputs/,
    ],
    [
      { "problem.yaml": `${HEAD}type: [scoring, multi-pass]\n`, "data/valid_output/1.out": "" },
      /^data\/valid_output\/1\.in: an interactive or multi-pass problem has no outputs/,
    ],
    [{ "data/valid_output/1.out": "" }, /^data\/valid_output\/1\.in: is missing/],
    [{ "data/invalid_output/1.in": "", "data/invalid_output/1.ans": "" }, /^data\/invalid_output\/1\.out: is missing/],
    [
      { "data/invalid_input/1.in": "", "data/invalid_input/test_group.yaml": "max_score: 1\n" },
      /^data\/invalid_input\/test_group\.yaml:1: max_score: only for groups of secret/,
    ],
    [
      { "problem.yaml": "problem_format_version: 2025-09\nname: a\nlimits:\n  memory: 1\n  speed: 2\n" },
      /^problem\.yaml:5: limits\.speed/,
    ],
    [
      { "problem.yaml": "problem_format_version: 2025-09\nname: a\nlimits:\n  memory: 999999\n" },
      /^problem\.yaml:4: limits\.memory/,
    ],
    // More than the profile judge has in some language, but not more than other profiles.
    [
      { "problem.yaml": `${HEAD}limits:\n  code: 10\n  memory: 300\n` },
      /^problem\.yaml:5: limits\.memory: the profile judge has at most 256 MiB$/,
    ],
    [{ "problem.yaml": `${HEAD}limits:\n  memory: 15\n` }, /^problem\.yaml:4: limits\.memory: at least 16 MiB/],
    [{ "problem.yaml": `${HEAD}limits:\n  time_limit: 4.5\n` }, /^problem\.yaml:4: limits\.time_limit: .* 4 s$/],
    [{ "problem.yaml": `${HEAD}limits:\n  output: 8\n` }, /^problem\.yaml:4: limits\.output: .* 1 MiB$/],
    [{ "problem.yaml": `${HEAD}limits:\n  code: 1025\n` }, /^problem\.yaml:4: limits\.code: /],
    [
      { "problem.yaml": `${HEAD}limits:\n  compilation_memory: 513\n` },
      /^problem\.yaml:4: limits\.compilation_memory: .* 512 MiB$/,
    ],
    [
      { "problem.yaml": `${HEAD}limits:\n  validation_time: 60\n` },
      /^problem\.yaml:4: limits\.validation_time: .* 4 s$/,
    ],
    [
      { "problem.yaml": "problem_format_version: 2025-09\nname: a\n" },
      /^data\/secret.*test_group\.yaml:1: (max_score|score|require)/,
    ],
    [{ "data/secret/1-small/1.ans": undefined }, /^data\/secret\/1-small\/1\.ans: is missing/],
    [
      { "data/secret/test_group.yaml": "# points\nmax_score: 99\n" },
      /^data\/secret\/test_group\.yaml:2: max_score: the groups have 100 points, more than the 99 of secret/,
    ],
    [
      { "data/secret/test_group.yaml": "max_score: 100\nscore_aggregation: pass-fail\n" },
      /^data\/secret\/test_group\.yaml:2: score_aggregation: pass-fail over groups/,
    ],
    [
      { "data/secret/test_group.yaml": "max_score: unbounded\n" },
      /^data\/secret\/test_group\.yaml:1: max_score: .*unbounded/,
    ],
    [
      { "data/secret/test_group.yaml": "max_score: 100\nrequire_pass: secret/1-small\n" },
      /^data\/secret\/test_group\.yaml:2: require_pass: secret\/1-small: secret can depend only on/,
    ],
    [
      { "data/secret/3-large/test_group.yaml": "max_score: 40\nrequire_pass: secret/2-sum\n" },
      /3-large\/test_group\.yaml:2: require_pass: the score_aggregation of secret\/2-sum is not pass-fail/,
    ],
    [{ "data/sample/test_group.yaml": "max_score: 1\n" }, /^data\/sample\/test_group\.yaml:1: max_score: only for/],
    [
      { "data/secret/4-none/test_group.yaml": "max_score: 0\n" },
      /^data\/secret\/4-none\/test_group\.yaml: the group has no/,
    ],
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
    [{ "data/secret/1-small/1.files/x": "" }, /^data\/secret\/1-small\/1\.files\/x: files of a test/],
  ] as const) {
    const texts = Object.fromEntries(Object.entries({ ...base, ...changes }).filter(([, text]) => text !== undefined));
    assertFault(texts as PackageTexts, error);
  }
});

function assertFault(texts: PackageTexts, error: RegExp): void {
  assert.throws(
    () => read(texts),
    (thrown: Error) => {
      assert.ok(thrown instanceof PackageError, String(thrown.stack));
      assert.match(thrown.message, error);
      return true;
    },
  );
}

test("a wrong package in the older format is rejected with its file and line", () => {
  for (const [changes, error] of [
    [{ "problem.yaml": "name: a\nvalidation: custom magic\n" }, /^problem\.yaml:2: validation: magic after custom/],
    [
      { "problem.yaml": "name: a\nvalidation: default interactive\n" },
      /^problem\.yaml:2: validation: interactive after/,
    ],
    [{ "problem.yaml": "name: a\nvalidation: custom score\n" }, /^problem\.yaml:2: validation: score is only for/],
    [
      { "problem.yaml": "name: a\nvalidation: custom interactive\nlimits:\n  validation_passes: 2\n" },
      /^problem\.yaml:4: limits\.validation_passes: only/,
    ],
    [
      { "problem.yaml": "name: a\nvalidator_flags: magic\n" },
      /^problem\.yaml:2: the default validator has no argument/,
    ],
    [{ "data/testdata.yaml": "grading: custom\n" }, /^data\/testdata\.yaml:1: grading: custom graders/],
    [
      { "problem.yaml": "name: a\n", "data/secret/testdata.yaml": "\noutput_validator_flags: magic\n" },
      /^data\/secret\/testdata\.yaml:2: the default validator has no argument/,
    ],
  ] as const)
    assertFault({ ...PACKAGES.echo, ...changes }, error);
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
