import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { readSubmissions } from "../../../src/problems/submissions.ts";
import { contentsOf } from "../../../src/problems/tests.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { POLYGON, POLYGON_FILES, POLYGON_INTERACTIVE } from "../../support/problems/foreign-packages.ts";
import { type PackageTexts, toFiles } from "../../support/problems/packages.ts";

const languages = loadLanguages(LANGUAGES);
const read = (texts: PackageTexts) => readProblem(toFiles(texts), languages);

/** The package with another problem.xml, in which the text `from` is replaced. */
function changed(from: string | RegExp, to: string, texts: PackageTexts = POLYGON): PackageTexts {
  const before = texts["problem.xml"] ?? "";
  const after = before.replace(from, () => to);
  assert.notEqual(after, before);
  return { ...texts, "problem.xml": after };
}

describe("a package of Polygon", () => {
  test("has tests with groups and points, in the order of the dependencies", () => {
    const problem = read(POLYGON);
    const { definition, tests, timing, title, scoring, name } = problem;
    assert.deepEqual([title, name, scoring, timing.limitSecs], ["Square & root", "square", true, 1.5]);
    assert.deepEqual(definition.groups, [
      { name: "samples", rule: "sum", depends: [] },
      { name: "small", rule: "sum", depends: [] },
      { name: "large", rule: "min", passFail: true, depends: ["samples", "small"] },
    ]);
    assert.deepEqual(
      definition.tests.map((one) => [one.name, one.group, one.points]),
      [
        ["samples/01", "samples", 0],
        ["small/04", "small", 15.5],
        ["small/05", "small", 24.5],
        ["large/02", "large", 30],
        ["large/03", "large", 30],
      ],
    );
    assert.deepEqual(contentsOf(tests[3]).map(String), ["70\n", "4900\n"]);
    assert.equal(definition.tests[0]?.limits.memory_bytes, 134_217_728);
  });

  test("has a checker with the headers beside it, and validators with arguments", () => {
    const { checker, definition, inputs, outputs, validatorAccepts } = read(POLYGON);
    assert.deepEqual(definition.checker, { type: "program", interface: "testlib", language: "cpp", args: [] });
    assert.deepEqual(checker?.options?.files.map((file) => file.name).sort(), ["check.cpp", "testlib.h"]);
    assert.equal(validatorAccepts, 0);
    assert.deepEqual(
      inputs.map(({ path, args, isValid, validator }) => [path, args[""], isValid, validator !== undefined]),
      [
        ["tests/01", ["--testset", "tests", "--group", "samples"], true, false],
        ["tests/04", ["--testset", "tests", "--group", "small"], true, false],
        ["tests/05", ["--testset", "tests", "--group", "small"], true, false],
        ["tests/02", ["--testset", "tests", "--group", "large"], true, false],
        ["tests/03", ["--testset", "tests", "--group", "large"], true, false],
        ["files/tests/validator-tests/01", [], true, true],
        ["files/tests/validator-tests/02", [], false, true],
        ["files/tests/validator-tests/03", ["--group", "small"], false, true],
      ],
    );
    assert.deepEqual(
      outputs.map(({ path, verdict }) => [path, verdict]),
      [
        ["files/tests/checker-tests/01.o", "AC"],
        ["files/tests/checker-tests/02.o", "WA"],
        ["files/tests/checker-tests/03.o", "WA"],
        ["files/tests/checker-tests/04.o", "IE"],
      ],
    );
  });

  test("has solutions whose tags are expectations", () => {
    const problem = read(POLYGON);
    const found = readSubmissions(toFiles(POLYGON), problem, languages);
    assert.deepEqual(
      found.map(({ path, found: one, about }) => [
        path.replace("solutions/", ""),
        one?.language.name ?? null,
        about.expectations.map(({ tests, permitted, required }) =>
          [tests ?? "all", permitted.join(), required.length > 3 ? "any" : required.join()].join(" "),
        ),
      ]),
      [
        ["square.py", "python", ["all AC any"]],
        ["small.py", "python", ["all AC,WA WA", "small AC any"]],
        ["waits.py", "python", ["all AC,TLE TLE"]],
        ["eats.py", "python", ["all AC,MLE MLE"]],
        ["maybe.py", "python", ["all AC,TLE any"]],
        ["fails.py", "python", ["all AC,WA,TLE,RTE WA,TLE,RTE"]],
        ["square.dpr", null, ["all AC any"]],
      ],
    );
    assert.deepEqual(problem.untried, ["solutions/breaks.py: its tag failed means that the checker fails"]);
  });

  test("has no points if all tests have none", () => {
    const { scoring, definition } = read(POLYGON_INTERACTIVE);
    assert.deepEqual([scoring, definition.passFail], [false, true]);
    assert.deepEqual(
      definition.tests.map(({ name, group }) => [name, group]),
      [
        ["01", "tests"],
        ["02", "tests"],
      ],
    );
  });

  test("has one program for an interactor and the checker after it", () => {
    const { definition, checker } = read(POLYGON_INTERACTIVE);
    const spec = { type: "program", interface: "testlib", args: [], language: "multifile", interactive: true };
    assert.deepEqual(definition.checker, spec);
    const names = checker?.options?.files.map((file) => file.name).sort();
    assert.deepEqual(names, ["checker.cpp", "compile.sh", "interactor.cpp", "run.sh", "testlib.h"]);
    assert.equal(checker?.options?.entry, "run.sh");
    assert.deepEqual(read(POLYGON_INTERACTIVE).untried, []);
    const own = "<testset><test-count>1</test-count></testset></checker>";
    assert.equal(read(changed("</checker>", own, POLYGON_INTERACTIVE)).untried?.length, 1);
  });

  test("can have files for the input and the output, and line ends of Windows", () => {
    const { definition, tests } = read(POLYGON_FILES);
    for (const { streamFiles, streamFilesOnly } of definition.tests) {
      assert.deepEqual(streamFiles, { "twice.in": "stdin", "twice.out": "stdout" });
      assert.equal(streamFilesOnly, true);
    }
    // Where one line ends otherwise, a carriage return can be a part of the content.
    assert.deepEqual(
      tests.map((one) => contentsOf(one).map(String)),
      [
        ["20\n1\n", "40\n"],
        ["20\n1\r\n", "40"],
      ],
    );
  });

  test("with run-count 1, stdin and stdout, or without a type of the checker is usual", () => {
    const usual = changed('input-file="" output-file=""', 'input-file="stdin" output-file="stdout"');
    const [meta] = read(usual).definition.tests;
    assert.deepEqual([meta?.streamFiles, meta?.streamFilesOnly], [undefined, undefined]);
    assert.equal(read(changed(' run-count="1"', "")).tests.length, 5);
    assert.equal(read(changed(/std::ncmp.cpp" type="testlib"/, 'x"')).tests.length, 5);
  });

  test("whose test set is the only one need not call it tests", () => {
    assert.equal(read(changed('testset name="tests"', 'testset name="main"')).tests.length, 5);
    const two = changed('<testset name="tests">', '<testset name="a"></testset><testset name="b">');
    assert.throws(() => read(two), { message: /^problem\.xml:4: no testset is named tests$/ });
  });
});

const WRONG: Readonly<Record<string, readonly [texts: PackageTexts, message: RegExp]>> = {
  "of another kind": [{ "problem.xml": "<contest/>" }, /^problem\.xml:1: is no problem$/],
  "without tests": [{ "problem.xml": "<problem/>" }, /^problem\.xml:1: problem has no judging$/],
  "without generated tests": [
    Object.fromEntries(Object.entries(POLYGON).filter(([path]) => path !== "tests/02")),
    /^tests\/02: is missing: only full packages contain the generated tests and the answers$/,
  ],
  "without answers": [
    Object.fromEntries(Object.entries(POLYGON).filter(([path]) => path !== "tests/01.a")),
    /^tests\/01\.a: is missing: only full packages/,
  ],
  "without the source of its checker": [
    Object.fromEntries(Object.entries(POLYGON).filter(([path]) => path !== "files/check.cpp")),
    /^files\/check\.cpp: is missing$/,
  ],
  "whose programs run twice": [changed('run-count="1"', 'run-count="2"'), /^problem\.xml:4: run-count: 2 runs/],
  "with a scorer": [changed("<assets>", "<assets><scorer/>"), /^problem\.xml:14: scorer: is not supported$/],
  "with a grader that is missing": [
    changed(
      '<file path="files/testlib.h" type="h.g++"/>',
      '<file path="g.cpp"><assets><asset name="SOLUTION"/></assets></file>',
    ),
    /^g\.cpp: is missing$/,
  ],
  "with a resource for the runs of submissions": [
    changed(
      '<file path="files/testlib.h" type="h.g++"/>',
      '<file path="files/testlib.h"><stages><stage name="RUN"/></stages><assets><asset name="SOLUTION"/></assets></file>',
    ),
    /^problem\.xml:12: files\/testlib\.h: only sources and headers in C and C\+\+ that are compiled/,
  ],
  "with a resource that is no source": [
    changed(
      '<file path="files/testlib.h" type="h.g++"/>',
      '<file path="doall.sh"><assets><asset name="SOLUTION"/></assets></file>',
    ),
    /^problem\.xml:12: doall\.sh: only sources and headers in C and C\+\+/,
  ],
  "with headers for submissions, but no source": [
    changed(
      '<file path="files/testlib.h" type="h.g++"/>',
      '<file path="files/testlib.h"><assets><asset name="SOLUTION"/></assets></file>',
    ),
    /^files\/testlib\.h: is compiled with submissions, but is no source in C or C\+\+$/,
  ],
  "with a checker of another type": [
    changed('type="testlib"', 'type="acm"'),
    /checkers of the type acm are not supported$/,
  ],
  "with a checker in a language that is not installed": [
    changed(
      '<source path="files/check.cpp" type="cpp.g++17"/><copy',
      '<source path="files/check.cpp" type="pas.fpc"/><copy',
    ),
    /^files\/check\.cpp: is in no installed language$/,
  ],
  "with an interactor in another language": [
    {
      ...changed("files/interact.cpp", "files/interact.py", POLYGON_INTERACTIVE),
      "files/interact.py": "",
    },
    /^files\/interact\.py: an interactor and its checker must be in C\+\+$/,
  ],
  "interactive with files": [
    changed('<judging run-count="1">', '<judging input-file="x">', POLYGON_INTERACTIVE),
    /^problem\.xml:1: an interactive problem has neither an input file nor an output file$/,
  ],
  "with an input file elsewhere": [
    changed('input-file=""', 'input-file="../x"'),
    /input-file: is no plain name of a file$/,
  ],
  "with an input file that is a link": [
    changed('input-file=""', 'input-file="/dev/sda"'),
    /input-file: is no plain name/,
  ],
  "with too many tests": [
    changed("<test-count>5", "<test-count>501"),
    /^problem\.xml:5: test-count: more than 500 tests$/,
  ],
  "with a huge number of tests": [changed("<test-count>5", "<test-count>999999999999"), /test-count: more than 500/],
  "with no number of tests": [changed("<test-count>5", "<test-count>5e3"), /test-count: must be a whole number$/],
  "with another number of tests": [
    changed("<test-count>5", "<test-count>4"),
    /test-count: is 4, but there are 5 tests$/,
  ],
  "with a pattern of a huge width": [
    changed("tests/%02d<", "tests/%999999999d<"),
    /^problem\.xml:5: input-path-pattern: must have one number in the form %d or %02d$/,
  ],
  "with a pattern of another kind": [changed("tests/%02d<", "tests/%s<"), /input-path-pattern: must have one number/],
  "with a pattern of two numbers": [changed("tests/%02d<", "%d/%d<"), /input-path-pattern: must have one number/],
  "with a pattern that leads outside": [changed("tests/%02d<", "../%02d<"), /^\.\.\/01: is missing/],
  "with a long time limit": [
    changed(">1500<", ">999999<"),
    /^problem\.xml:5: time-limit: the ceiling of this service is/,
  ],
  "without a time limit": [changed(">1500<", ">0<"), /^problem\.xml:5: time-limit: must be positive$/],
  "with a fractional time limit": [changed(">1500<", ">1.5<"), /time-limit: must be a whole number$/],
  "with too much memory": [
    changed(">134217728<", ">999999999999<"),
    /^problem\.xml:5: memory-limit: the ceiling of this service is/,
  ],
  "with a group that depends on itself": [
    changed('<dependency group="samples"/>', '<dependency group="large"/>'),
    /^problem\.xml:7: the group large depends on itself, or on groups that do$/,
  ],
  "with a cycle of groups": [
    changed(
      '<group name="samples" points-policy="each-test" feedback-policy="complete"/>',
      '<group name="samples"><dependencies><dependency group="large"/></dependencies></group>',
    ),
    /the group samples depends on itself, or on groups that do$/,
  ],
  "with a dependency on no group": [
    changed('<dependency group="small"/>', '<dependency group="tiny"/>'),
    /there is no group tiny$/,
  ],
  "with a group that is there twice": [
    changed('<group name="samples"', '<group name="small"'),
    /the group small is there twice$/,
  ],
  "with another policy": [
    changed('points-policy="each-test"', 'points-policy="best"'),
    /points-policy: best is none of each-test, complete-group$/,
  ],
  "with points of a group that are not those of its tests": [
    changed('<group name="small" ', '<group name="small" points="41" '),
    /points: are 41, but those of the tests of the group are 40$/,
  ],
  "with negative points": [changed('points="15.5"', 'points="-1"'), /points: must be a number from 0 to 1000000$/],
  "with points beyond doubles": [
    changed('points="15.5"', 'points="1e999"'),
    /points: must be a number from 0 to 1000000$/,
  ],
  "with too many points": [changed('points="15.5"', 'points="1000001"'), /points: must be a number from 0 to 1000000$/],
  "with a name of a group that is a pattern": [
    changed(/group="samples"/g, 'group="*"'),
    /the name of a group has at most 64 characters/,
  ],
  "with a name of a group of several lines": [
    changed(/group="samples"/g, 'group="a&#10;b"'),
    /the name of a group has/,
  ],
  "with a title of several lines": [
    changed("Square", "Square&#9;"),
    /^problem\.xml:3: the name of a problem has at most/,
  ],
  "with an unknown tag": [changed('tag="main"', 'tag="constructor"'), /tag: constructor is not supported$/],
  "with a tag of a group without tests": [
    changed('<extra-tag group="small"', '<extra-tag group="x"'),
    /there is no group x with tests$/,
  ],
  "with a solution that is there twice": [
    changed("solutions/waits.py", "solutions/small.py"),
    /the solution solutions\/small\.py is there twice$/,
  ],
  "without one of its solutions": [
    changed("solutions/waits.py", "solutions/none.py"),
    /^solutions\/none\.py: is missing$/,
  ],
  "with an unknown verdict of a test of its validator": [
    changed('verdict="invalid"', 'verdict="odd"'),
    /verdict: odd is not supported$/,
  ],
  "with an unknown verdict of a test of its checker": [
    changed('verdict="ok"', 'verdict="toString"'),
    /verdict: toString is not supported$/,
  ],
  "with a group that has the name of tests without one": [
    changed(/group="samples" points="0.0"/, 'points="0.0"', {
      ...POLYGON,
      "problem.xml": POLYGON["problem.xml"]?.replace('<group name="samples"', '<group name="tests"') ?? "",
    }),
    /^problem\.xml:6: the group tests has the name that tests without a group get$/,
  ],
  "with many validators": [
    changed("<validators>", `<validators>${'<validator><source path="files/validate.cpp"/></validator>'.repeat(16)}`),
    /^problem\.xml:14: has more than 16 validators$/,
  ],
  "without a test of its checker": [
    changed("checker-tests/%02d.o", "checker-tests/%02d.out"),
    /^files\/tests\/checker-tests\/01\.out: is missing$/,
  ],
};

for (const [what, [texts, message]] of Object.entries(WRONG))
  test(`a package of Polygon ${what} is refused`, () => {
    assert.throws(() => read(texts), { name: "PackageError", message });
  });
