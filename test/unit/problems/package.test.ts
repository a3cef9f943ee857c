import assert from "node:assert/strict";
import { test } from "node:test";
import { groupScores, mostPoints } from "../../../src/domain/judgement.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { defaultValidator } from "../../../src/problems/default-validator.ts";
import { matches } from "../../../src/problems/expectations.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { readSubmissions } from "../../../src/problems/submissions.ts";
import { argumentsOf } from "../../../src/problems/verify.ts";
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
      ["secret/1-small/1", "secret/1-small", 0],
      ["secret/2-sum/1", "secret/2-sum", 15],
      ["secret/2-sum/2", "secret/2-sum", 15],
      ["secret/3-large/1", "secret/3-large", 40],
    ],
  );
  assert.deepEqual(
    definition.groups.map(({ name, rule, depends, parent }) => [name, rule, depends, parent]),
    [
      ["sample", "sum", [], undefined],
      ["secret", "sum", [], undefined],
      ["secret/1-small", "all", [], "secret"],
      ["secret/2-sum", "sum", ["secret/1-small"], "secret"],
      ["secret/3-large", "least", ["sample", "secret/1-small"], "secret"],
    ],
  );
  // A score in a group with pass-fail aggregation is an error of the judge, and one of a sample is ignored.
  assert.deepEqual(
    definition.tests.map((_, test) => mostPoints(definition, test)),
    [0, null, 15, 15, 40],
  );
  assert.deepEqual(definition.tests[0]?.limits, { memory_bytes: 134_217_728 });
  assert.deepEqual(definition.limits?.defaults?.execute, { stdout_bytes: 8_388_608 });
  assert.equal(String(tests[1]?.parts[0].read()), "15\n");
});

test("files of include are added by the ending of a source, those of default to all other languages", () => {
  const include = { "include/default/a.txt": "1", "include/python3/main.py": "2", "include/python2/x.py": "3" };
  const { harness } = read({ ...PACKAGES.factors, ...include });
  assert.deepEqual(
    harness?.[".py"]?.files.map(({ name, data }) => [name, String(data)]),
    [["main.py", "2"]],
  );
  assert.deepEqual(
    harness?.[".cpp"]?.files.map(({ name }) => name),
    ["a.txt"],
  );
  const faults: [PackageTexts, RegExp][] = [
    [{ "include/a.txt": "" }, /^include\/a\.txt: is in no directory of a language$/],
    [{ "include/cpp/-o": "" }, /^include\/cpp\/-o: is not a valid name of a file$/],
    [
      Object.fromEntries(Array.from({ length: 13 }, (_, at) => [`include/cpp/${at}.h`, ""])),
      /^include: adds more than 12 files or 1048576 bytes to submissions$/,
    ],
  ];
  for (const [texts, message] of faults)
    assert.throws(() => read({ ...PACKAGES.factors, ...texts }), { name: "PackageError", message });
});

test("every name of a version that packages use is known, and drafts can have the groups of either version", () => {
  const { "problem.yaml": head = "", ...rest } = PACKAGES.factors;
  const named = (version: string) => ({ "problem.yaml": head.replace("2025-09", version), ...rest });
  const wanted = read(PACKAGES.factors);
  for (const version of ["2025-09", "2025-09-draft", "2023-07", "2023-07-draft", "draft"])
    assert.deepEqual(read(named(version)).definition, wanted.definition, version);
  for (const version of ["legacy", "legacy-icpc"])
    assert.deepEqual(
      read({ ...PACKAGES.root, "problem.yaml": `problem_format_version: ${version}\n${PACKAGES.root["problem.yaml"]}` })
        .definition,
      read(PACKAGES.root).definition,
      version,
    );
  const { "problem.yaml": _, ...grouped } = PACKAGES.root;
  const draft = "problem_format_version: 2023-07-draft\nname: Square root\ntype: scoring\n";
  assert.deepEqual(
    read({ "problem.yaml": draft, ...grouped }).definition.groups,
    read(PACKAGES.root).definition.groups,
  );
  assert.throws(
    () => read({ "problem.yaml": draft.replace("2023-07-draft", "2025-09"), ...grouped }),
    /testdata\.yaml/,
  );
  assert.throws(
    () => read({ "problem.yaml": draft, ...grouped, "data/secret/1-exact/1.yaml": "args: [a]\n" }),
    /1\.yaml: would not be read: where testdata\.yaml has the settings of tests, a test has none of its own/,
  );
  const { "problem.yaml": newer = "", ...ungrouped } = PACKAGES.words;
  const elsewhere = {
    "problem.yaml": newer.replace("2025-09", "draft"),
    ...ungrouped,
    "data/invalid_input/testdata.yaml": "input_validator_flags: '9 8'\n",
  };
  assert.deepEqual(read(elsewhere).inputs.find(({ isValid }) => !isValid)?.args, { "": ["9", "8"] });
  const both = { ...grouped, "data/secret/test_group.yaml": "max_score: 10\n" };
  assert.throws(() => read({ "problem.yaml": draft, ...both }), /test_group\.yaml: would not be read/);
});

test("several types are a list, or the words of one text", () => {
  const { "problem.yaml": head = "", ...rest } = PACKAGES.guess;
  const LIST = "type: [interactive, pass-fail]";
  assert.ok(head.includes(LIST));
  for (const types of ["interactive", "pass-fail interactive", "'  interactive   pass-fail '"]) {
    const { definition, scoring } = read({
      "problem.yaml": head.replace(LIST, `type: ${types}`),
      ...rest,
    });
    assert.deepEqual(definition, read(PACKAGES.guess).definition);
    assert.equal(scoring, false);
  }
});

test("the format legacy finds validators in output_validator/ as well", () => {
  const { "problem.yaml": head = "", ...rest } = PACKAGES.near;
  const validator = Object.keys(rest).find((path) => path.startsWith("output_validators/"));
  assert.ok(validator && head.includes("custom"));
  const code = (rest as PackageTexts)[validator] ?? "";
  const without: PackageTexts = Object.fromEntries(Object.entries(rest).filter(([path]) => path !== validator));
  for (const path of ["output_validator/check/check.py", "output_validator/check.py"])
    assert.equal(read({ "problem.yaml": head, ...without, [path]: code }).definition.checker.type, "program", path);
  assert.equal(read({ ...PACKAGES.near, "output_validator/check.py": code }).checker?.options?.entry, "run.sh");
});

test("several validators of the format legacy are one program that runs all of them", () => {
  const { checker, definition } = read(PACKAGES.both);
  assert.deepEqual(definition.checker, {
    ...{ type: "program", interface: "kattis", language: "multifile", args: [] },
  });
  const files = new Map(checker?.options?.files.map(({ name, data }) => [name, String(data)]));
  assert.deepEqual([...files.keys()].sort(), [
    "compile.sh",
    "run.sh",
    ...["validator-1/digits.cpp", "validator-2/check.py", "validator-2/equal.py"],
  ]);
  assert.match(files.get("run.sh") ?? "", /\npython3 'validator-2\/check\.py' "\$@" <judged-output\n/);
  const faults: [PackageTexts, RegExp][] = [
    [
      { "output_validators/third.rb": "" },
      /third\.rb: one of several output validators must be in C, C\+\+ or Python$/,
    ],
    [
      { "output_validators/third.rs": "" },
      /third\.rs: one of several output validators must be in C, C\+\+ or Python$/,
    ],
    [{ "output_validators/it's equal/judge/x.py": "" }, /equal\/judge\/x\.py: has the place of a directory/],
    [
      Object.fromEntries(["a", "b", "c"].map((name) => [`output_validators/${name}.py`, ""])),
      /: a package has at most 4 output validators$/,
    ],
    [
      { "problem.yaml": "name: Both\nvalidation: custom interactive\n" },
      /: an interactive or multi-pass problem has only one output validator$/,
    ],
    [
      { "data/secret/testdata.yaml": "output_validator_flags: {name: digits, flags: '3'}\n" },
      /^data\/secret\/testdata\.yaml:1: output_validator_flags: a name is for a single validator$/,
    ],
  ];
  for (const [texts, message] of faults)
    assert.throws(() => read({ ...PACKAGES.both, ...texts }), { name: "PackageError", message });
  // The name of a file cannot end the word of the script.
  const hostile = read({ ...PACKAGES.both, "output_validators/'; exit 42; '.py": "" });
  const script = hostile.checker?.options?.files.find(({ name }) => name === "run.sh");
  assert.match(String(script?.data), /\npython3 'validator-3\/'\\''; exit 42; '\\''\.py' "\$@"/);
});

test("a draft of the newer format can have its validator in the directory of the older one, and only one", () => {
  const { "problem.yaml": head = "", ...rest } = PACKAGES.words;
  const texts = Object.fromEntries(
    Object.entries({ "problem.yaml": head.replace("2025-09", "2023-07-draft"), ...rest }).map(([path, text]) => [
      path.replace("output_validator/", "output_validators/check/"),
      text,
    ]),
  );
  assert.deepEqual(read(texts).definition, read(PACKAGES.words).definition);
  assert.throws(() => read({ ...texts, "output_validators/more.py": "" }), /more\.py: a second output validator/);
  assert.throws(() => read({ ...texts, "output_validator/more.py": "" }), /a second output validator is not supported/);
  assert.throws(() => read({ ...texts, "problem.yaml": head }), /would not be read: .* is in output_validator\/$/);
});

test("settings of an early draft describe a group that has no file of the newer format", () => {
  const { "data/secret/2-sum/test_group.yaml": _, ...rest } = PACKAGES.factors;
  const file = "data/secret/2-sum/testdata.yaml";
  const groupsOf = (text: string, more: PackageTexts = {}) => {
    const { definition } = read({
      ...rest,
      "data/secret/3-large/test_group.yaml": "max_score: 40\n",
      [file]: text,
      ...more,
    });
    const { name = "", rule, passFail } = definition.groups.find((one) => one.name === "secret/2-sum") ?? {};
    const points = definition.tests.filter(({ group }) => group === name).map((one) => one.points);
    return { rule, passFail, points };
  };
  const summed = { rule: "sum", passFail: undefined, points: [15, 15] };
  assert.deepEqual(groupsOf("scoring: {aggregation: sum, score: 15}\n"), summed);
  assert.deepEqual(groupsOf("scoring: {aggregation: sum, max_score: 30}\noutput_validator_flags: parts\n"), summed);
  assert.deepEqual(groupsOf("scoring: {aggregation: min, score: 30}\n"), {
    ...summed,
    rule: "least",
    points: [30, 30],
  });
  const { definition } = read({
    ...{ ...rest, "data/secret/3-large/test_group.yaml": "max_score: 40\n" },
    [file]: "scoring: {aggregation: sum, score: 15}\noutput_validator_flags: parts  more\n",
  });
  const { checker } = definition.tests.find(({ group }) => group === "secret/2-sum") ?? {};
  assert.deepEqual(checker?.type === "program" && checker.args, ["parts", "more"]);
  for (const [text, message] of [
    ["scoring: {aggregation: min, score: 3, max_score: 3}\n", /2-sum\/testdata\.yaml:1: score: only for tests/],
    ["scoring: {score: 3}\n", /2-sum\/testdata\.yaml:1: scoring\.aggregation/],
    ["scoring: {aggregation: min}\n", /2-sum\/testdata\.yaml:1: scoring: score or max_score, and aggregation, are/],
    ["# the defaults\n", /2-sum\/testdata\.yaml:1: scoring: score or max_score, and aggregation, are required$/],
    ["accept_score: 3\n", /2-sum\/testdata\.yaml:1: accept_score: Unrecognized key/],
    ["scoring: {aggregation: sum, score: 999999999}\n", /: max_score: the groups have 2000000068 points, more than/],
  ] as const)
    assert.throws(() => groupsOf(text), { name: "PackageError", message });
  assert.throws(
    () =>
      groupsOf("scoring: {aggregation: min, score: 30}\n", {
        "data/secret/testdata.yaml": "scoring: {aggregation: sum, score: 1}\n",
      }),
    /secret\/testdata\.yaml: would not be read/,
  );
  assert.throws(
    () => groupsOf("", { "data/secret/2-sum/more/testdata.yaml": "" }),
    /a group cannot be in another group$/,
  );
});

test("a submission of answers has a file for each test, and a program of the package makes them", () => {
  const files = toFiles(PACKAGES.answered);
  const problem = read(PACKAGES.answered);
  const { definition, timing } = problem;
  assert.deepEqual(
    definition.tests.map(({ answerFile }) => answerFile),
    ["secret/1.out", "secret/2 b.out"],
  );
  assert.deepEqual(definition.languages, ["plaintext"]);
  assert.deepEqual([definition.limits?.codeBytes, timing.limitSecs], [undefined, 20]);
  assert.deepEqual(
    readSubmissions(files, problem, languages).map(({ path, found }) => [path.slice(12), found?.language.name]),
    [
      ["accepted/all", "plaintext"],
      ["accepted/makes.py", "python"],
      ["partly/near", "plaintext"],
      ["wrong_answer/one", "plaintext"],
    ],
  );
  const limited = "problem_format_version: 2025-09\nname: x\ntype: submit-answer\nlimits: {code: 1, time_limit: 2}\n";
  const other = read({ ...PACKAGES.answered, "problem.yaml": limited, "data/secret/test_group.yaml": "" });
  assert.deepEqual([other.definition.limits?.codeBytes, other.timing.limitSecs], [1024, 2]);
  const many = Object.fromEntries(
    Array.from({ length: 49 }, (_, at) => [`data/secret/${at}.${at < 47 ? "in" : "ans"}`, ""]),
  );
  const faults: [PackageTexts, RegExp][] = [
    [many, /^data: has more than 48 tests, for each of which a submission has a file$/],
    [
      { "data/secret/a:b.in": "", "data/secret/a:b.ans": "" },
      /^data\/secret\/a:b\.in: has a name that no file of a sub/,
    ],
  ];
  for (const [texts, message] of faults)
    assert.throws(() => read({ ...PACKAGES.answered, ...texts }), { name: "PackageError", message });
  const { "output_validator/near.py": _, ...plain } = PACKAGES.answered;
  assert.throws(
    () => read({ ...plain, "data/secret/1.ans": "1".repeat(1_048_577) }),
    /^PackageError: data\/secret\/1\.ans: has more than the 1048576 bytes that a submission can have$/,
  );
});

test("files of tests are contents of the tests, and no tests themselves", () => {
  const { definition, tests, inputs } = read(PACKAGES.filed);
  assert.deepEqual(
    definition.tests.map(({ name, files }) => [name, files]),
    [
      ["secret/1", ["number.txt", "more/1.in", "more/test_group.yaml"]],
      ["secret/2", ["more/deep.txt", "number.txt"]],
    ],
  );
  assert.deepEqual(
    tests[1]?.parts.map((part) => String(part.read())),
    ["more/deep.txt\n", "8\n", "8\n", "9\n"],
  );
  assert.deepEqual(
    inputs.map(({ path, files }) => [path, files?.().length]),
    [
      ["data/secret/1.in", 3],
      ["data/secret/2.in", 2],
      ["data/invalid_input/1.in", 1],
    ],
  );
});

test("a key of the newer format that Kattis ignores in the format legacy has no effect, and is named", () => {
  const texts = { ...PACKAGES.sum, "problem.yaml": "name: Sum\nlimits: {time_multipliers: 1}\n" };
  assert.deepEqual(read(texts).timing, read(PACKAGES.sum).timing);
  assert.deepEqual(read(texts).untried, [
    "problem.yaml: limits.time_multipliers is no key of the format legacy, and has no effect",
  ]);
  assert.throws(
    () => read({ ...PACKAGES.sum, "problem.yaml": "name: Sum\nlimits: {time_multiplierz: 1}\n" }),
    /^PackageError: problem\.yaml:2: limits\.time_multiplierz: Unrecognized key/,
  );
});

test("the last of two values of a key counts in testdata.yaml, as for Kattis, and elsewhere a key has one", () => {
  const twice = "accept_score: 30\naccept_score: 40\ngrader_flags: min\n";
  const { tests } = read({ ...PACKAGES.root, "data/secret/1-exact/testdata.yaml": twice }).definition;
  assert.equal(tests[1]?.points, 40);
  assert.throws(
    () => read({ ...PACKAGES.sum, "problem.yaml": "name: a\nname: b\n" }),
    /^PackageError: problem\.yaml:2: /,
  );
});

test("a program whose first line names Python 2 is in a language that is not installed", () => {
  const python2 = "#!/usr/bin/env python2\nprint 3\n";
  const files = toFiles({
    ...PACKAGES.sum,
    "submissions/accepted/sum.py": python2,
    "submissions/accepted/two/main.c": "",
  });
  const found = readSubmissions(files, readProblem(files, languages), languages);
  const languageOf = (name: string) =>
    found.find(({ path }) => path.endsWith(`/${name}`))?.found?.language.name ?? null;
  assert.deepEqual([languageOf("sum.py"), languageOf("waits.py")], [null, "python"]);
});

test("a program with a script of its own has it as its compiler, or as what is run", () => {
  const { checker, definition, inputValidators } = read(PACKAGES.scripted);
  assert.equal(definition.checker.type === "program" && definition.checker.language, "multifile");
  const names = checker?.options?.files.map(({ name }) => name);
  assert.deepEqual(names, ["build", "check.c", "compile.sh", "run-program.sh"]);
  assert.equal(checker?.options?.entry, "run-program.sh");
  assert.deepEqual(
    inputValidators.map(({ path }) => path),
    ["input_validators/number"],
  );
  for (const name of ["compile.sh", "compile", "run-program.sh"])
    assert.throws(() => read({ ...PACKAGES.scripted, [`output_validators/check/${name}`]: "" }), {
      message: `output_validators/check/${name}: has the name of a script that runs build and run`,
    });
  const many = Object.fromEntries(Array.from({ length: 46 }, (_, at) => [`output_validators/check/${at}.h`, ""]));
  assert.throws(
    () => read({ ...PACKAGES.scripted, ...many }),
    /output_validators\/check: a program has at most 48 files/,
  );
});

test("names of constants stand for their values in programs and settings of groups, and nowhere else", () => {
  const head = "problem_format_version: 2025-09\nname: '{{most}}'\ntype: scoring\n";
  const constants = `constants:
  most: 1000000000000000007
  share: 1.0
  text: {value: "é {{most}}", tex: '10^{18}'}
`;
  const program = "{{most}} {{share}} {{text}} {{text.tex}} {{most.value}} {{most.other}} {{none}} {most} \xff";
  const texts = {
    ...PACKAGES.factors,
    "problem.yaml": `${head}${constants}`,
    "output_validator/validate.cpp": program,
    "submissions/accepted/search.cpp": program,
    "data/secret/1-small/test_group.yaml": "max_score: {{small}}\n",
    "data/secret/1-small/1.in": "{{most}}",
  };
  const small = { ...texts, "problem.yaml": `${head}${constants}  small: 30\n` };
  const { title, checker, submissions, tests, definition } = read(small);
  const wanted = "1000000000000000007 1.0 é {{most}} 10^{18} 1000000000000000007 {{most.other}} {{none}} {most} \xff";
  assert.equal(String(checker?.options?.files.find(({ name }) => name === "validate.cpp")?.data), wanted);
  assert.equal(String(submissions[0]?.files.get("search.cpp")), wanted);
  assert.equal(title, "{{most}}");
  assert.equal(String(tests[1]?.parts[0].read()), "{{most}}");
  assert.equal(definition.groups.find(({ name }) => name === "secret/1-small")?.points, 30);
  const many = `constants: {a: ${"x".repeat(1_000)}}\n`;
  assert.throws(
    () => read({ ...texts, "problem.yaml": `${head}${many}`, "output_validator/validate.cpp": "{{a}}".repeat(2_000) }),
    { message: "output_validator/validate.cpp: has more than 1048576 bytes with the values of its constants" },
  );
});

test("a time limit beside problem.yaml counts unless problem.yaml has one", () => {
  const limitOf = (texts: PackageTexts) => read({ ...PACKAGES.sum, ...texts }).timing.limitSecs;
  const ini = (line: string) => ({
    "domjudge-problem.ini": `; a comment = 1\nshort-name = A\r\n${line}\r\ncolor='#fff'\n`,
  });
  assert.equal(limitOf({}), null);
  for (const line of ["timelimit=2.5", "timelimit = '2.5'", 'timelimit = "2.5" ; seconds', "timelimit = 2.5;"])
    assert.equal(limitOf(ini(line)), 2.5, line);
  assert.equal(limitOf(ini("name = x")), null);
  assert.equal(limitOf({ ".timelimit": " 3\n" }), 3);
  const factorOf = (texts: PackageTexts) => read({ ...PACKAGES.sum, ...texts }).timing.acToLimit;
  assert.deepEqual([factorOf({}), factorOf({ ".timelimit": "3" }), factorOf(ini("timelimit=2"))], [5, 1, 1]);
  assert.equal(limitOf({ ".timelimit": "3", ...ini("timelimit = 2") }), 3);
  const own = { "problem.yaml": "name: a\nlimits: {time_limit: 1}\n" };
  assert.equal(limitOf({ ...own, ".timelimit": "3" }), 1);
  for (const text of ["", "0", "-1", "1e9", "two", "1 2", "Infinity", "9999999"])
    assert.throws(() => limitOf({ ".timelimit": text }), /^PackageError: \.timelimit: the time limit must be/, text);
  assert.throws(() => limitOf(ini("timelimit = soon")), /^PackageError: domjudge-problem\.ini: the time limit must be/);
  assert.throws(() => limitOf(ini("special_compare = mine")), /special_compare is not supported/);
  assert.throws(() => limitOf({ ...own, ...ini("special_run = mine") }), /special_run is not supported/);
  assert.throws(
    () => limitOf({ "domjudge-problem.ini": "a=b\rspecial_compare=c" }),
    /special_compare is not supported/,
  );
  assert.throws(() => limitOf({ "domjudge-problem.ini": " ".repeat(20_000) }), /has more than 16384 bytes/);
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
    [0, 40, 40, 60],
  );
});

test("groups of the older format contain each other, inherit settings, and end at a failure unless they continue", () => {
  const deep = {
    ...PACKAGES.root,
    "data/testdata.yaml": "grader_flags: avg\n",
    "data/secret/2-others/deep/testdata.yaml":
      "on_reject: break\naccept_score: 7\nreject_score: 2\ngrader_flags: max always_accept\n",
    "data/secret/2-others/deep/1.in": "9\n",
    "data/secret/2-others/deep/1.ans": "3\n",
  };
  const { groups, tests } = read(deep).definition;
  const worst = { depends: [], failsAs: "worst" } as const;
  assert.deepEqual(groups, [
    { name: "data", rule: "average", ...worst, breaks: true },
    { name: "sample", rule: "average", ...worst, parent: "data", breaks: true },
    { name: "secret", rule: "sum", ...worst, parent: "data", passes: "any" },
    { name: "secret/1-exact", rule: "least", ...worst, parent: "secret" },
    { name: "secret/2-others", rule: "least", ...worst, parent: "secret" },
    {
      name: "secret/2-others/deep",
      rule: "greatest",
      ...worst,
      parent: "secret/2-others",
      breaks: true,
      passes: "always",
    },
  ]);
  assert.deepEqual([tests.at(-1)?.points, tests.at(-1)?.failedPoints], [7, 2]);
});

test("a sample that is ignored gives no points, and ends the rest only if nothing continues", () => {
  const groupsOf = (text: string) =>
    read({ ...PACKAGES.root, "data/testdata.yaml": text }).definition.groups.map(
      ({ name, parent, depends, passes, points }) => [name, parent, depends, passes, points],
    );
  const groups = [
    ["secret/1-exact", "secret", [], undefined, undefined],
    ["secret/2-others", "secret", [], undefined, undefined],
  ];
  assert.deepEqual(groupsOf("grader_flags: ignore_sample\non_reject: continue\n"), [
    ["sample", undefined, [], "always", 0],
    ["secret", undefined, [], "any", undefined],
    ...groups,
  ]);
  assert.deepEqual(groupsOf("grader_flags: ignore_sample\n"), [
    ["sample", undefined, [], undefined, 0],
    ["secret", undefined, ["sample"], "any", undefined],
    ...groups,
  ]);
});

test("a problem without points runs as requests say, and its own submissions as its groups say", () => {
  const given = (texts: PackageTexts) => read({ ...PACKAGES.sum, ...texts });
  const flat = [
    { name: "sample", rule: "sum", depends: [] },
    { name: "secret", rule: "sum", depends: [] },
  ];
  for (const texts of [{}, { "data/testdata.yaml": "on_reject: break\ngrader_flags: worst_error min\n" }] as const) {
    assert.deepEqual(given(texts).definition.groups, flat);
    assert.equal(given(texts).stop, "first_failure");
  }
  const { definition, stop } = given({ "data/secret/testdata.yaml": "on_reject: continue\n" });
  assert.equal(stop, "never");
  assert.deepEqual(
    definition.groups.map(({ name, parent, failsAs, breaks }) => [name, parent, failsAs, breaks]),
    [
      ["data", undefined, "worst", undefined],
      ["sample", "data", "worst", undefined],
      ["secret", "data", "worst", undefined],
    ],
  );
  for (const line of ["grader_flags: always_accept", "grader_flags: sum ignore_sample", "grading: custom"])
    assert.throws(
      () => given({ "data/testdata.yaml": `${line}\n` }),
      /^PackageError: data\/testdata\.yaml:1: .* only for sc/,
    );
});

test("a validator gives points within the range of the group, and otherwise those of accepted outputs", () => {
  const file = "data/secret/1-min/testdata.yaml";
  const points = (validation: string, text: string, more: PackageTexts = {}) => {
    const head = { "problem.yaml": `name: Near\ntype: scoring\nvalidation: ${validation}\n` };
    const { definition } = read({ ...PACKAGES.near, ...head, ...more, [file]: `grader_flags: min\n${text}` });
    const test = definition.tests.findIndex(({ group }) => group === "secret/1-min");
    const { checker } = definition.tests[test] ?? {};
    return [mostPoints(definition, test), checker?.type === "program" ? checker.acceptedShare : undefined];
  };
  assert.deepEqual(points("custom score", "range: 0 30\n"), [30, null]);
  assert.deepEqual(points("custom score", "range: -inf 7.5\naccept_score: 3\n"), [7.5, null]);
  assert.deepEqual(points("custom score", "range: 0 +inf\naccept_score: 3\n"), [1_000_000, null]);
  assert.deepEqual(points("custom score", "", { "data/testdata.yaml": "range: 0 100\n" }), [100, null]);
  // DOMjudge's packages give scores without saying so.
  assert.deepEqual(points("custom", "range: 0 40\n"), [40, 1 / 40]);
  assert.deepEqual(points("custom", "", { "data/secret/testdata.yaml": "on_reject: continue\n" }), [1_000_000, 1e-6]);
  assert.deepEqual(points("custom", "range: 0 30\naccept_score: 3\n"), [3, undefined]);
  for (const wrong of ["range: x", "range: 5 10", "range: 0 1e999", "range: nan nan", "range: 0 -1"])
    assert.throws(
      () => points("custom score", `${wrong}\n`),
      /^PackageError: data\/secret\/1-min\/testdata\.yaml:2: range: must be/,
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

test("secret and its groups can depend on the sample, and thirds of the points are not rounded", () => {
  const texts = { ...PACKAGES.factors, "data/secret/test_group.yaml": "max_score: 100\nrequire_pass: sample\n" };
  assert.deepEqual(
    read(texts).definition.groups.map(({ depends }) => depends),
    [[], ["sample"], [], ["secret/1-small"], ["sample", "secret/1-small"]],
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

test("groups of the newer format can have no bound, and secret the rules of groups", () => {
  const { "data/secret/3-large/test_group.yaml": _, ...rest } = PACKAGES.factors;
  const large = "data/secret/3-large/test_group.yaml";
  const given = (secret: string, texts: PackageTexts) =>
    read({ ...rest, "data/secret/test_group.yaml": secret, ...texts }).definition;
  const unbounded = given("max_score: unbounded\n", { [large]: "score_aggregation: min\n" });
  const last = unbounded.tests.at(-1);
  assert.deepEqual([last?.points, last?.checker?.type === "program" && last.checker.acceptedShare], [1_000_000, null]);
  const small = "data/secret/1-small/test_group.yaml";
  const sum = "data/secret/2-sum/test_group.yaml";
  const passFail = given("score_aggregation: pass-fail\n", {
    [small]: "max_score: 1\n",
    [sum]: "max_score: 2\n",
    [large]: "max_score: 3\n",
  });
  assert.deepEqual(
    passFail.groups.map(({ name, rule, points }) => [name, rule, points]),
    [
      ["sample", "sum", undefined],
      ["secret", "all", 100],
      ["secret/1-small", "all", 1],
      ["secret/2-sum", "all", 2],
      ["secret/3-large", "all", 3],
    ],
  );
});

test("keys of grading that would change scores are refused with their line", () => {
  const withGrading = (line: string) =>
    read({ ...PACKAGES.root, "problem.yaml": `name: x\ntype: scoring\ngrading:\n  ${line}\n` });
  for (const line of [
    "accept_score: 50",
    "reject_score: 1",
    "range: 0 100",
    "on_reject: grade",
    "on_reject: first_error",
    "custom_scoring: true",
    "objective: min",
    "nonsense: 1",
  ])
    assert.throws(() => withGrading(line), {
      name: "PackageError",
      message: new RegExp(`^problem\\.yaml:4: grading\\.${line.split(":")[0]}: `),
    });
  for (const line of ["", "objective: max", "show_test_data_groups: yes", "custom_scoring: false", "reject_score: 0"])
    assert.ok(withGrading(line));
});

test("settings in the root of the older format apply to all tests", () => {
  const texts = { ...PACKAGES.root, "data/testdata.yaml": "output_validator_flags: case_sensitive\n" };
  const [first] = read(texts).definition.tests;
  assert.deepEqual(first?.checker, { type: "floats", caseSensitive: true, absolute: 1e-4, relative: 1e-4 });
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

test("an input validator that is named like a property of objects gets its own arguments, or those of all", () => {
  const args = { "": ["all"], v: ["own"] };
  assert.deepEqual(
    ["v.py", "v", "w", "constructor", "toString.c"].map((name) => argumentsOf(args, name)),
    [["own"], ["own"], ["all"], ["all"], ["all"]],
  );
  assert.deepEqual(argumentsOf({}, "constructor"), []);
});
