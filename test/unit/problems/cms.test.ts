import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { readSubmissions } from "../../../src/problems/submissions.ts";
import { contentsOf } from "../../../src/problems/tests.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { CMS } from "../../support/problems/foreign-packages.ts";
import { type PackageTexts, toFiles } from "../../support/problems/packages.ts";

const languages = loadLanguages(LANGUAGES);
const read = (texts: PackageTexts) => readProblem(toFiles(texts), languages);
const without = (pattern: RegExp, texts: PackageTexts = CMS): PackageTexts =>
  Object.fromEntries(Object.entries(texts).filter(([path]) => !pattern.test(path)));
const withYaml = (more: string, texts: PackageTexts = CMS): PackageTexts => ({
  ...texts,
  "task.yaml": `${texts["task.yaml"]}${more}`,
});
const PLAIN = without(/^(gen|check)\//);

/** Each subtask with its rule, its points and the numbers of its tests. */
function subtasksOf(texts: PackageTexts) {
  const { definition } = read(texts);
  return definition.groups.map(({ name, rule, passFail }) => {
    const own = definition.tests.filter(({ group }) => group === name);
    const points = own.reduce((sum, one) => sum + one.points, 0);
    return [name, rule, points, own.map((one) => Number(one.name.slice(-3))).join(), ...(passFail ? ["passFail"] : [])];
  });
}

describe("a task of CMS", () => {
  test("has the subtasks of gen/GEN", () => {
    const { title, name, timing, scoring, definition, tests, untried } = read(CMS);
    assert.deepEqual([title, name, timing.limitSecs, scoring], ["A number nearby", "near", 1.5, true]);
    assert.deepEqual(subtasksOf(CMS), [
      ["subtask-1", "min", 0, "0"],
      ["subtask-2", "min", 40, "1,2"],
      ["subtask-3", "min", 60, "3,4"],
    ]);
    const { limits, streamFiles, streamFilesOnly } = definition.tests[3] ?? {};
    assert.deepEqual([limits?.memory_bytes, streamFilesOnly], [134_217_728, true]);
    assert.deepEqual(streamFiles, { "input.txt": "stdin", "output.txt": "stdout" });
    assert.equal(definition.tests[3]?.name, "subtask-3/003");
    assert.deepEqual(contentsOf(tests[3]).map(String), ["8\n", "80\n"]);
    assert.deepEqual(untried, ["gen/valida.py: validators of CMS are not run"]);
  });

  test("has the source of its checker, also if its program is there", () => {
    const { checker, definition } = read(CMS);
    assert.deepEqual(definition.checker, { type: "program", interface: "cms", language: "cpp", args: [] });
    assert.deepEqual(checker?.options?.files.map((file) => file.name).sort(), ["checker.cpp", "distance.h"]);
    const old = { ...without(/^check\//), "cor/correttore.py": "print(1.0)\n" };
    assert.deepEqual(read(old).definition.checker, { type: "program", interface: "cms", language: "python", args: [] });
  });

  test("can have graders in C and C++, which are compiled with submissions", () => {
    const graders = { "sol/grader.cpp": "1", "sol/grader.c": "2", "sol/near.h": "3", "sol/grader.py": "4" };
    const { harness, definition, submissions } = read({ ...CMS, ...graders });
    assert.deepEqual(
      Object.entries(harness ?? {}).map(([ending, { files }]) => [ending, files.map(({ name }) => name)]),
      [
        [".c", ["grader.c", "near.h"]],
        [".cpp", ["grader.cpp", "near.h"]],
      ],
    );
    assert.deepEqual(definition.languages, [".c", ".cpp"]);
    assert.ok(submissions.every(({ path }) => !path.includes("grader")));
    assert.deepEqual(read({ ...CMS, "sol/near.h": "" }).harness, null);
  });

  test("can have submissions of answers, whose files have the names of CMS", () => {
    for (const key of ["output_only: true", "task_type: OutputOnly"]) {
      const { definition } = read(withYaml(`${key}\n`));
      assert.deepEqual(definition.languages, ["plaintext"]);
      assert.deepEqual(
        definition.tests.map(({ answerFile }) => answerFile),
        [0, 1, 2, 3, 4].map((number) => `output_00${number}.txt`),
      );
    }
    assert.equal(read(withYaml("output_only: false\n")).definition.tests[0]?.answerFile, undefined);
  });

  test("has solutions named like the task, of which the official ones must be accepted", () => {
    const found = readSubmissions(toFiles(CMS), read(CMS), languages);
    assert.deepEqual(
      found.map(({ path, found: one, about }) => [
        path,
        one?.program.options?.entry ?? null,
        about.expectations.map(({ permitted }) => permitted.join()).join(),
      ]),
      [
        ["sol/nearly.py", "near.py", "AC,WA,TLE,RTE"],
        ["sol/solution.py", "near.py", "AC"],
        ["sol/soluzione.java", "near.java", "AC"],
        ["sol/template.pas", null, "AC,WA,TLE,RTE"],
      ],
    );
  });

  test("without subtasks and a checker compares words, and shares its value among its tests", () => {
    assert.deepEqual(read(PLAIN).definition.checker, { type: "tokens", lineBreaks: true });
    assert.deepEqual(subtasksOf(PLAIN), [["tests", "sum", 100, "0,1,2,3,4"]]);
    assert.deepEqual(subtasksOf(withYaml("total_value: 20\n", PLAIN)), [["tests", "sum", 20, "0,1,2,3,4"]]);
    const lines = { ...PLAIN, "gen/GEN": "1\n2\n#COPY: x\n\n  # nothing\n4 #5\n6" };
    assert.deepEqual(subtasksOf(lines), [["tests", "sum", 100, "0,1,2,3,4"]]);
    assert.equal(read(PLAIN).definition.tests[4]?.name, "004");
  });

  test("can have Italian keys, standard streams and no limits", () => {
    const yaml = "nome_breve: near\nnome: Vicino\ntimeout: 2\nmemlimit: 64\nn_input: 5\ninfile: ''\noutfile:\n";
    const { title, name, timing, definition } = read({ ...PLAIN, "task.yaml": yaml });
    assert.deepEqual([title, name, timing.limitSecs], ["Vicino", "near", 2]);
    const { limits, streamFiles, streamFilesOnly } = definition.tests[0] ?? {};
    assert.deepEqual([limits?.memory_bytes, streamFiles, streamFilesOnly], [67_108_864, undefined, undefined]);
    const unlimited = read({ ...PLAIN, "task.yaml": "name: near\nn_input: 5\ntime_limit:\n" });
    assert.ok((unlimited.timing.limitSecs ?? 0) >= 4);
    assert.ok((unlimited.definition.limits?.defaults?.execute?.memory_bytes ?? 0) >= 268_435_456);
  });

  const scored = (type: string, parameters: string, texts = PLAIN) =>
    subtasksOf(withYaml(`score_type: ${type}\nscore_type_parameters: ${parameters}\n`, texts));

  test("can describe its score", () => {
    assert.deepEqual(scored("Sum", "3"), [["tests", "sum", 15, "0,1,2,3,4"]]);
    assert.deepEqual(scored("GroupMin", "[[10, 2], [90.5, 3]]", CMS), [
      ["subtask-1", "min", 10, "0,1"],
      ["subtask-2", "min", 90.5, "2,3,4"],
    ]);
    assert.deepEqual(scored("GroupMul", "[[10, ['004', '000']], {max_score: 5, testcases: ['001', '002', '003']}]"), [
      ["subtask-1", "min", 10, "4,0", "passFail"],
      ["subtask-2", "min", 5, "1,2,3", "passFail"],
    ]);
    assert.deepEqual(scored("GroupThreshold", "[[100, 5, 1.0]]"), [["subtask-1", "min", 100, "0,1,2,3,4"]]);
    assert.deepEqual(subtasksOf(withYaml("score_type: GroupMin\n")), subtasksOf(CMS));
  });

  const WRONG_SCORES: Readonly<Record<string, readonly [type: string, parameters: string, message: RegExp]>> = {
    "of another type": ["GroupMax", "[[1, 5]]", /^task\.yaml:9: score_type: GroupMax is not supported$/],
    "named like a property of objects": ["constructor", "[[1, 5]]", /score_type: constructor is not supported$/],
    "of a single number for groups": ["GroupMin", "5", /^task\.yaml:10: score_type_parameters: /],
    "beyond doubles": ["Sum", "1.0e+999", /^task\.yaml:10: score_type_parameters: /],
    "that is no number": ["Sum", ".nan", /^task\.yaml:10: score_type_parameters: /],
    "of infinite subtasks": ["GroupMin", "[[.inf, 5]]", /^task\.yaml:10: score_type_parameters: /],
    "that is negative": ["GroupMin", "[[-1, 5]]", /^task\.yaml:10: score_type_parameters: /],
    "of a huge number of tests": ["GroupMin", "[[1, 1000000000000]]", /^task\.yaml:10: score_type_parameters: /],
    "of more tests than there are": ["GroupMin", "[[1, 4], [1, 2]]", /there are only 5 tests$/],
    "of fewer tests than there are": ["GroupMin", "[[1, 4]]", /1 tests are in no subtask$/],
    "of a test that is there twice": ["GroupMin", "[[1, ['000', '000', '001']]]", /a test in several subtasks/],
    "of tests that do not exist": ["GroupMin", "[[1, ['0', '1']]]", /there are only 5 tests$/],
    "with a regular expression": ["GroupMin", "[[1, '(0*)*1']]", /a number of tests or a list of their names/],
    "with two ways to name tests": ["GroupMin", "[[1, 3], [1, ['003', '004']]]", /all subtasks must have either/],
    "with a threshold that rejects": ["GroupThreshold", "[[1, 5, 0.5]]", /only thresholds of at least 1/],
    "without a threshold": ["GroupThreshold", "[[1, 5]]", /only thresholds of at least 1/],
    "of too many subtasks": ["GroupMin", `[${"[1, 1],".repeat(101)}]`, /^task\.yaml:10: score_type_parameters: /],
  };
  for (const [what, [type, parameters, message]] of Object.entries(WRONG_SCORES))
    test(`whose score is ${what} is refused`, () => {
      assert.throws(() => scored(type, parameters), { name: "PackageError", message });
    });
});

const WRONG: Readonly<Record<string, readonly [texts: PackageTexts, message: RegExp]>> = {
  "with a grader in another language only": [
    { ...CMS, "sol/grader.py": "" },
    /^sol\/grader\.py: only graders in C and C\+\+ are supported$/,
  ],
  "with a grader that is too large": [
    { ...CMS, "sol/grader.cpp": "x".repeat(1_048_577) },
    /^sol\/grader\.cpp: adds more than 12 files or 1048576 bytes to submissions$/,
  ],
  "with a header that no file of a program can be": [
    { ...CMS, "sol/grader.cpp": "", "sol/-o.h": "" },
    /^sol\/-o\.h: has no possible name for a file that is compiled with submissions$/,
  ],
  "of the type Communication": [
    { ...CMS, "check/manager.cpp": "" },
    /^check\/manager\.cpp: tasks of the type Communication/,
  ],
  "of the type Communication with old names": [{ ...CMS, "cor/manager": "" }, /^cor\/manager: tasks of the type Comm/],
  "of the type OutputOnly with more tests than a submission has files": [
    {
      ...CMS,
      "task.yaml": "name: near\noutput_only: true\nn_input: 49\n",
      "gen/GEN": "1\n".repeat(49),
    },
    /^task\.yaml:3: has more than 48 tests, for each of which a submission has a file$/,
  ],
  "with some submitted outputs": [withYaml("output_only_testcases: 0,1\n"), /^task\.yaml:9: output_only_testcases: /],
  "of a type that it names": [
    withYaml("task_type: TwoSteps\n"),
    /^task\.yaml:9: task_type: only Batch and OutputOnly are supp/,
  ],
  "with a checker without its source": [without(/checker\.cpp$/), /^check\/checker: is a compiled program: its source/],
  "with two checkers": [{ ...CMS, "cor/correttore.py": "" }, /is a second checker besides/],
  "with a checker in a language that is not installed": [
    { ...without(/^check\//), "check/checker.pas": "" },
    /^check\/checker\.pas: is in no installed language$/,
  ],
  "without its tests": [
    without(/input3/),
    /^input\/input3\.txt: is missing: make the tests of the task first, with gen\/GEN$/,
  ],
  "without an answer": [without(/output4/), /^output\/output4\.txt: is missing/],
  "with another number of tests": [
    { ...CMS, "gen/GEN": "#ST: 100\n1\n" },
    /^task\.yaml:5: n_input: is 5, but gen\/GEN has 1 tests$/,
  ],
  "without a number of tests": [
    { ...PLAIN, "task.yaml": "name: near\n" },
    /^task\.yaml:1: has neither n_input nor gen\/GEN$/,
  ],
  "with no tests": [{ ...PLAIN, "task.yaml": "name: near\nn_input: 0\n" }, /n_input: there are no tests$/],
  "with a huge number of tests": [
    { ...PLAIN, "task.yaml": "name: near\nn_input: 1000000000\n" },
    /n_input: more than 500 tests$/,
  ],
  "with a long gen/GEN": [{ ...CMS, "gen/GEN": "1\n".repeat(500_000) }, /^gen\/GEN:501: has more than 500 tests$/],
  "with a huge gen/GEN": [{ ...CMS, "gen/GEN": "\n".repeat(1_048_577) }, /^gen\/GEN: has more than 1048576 bytes$/],
  "with many subtasks": [
    { ...CMS, "gen/GEN": "#ST: 1\n1\n".repeat(200) },
    /^gen\/GEN:201: has more than 100 subtasks$/,
  ],
  "with a test before its subtasks": [
    { ...CMS, "gen/GEN": "1\n#ST: 100\n2\n" },
    /^gen\/GEN:2: the tests before are in no/,
  ],
  "with a test and a command in one line": [
    { ...CMS, "gen/GEN": "1 #ST: 5\n" },
    /^gen\/GEN:1: has a test and a command/,
  ],
  "with points that are no number": [
    { ...CMS, "gen/GEN": "#ST: ten\n1\n" },
    /^gen\/GEN:1: the points of a subtask must be/,
  ],
  "with points beyond doubles": [{ ...CMS, "gen/GEN": `#ST: ${"9".repeat(400)}\n1\n` }, /^gen\/GEN:1: the points of a/],
  "with points for no tests": [
    { ...CMS, "gen/GEN": "#ST: 50\n1\n2\n3\n4\n5\n#ST: 50\n" },
    /^gen\/GEN: subtask 2 has points, but no tests$/,
  ],
  "with a score type without parameters": [
    withYaml("score_type: GroupMul\n"),
    /score_type: is GroupMul, but GroupMin follows/,
  ],
  "with parameters without a score type": [
    withYaml("score_type_parameters: 1\n"),
    /score_type_parameters: has no effect/,
  ],
  "with an output file elsewhere": [withYaml("outfile: ../output.txt\n"), /^task\.yaml:9: outfile: is no plain name/],
  "with a long time limit": [
    { ...PLAIN, "task.yaml": "name: near\nn_input: 5\ntimeout: 999999\n" },
    /^task\.yaml:3: timeout: the ceiling of this service is/,
  ],
  "with a time limit beyond doubles": [
    { ...PLAIN, "task.yaml": "name: near\nn_input: 5\ntime_limit: 1.0e+400\n" },
    /^task\.yaml:3: time_limit: /,
  ],
  "with a title of several lines": [
    { ...PLAIN, "task.yaml": 'name: near\nn_input: 5\ntitle: "a\\e[2J"\n' },
    /^task\.yaml:3: title: must be at most 200 characters/,
  ],
};

for (const [what, [texts, message]] of Object.entries(WRONG))
  test(`a task of CMS ${what} is refused`, () => {
    assert.throws(() => read(texts), { name: "PackageError", message });
  });
