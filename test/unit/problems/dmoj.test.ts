import assert from "node:assert/strict";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { contentsOf } from "../../../src/problems/tests.ts";
import { packageFromZip, withArchive } from "../../../src/problems/zip.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { DMOJ, type PackageTexts, toFiles } from "../../support/problems/packages.ts";
import { zipOf } from "../../support/problems/zip.ts";

const languages = loadLanguages(LANGUAGES);
const read = (texts: PackageTexts) => readProblem(toFiles(texts), languages);

test("tests, batches and their dependencies of a package of DMOJ", () => {
  const { format, definition, tests, timing } = read(DMOJ);
  assert.deepEqual([format, timing.limitSecs], ["dmoj", null]);
  assert.deepEqual(
    definition.tests.map(({ name, group, points }) => [name, group, points]),
    [
      ["1", "pretests-1", 0],
      ["2", "cases-2", 5],
      ["3", "cases-2", 10],
      ["4.1", "batch-1", 10 / 3],
      ["4.2", "batch-1", 10 / 3],
      ["4.3", "batch-1", 10 / 3],
      ["5.1", "batch-2", 20],
    ],
  );
  assert.deepEqual(
    definition.groups.map(({ name, rule, depends }) => [name, rule, depends]),
    [
      ["pretests-1", "sum", []],
      ["cases-2", "sum", ["pretests-1"]],
      ["batch-1", "min", ["pretests-1"]],
      ["batch-2", "min", ["pretests-1", "batch-1"]],
    ],
  );
  assert.deepEqual(contentsOf(tests[1]).map(String), ["1 2\n", "3\n"]);
  assert.deepEqual(contentsOf(tests[2]).map(String), ["1\r2", "3"]);
  assert.deepEqual(tests[2]?.meta.checker, { type: "exact" });
  assert.deepEqual(tests[1]?.meta.checker, { type: "tokens", lineBreaks: true });
  assert.deepEqual(tests[6]?.meta.checker, { type: "floats", lineBreaks: true, absolute: 0.001, relative: 0 });
});

test("a checker of DMOJ of the type default has an interface of its own, without points", () => {
  for (const type of ["", ", type: default"]) {
    const init = `checker: {name: bridged, args: {files: check.cpp, lang: CPP20${type}}}\ntest_cases: [{in: a, out: a}]\n`;
    const { definition } = read({ "init.yml": init, a: "1", "check.cpp": "int main() {}" });
    assert.deepEqual(definition.tests[0]?.checker, { type: "program", interface: "dmoj", language: "cpp", args: [] });
    assert.equal(definition.passFail, undefined);
  }
});

test("a checker of DMOJ of the type testlib has the interface of testlib", () => {
  const init = `checker: {name: bridged, args: {files: [check.cpp, near.h], lang: CPP20, type: testlib}}
test_cases: [{in: a, out: a}]
`;
  const { definition, checker } = read({ "init.yml": init, a: "1", "check.cpp": "int main() {}", "near.h": "" });
  assert.deepEqual(definition.tests[0]?.checker, { type: "program", interface: "testlib", language: "cpp", args: [] });
  assert.deepEqual(
    checker?.options?.files.map(({ name }) => name),
    ["check.cpp", "near.h"],
  );
});

const ONE = "test_cases:\n- {in: a, out: a, points: 1}\n";
const WRONG: Readonly<Record<string, readonly [init: string, message: RegExp]>> = {
  "no tests": ["archive: a\n", /^init\.yml:1: test_cases: /],
  "patterns for tests": ["test_cases: {input_format: x}\n", /^init\.yml:1: test_cases: patterns are not supported/],
  "a missing file": ["test_cases:\n- {in: a, out: b}\n", /^init\.yml:2: out: b is not in the package$/],
  "a path that leads outside": [
    "test_cases:\n- {in: ../a, out: a}\n",
    /^init\.yml:2: in: \.\.\/a is not in the package$/,
  ],
  "code in a key": [`${ONE}points+: 1 + 1\n`, /^init\.yml:3: points\+: /],
  "a generator": [`${ONE}generator: g.cpp\n`, /^init\.yml:3: generator: /],
  "an interactor": [`${ONE}interactive: {files: i.cpp}\n`, /^init\.yml:3: interactive: /],
  "a grader in Python": [`${ONE}custom_judge: j.py\n`, /^init\.yml:3: custom_judge: /],
  "a checker in Python": [`${ONE}checker: check.py\n`, /^init\.yml:2: checker: check\.py is not supported$/],
  "a checker with other rules": [`${ONE}checker: linecount\n`, /checker: linecount is not supported$/],
  "a checker named like a property of objects": [
    `${ONE}checker: {name: constructor, args: {error_mode: absolute}}\n`,
    /checker: constructor is not supported$/,
  ],
  "a checker with other arguments": [
    `${ONE}checker: {name: floats, args: {precision: 3, error_mode: odd}}\n`,
    /checker: wrong arguments of floats$/,
  ],
  "a program with flags": [
    `${ONE}checker: {name: bridged, args: {files: a, lang: CPP20, flags: [-O3]}}\n`,
    /checker\.args: flags is not supported$/,
  ],
  "a program in an unknown language": [
    `${ONE}checker: {name: bridged, args: {files: a, lang: COBOL}}\n`,
    /checker\.args: COBOL is no installed language$/,
  ],
  "a dependency on itself": [
    "test_cases:\n- batched: [{in: a, out: a}]\n  dependencies: [1]\n",
    /^init\.yml:3: dependencies: 1 is not the number of an earlier batch$/,
  ],
  "points in a batch": [
    "test_cases:\n- batched:\n  - {in: a, points: 1}\n",
    /^init\.yml:3: points: a batch can have points, but not a case in it$/,
  ],
  "points whose sum is infinite": [
    `test_cases:\n${"- {in: a, out: a, points: 1.0e+308}\n".repeat(4)}`,
    /^init\.yml:2: test_cases\.0\.points: .*1000000/,
  ],
  "points of a batch beyond the bound": [
    "test_cases:\n- points: 1000001\n  batched:\n  - {in: a}\n",
    /^init\.yml:2: test_cases\.0\.points: .*1000000/,
  ],
  "points of all tests beyond the bound": [
    `${ONE.replace(", points: 1", "")}points: 1e7\n`,
    /^init\.yml:3: points: .*1000000/,
  ],
  "infinite points": ["test_cases:\n- {in: a, out: a, points: .inf}\n", /^init\.yml:2: test_cases\.0\.points: /],
  "points that are no number": [
    "test_cases:\n- {in: a, out: a, points: .nan}\n",
    /^init\.yml:2: test_cases\.0\.points: /,
  ],
  "an infinite tolerance": [
    `${ONE}checker: {name: floats, args: {precision: -400}}\n`,
    /^init\.yml:\d: checker: wrong arguments of floats$/,
  ],
  "a tolerance that is no number": [
    `${ONE}checker: {name: floats, args: {precision: .nan}}\n`,
    /^init\.yml:\d: checker: wrong arguments of floats$/,
  ],
  "more tests than a problem can have, by aliases": [
    `test_cases:\n- &batch\n  batched: [${"{in: a, out: a},".repeat(26)}]\n${"- *batch\n".repeat(20)}`,
    /test_cases: has more than 500 tests$/,
  ],
  "more output than a program can write": [
    `${ONE}output_limit_length: 25165825\n`,
    /output_limit_length: at most 16777216 bytes \(ASSAY_CEILINGS\)$/,
  ],
};
for (const [name, [init, message]] of Object.entries(WRONG))
  test(`a package of DMOJ with ${name} is a fault`, () => {
    assert.throws(() => read({ "init.yml": init, a: "1\n" }), { name: "PackageError", message });
  });

const [init, data] = [`archive: data.zip\n${ONE}`, zipOf([{ name: "a", data: "1" }])];

test("the data of a package of DMOJ can be in an archive, also in a ZIP file of the package", async () => {
  const whole = zipOf([
    { name: "aplusb/init.yml", data: init },
    { name: "aplusb/data.zip", data },
  ]);
  const direct = new Map([
    ["init.yml", Buffer.from(init)],
    ["data.zip", data],
  ]);
  for (const files of [await packageFromZip(whole), await withArchive(direct)]) {
    assert.deepEqual([...files.keys()], ["init.yml", "data.zip/a"]);
    assert.deepEqual(contentsOf(readProblem(files, languages).tests[0]).map(String), ["1\n", "1\n"]);
  }
});

test("the archive of a package of DMOJ has the bounds of a package", async () => {
  const inner = (members: Parameters<typeof zipOf>[0]) =>
    new Map([
      ["init.yml", Buffer.from(init)],
      ["data.zip", zipOf(members)],
    ]);
  const rejects = async (members: Parameters<typeof zipOf>[0], message: RegExp) =>
    await assert.rejects(withArchive(inner(members), 100_000), { name: "PackageError", message });
  await rejects([{ name: "a", data: "0".repeat(100_000) }], /^data\.zip\/a: a package has at most/);
  await rejects([{ name: "../a", data: "" }], /data\.zip/);
  await rejects([{ name: "a", data: "/etc/passwd", mode: 0o120777 }], /^data\.zip\/a: is a link that leads out/);
  await assert.rejects(withArchive(new Map([["init.yml", Buffer.from(init)]])), {
    message: "init.yml:1: archive: data.zip is not in the package",
  });
  const named = new Map([
    ["init.yml", Buffer.from("archive: data.dat\n")],
    ["data.dat", data],
  ]);
  await assert.rejects(withArchive(named), {
    message: "init.yml:1: archive: the name of data.dat must end with .zip",
  });
});
