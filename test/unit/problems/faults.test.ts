import assert from "node:assert/strict";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { PackageError } from "../../../src/problems/files.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { PACKAGES, type PackageTexts, toFiles } from "../../support/problems/packages.ts";

const languages = loadLanguages(LANGUAGES);
const read = (texts: PackageTexts) => readProblem(toFiles(texts), languages);

const HEAD = "problem_format_version: 2025-09\nname: a\ntype: scoring\n";

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
    [{ "problem.yaml": `${HEAD}limits:\n  memory: 512\n` }, /^problem\.yaml:5: limits\.memory: .* at most 256 MiB$/],
    [{ "problem.yaml": `${HEAD}limits: {memory: 8}\n` }, /^problem\.yaml:4: limits\.memory: no program starts/],
    [{ "problem.yaml": `${HEAD}limits: {output: 8}\n` }, /^problem\.yaml:4: limits\.output: .* at most 1 MiB$/],
    [{ "problem.yaml": `${HEAD}limits: {time_limit: 20}\n` }, /^problem\.yaml:4: limits\.time_limit: .* at most 4 s$/],
    [{ "problem.yaml": `${HEAD}limits: {code: 8}\n` }, /^problem\.yaml:4: limits\.code: is not supported$/],
    [{ "problem.yaml": `${HEAD}limits: {validation_time: 60}\n` }, /^problem\.yaml:4: limits\.validation_time: /],
    [
      { "data/secret/test_group.yaml": "require_pass: [sample, secret/1-small]\n" },
      /^data\/secret\/test_group\.yaml:1: require_pass: data\/secret can only depend on sample$/,
    ],
    [
      { "data/secret/test_group.yaml": "# all\nmax_score: 90\n" },
      /^data\/secret\/test_group\.yaml:2: max_score: the groups have 100 points together, data\/secret 90$/,
    ],
    [
      { "data/secret/test_group.yaml": "max_score: unbounded\n" },
      /^data\/secret\/test_group\.yaml:1: max_score: unbou/,
    ],
    [
      { "data/secret/test_group.yaml": "score_aggregation: min\n" },
      /^data\/secret\/test_group\.yaml:1: score_aggregation: /,
    ],
    [
      { "data/secret/test_group.yaml": "score_aggregation: pass-fail\n" },
      /^data\/secret\/2-sum\/test_group\.yaml:2: score_aggregation: must be pass-fail/,
    ],
    [
      { "data/secret/3-large/test_group.yaml": "max_score: 40\nrequire_pass: secret/2-sum\n" },
      /3-large\/test_group\.yaml:2: require_pass: secret\/2-sum is not of the kind pass-fail$/,
    ],
    [
      { "data/sample/test_group.yaml": "max_score: 1\n" },
      /^data\/sample\/test_group\.yaml:1: max_score: not for sample$/,
    ],
    [
      { "data/secret/1-small/1.in": "1".repeat(4_194_305) },
      /^data\/secret\/1-small\/1\.in: an input or an answer has at/,
    ],
    [
      { "output_validator/big.h": "1".repeat(1_048_577) },
      /^output_validator: a program has at most 48 files and 1048576/,
    ],
    [{ "data/valid_output/1.out": "" }, /^data\/valid_output\/1\.in: is missing$/],
    [{ "data/invalid_output/1.in": "", "data/invalid_output/1.out": "" }, /^data\/invalid_output\/1\.ans: is missing$/],
    [{ "data/secret/1-small/1.yaml": `args: [${"a,".repeat(33)}]\n` }, /^data\/secret\/1-small\/1\.yaml:1: args: /],
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
