import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { groupScores } from "../../../src/domain/judgement.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { defaultValidator } from "../../../src/problems/default-validator.ts";
import { matches } from "../../../src/problems/expectations.ts";
import { packageFromDirectory } from "../../../src/problems/files.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { toProgram } from "../../../src/problems/source.ts";
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

const HEAD = "problem_format_version: 2025-09\nname: a\ntype: scoring\n";

test("the points of the tests of a group have exactly its sum", () => {
  const group = { "data/secret/test_group.yaml": "max_score: 100\n" };
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), (amount) => {
      const contents = Array.from({ length: amount }, (_, i) => [
        [`data/secret/${i}.in`, ""],
        [`data/secret/${i}.ans`, ""],
      ]).flat();
      const { definition } = read({ "problem.yaml": HEAD, ...group, ...Object.fromEntries(contents) });
      const states = definition.tests.map(() => "AC" as const);
      const [secret] = groupScores(
        definition,
        states,
        states.map(() => 1),
      );
      assert.equal(secret?.score, 100);
      const points = definition.tests.map((one) => one.points);
      assert.ok(Math.max(...points) - Math.min(...points) < 1e-4);
    }),
  );
});

test("data/secret with pass-fail is one group, and can depend on the samples", () => {
  const { "data/secret/test_group.yaml": _, ...base } = PACKAGES.factors;
  const passFail = Object.fromEntries(
    Object.entries(base).map(([path, text]) => [
      path,
      path.endsWith("test_group.yaml") ? text.replace(/score_aggregation: .*\n/, "") : text,
    ]),
  );
  const { definition } = read({
    ...passFail,
    "data/secret/test_group.yaml": "score_aggregation: pass-fail\nrequire_pass: sample\nmax_score: 60\n",
  });
  assert.deepEqual(definition.groups, [
    { name: "sample", rule: "sum", depends: [] },
    { name: "secret", rule: "min", depends: ["sample"] },
  ]);
  assert.deepEqual(
    definition.tests.map(({ points }) => points),
    [0, 15, 15, 15, 15],
  );
  const grouped = read({ ...PACKAGES.factors, "data/secret/test_group.yaml": "require_pass: sample\n" });
  assert.deepEqual(
    grouped.definition.groups.map(({ depends }) => depends),
    [[], ["sample"], ["sample", "secret/1-small"], ["sample", "secret/1-small"]],
  );
});

test("inputs and outputs for validators have the arguments of their directory, or their own", () => {
  const { validation } = read({
    ...PACKAGES.words,
    "data/valid_output/test_group.yaml": "output_validator_args: [any-order]\ninput_validator_args: ['7']\n",
    "data/invalid_input/long.yaml": "input_validator_args: ['3']\n",
    "data/secret/1.out": "b a\n",
  });
  assert.deepEqual(
    validation.map(({ name, isInputValid, inputValidatorArgs, output, checker }) => [
      name,
      isInputValid,
      inputValidatorArgs[""],
      output?.isValid,
      checker.type === "program" && checker.args,
    ]),
    [
      ["secret/1", null, ["9", "as-is"], true, ["any-order"]],
      ["invalid_input/long", false, ["3"], undefined, []],
      ["invalid_output/1", true, [], false, []],
      ["valid_output/1", true, ["7"], true, ["any-order"]],
    ],
  );
});

test("settings of the older format are inherited from the directory data", () => {
  const { definition } = read({
    ...PACKAGES.sum,
    "data/testdata.yaml": "output_validator_flags: case_sensitive\n",
  });
  assert.deepEqual(definition.tests[0]?.checker, { type: "tokens", caseSensitive: true });
});

test("files with names that the formats do not have are treated as absent", () => {
  const hidden = { "data/secret/über.in": "", "data/secret/a b.in": "", "submissions/accepted/~x.py": "" };
  const [plain, more] = [read(PACKAGES.sum), read({ ...PACKAGES.sum, ...hidden })];
  const known = ({ definition, tests, validation, submissions }: typeof plain) => [
    definition,
    tests.map(({ contents }) => contents()),
    validation.length,
    submissions.map(({ path, files }) => [path, [...files]]),
  ];
  assert.deepEqual(known(more), known(plain));
});

test("a problem has its licence and its statements", () => {
  const files = {
    "problem_statement/problem.tex": "",
    "problem_statement/problem.sv.pdf": "",
    "problem_statement/a.png": "",
  };
  const { licence, statements } = read({ ...PACKAGES.sum, ...files });
  assert.equal(licence, "public domain");
  assert.deepEqual(statements, ["problem_statement/problem.tex", "problem_statement/problem.sv.pdf"]);
  assert.equal(read(PACKAGES.words).licence, "unknown");
});

test("submissions.yaml can decide about the language", () => {
  const source = { path: "a", files: toFiles({ "a.c": "int main() {}", "b.cpp": "" }) };
  assert.throws(() => toProgram(source, languages), /^PackageError: a\/b\.cpp: is in another language/);
  assert.equal(toProgram(source, languages, { language: "c" })?.language.name, "c");
  assert.equal(toProgram(source, languages, { language: "cpp" })?.language.name, "cpp");
  assert.equal(toProgram(source, languages, { language: "cppgmp" }), null);
  assert.throws(
    () => toProgram(source, languages, { language: "python3" }),
    /^PackageError: a: has no file with an ending/,
  );
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
  symlinkSync("/etc/passwd", join(directory, ".git"));
  assert.deepEqual([...(await packageFromDirectory(directory)).keys()], ["problem.yaml"]);
  symlinkSync("/etc/passwd", join(directory, "data"));
  await assert.rejects(packageFromDirectory(directory), /^PackageError: data: is neither/);
});
