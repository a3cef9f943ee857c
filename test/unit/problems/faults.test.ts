import assert from "node:assert/strict";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { MAX_FAULTS, UnavailableError } from "../../../src/problems/faults.ts";
import { PackageError } from "../../../src/problems/files.ts";
import { openImport, type PackageRuns } from "../../../src/problems/import.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { CMS, POLYGON } from "../../support/problems/foreign-packages.ts";
import { PACKAGES, type PackageTexts, toFiles } from "../../support/problems/packages.ts";

const languages = loadLanguages(LANGUAGES);
const NOTHING_RUNS: PackageRuns = {
  make: async () => assert.fail("a program makes a test"),
  measure: async () => assert.fail("the time limit is measured"),
};

const open = (texts: PackageTexts, allowFaults: boolean, runs = NOTHING_RUNS, timeLimitSecs: number | undefined = 1) =>
  openImport(toFiles(texts), languages, { name: "x", timeLimitSecs, allowFaults }, runs);

const CASE = "test_cases: [{in: a, out: a}]\n";
const dmoj = (init: string, more: PackageTexts = {}): PackageTexts => ({ "init.yml": init, a: "1\n", ...more });
const BRIDGED = "{name: bridged, args: {files: c.py, lang: PY3, type: not-a-type}}";

const withoutChecker = (texts: PackageTexts): PackageTexts =>
  Object.fromEntries(Object.entries(texts).filter(([path]) => !path.startsWith("check/")));

const FAULTY: readonly (readonly [name: string, texts: PackageTexts, fault: RegExp])[] = [
  [
    "the type of a checker",
    dmoj(`checker: ${BRIDGED}\n${CASE}`, { "c.py": "" }),
    /type: not-a-type is none of default/,
  ],
  [
    "the type of an interactor",
    dmoj(`interactive: {files: c.py, type: nope}\n${CASE}`, { "c.py": "" }),
    /type: nope is none/,
  ],
  ["an unknown checker", dmoj(`checker: mystery\n${CASE}`), /checker: mystery is not supported/],
  ["a grader", dmoj(`custom_judge: g.py\n${CASE}`, { "g.py": "class Grader(Own): pass" }), /must be a subclass/],
  ["a missing checker", dmoj(`checker: near.py\n${CASE}`), /near\.py is not in the package/],
  ["a missing signature", dmoj(`signature_grader: {entry: a.c, header: a.h}\n${CASE}`), /a\.c is not in the package/],
  ["a missing generator", dmoj("generator: gen.cc\ntest_cases: [{}]\n"), /gen\.cc is not in the package/],
  [
    "settings of a generator that contradict each other",
    dmoj("generator: gen.cc\ntest_cases: [{in: a, generator_args: [1]}]\n", { "gen.cc": "" }),
    /generator_args: the test has an input/,
  ],
  [
    "an output validator in no language",
    { ...PACKAGES.sum, "problem.yaml": "name: X\nvalidation: custom\n", "output_validators/v.unknown": "" },
    /output_validators\/v\.unknown: is in no installed language/,
  ],
  ["included files", { ...PACKAGES.sum, "include/main.py": "" }, /include\/main\.py: is in no directory of a language/],
  [
    "a checker of Polygon",
    { ...POLYGON, "problem.xml": (POLYGON["problem.xml"] ?? "").replace('type="testlib"', 'type="own"') },
    /checkers of the type own are not supported/,
  ],
  ["a checker of CMS", { ...withoutChecker(CMS), "check/checker": "" }, /check\/checker: is a compiled program/],
];

for (const [name, texts, fault] of FAULTY)
  test(`a package is refused for ${name}, or becomes a faulty version if that is allowed`, async () => {
    await assert.rejects(open(texts, false), { name: "PackageError", message: fault });
    // Nothing runs for a faulty version, also if it has no time limit.
    const { importable } = await open(texts, true, NOTHING_RUNS, undefined);
    const { faults = [], tests } = importable.definition;
    assert.equal(faults.length, 1, faults.join("\n"));
    assert.match(faults[0] ?? "", fault);
    assert.equal(importable.contents.length, tests.length);
  });

test("a package without a fault is no faulty version, and faults of its structure are never allowed", async () => {
  const { importable } = await open(dmoj(CASE), true);
  assert.equal("faults" in importable.definition, false);
  for (const [init, message] of [
    ["unknown: 1\n", /unknown/],
    [`test_cases: [${"{in: a},".repeat(501)}]\n`, /more than 500 tests/],
    [`output_limit_length: 999999999999\n${CASE}`, /output_limit_length/],
  ] as const)
    await assert.rejects(open(dmoj(`${init}checker: mystery\n${init.includes("test_cases") ? "" : CASE}`), true), {
      name: "PackageError",
      message,
    });
});

test("the faults of a version are few, short, plain texts, and are not looked for further", async () => {
  const cases = Array.from({ length: 500 }, (_, at) => `- {in: a, checker: "no${at}\\e[31m${"x".repeat(90)}"}\n`);
  const many = await open(dmoj(`test_cases:\n${cases.join("")}`), true);
  const { faults = [] } = many.importable.definition;
  assert.equal(faults.length, MAX_FAULTS);
  assert.match(faults[MAX_FAULTS - 1] ?? "", /no19 \[31mx/);
  const long = await open(dmoj(`checker: "${"y".repeat(5_000)}"\n${CASE}`), true);
  assert.equal(long.importable.definition.faults?.[0]?.length, 500);
  // The same fault of all tests is one.
  const same = await open(dmoj(`interactive: {files: c.py}\ntest_cases: [${"{in: a},".repeat(300)}]\n`), true);
  assert.equal(same.importable.definition.faults?.length, 1);
});

const MADE = dmoj("generator: make.py\ntest_cases: [{}, {}]\n", { "make.py": "" });

test("a generator that fails is a fault, but not that it cannot run here", async () => {
  const failing = (error: Error): PackageRuns => ({
    ...NOTHING_RUNS,
    make: async ({ runs }) => {
      runs[0]?.stdout?.fill(Buffer.from("made\n"));
      throw error;
    },
  });
  const compiler = failing(new PackageError("init.yml: test 1", "does not compile"));
  await assert.rejects(open(MADE, false, compiler), { message: /does not compile/ });
  const { importable, read } = await open(MADE, true, compiler);
  assert.deepEqual(importable.definition.faults, ["init.yml: test 1: does not compile"]);
  assert.deepEqual([read(0, 0), read(0, 1), read(1, 0), read(1, 1)].map(String), ["made\n", "", "", ""]);
  for (const error of [new UnavailableError("the package", "use the command"), new Error("the slot is lost")])
    await assert.rejects(open(MADE, true, failing(error)), error);
});
