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

const checkerOf = (args: string, more: PackageTexts = {}) => {
  const init = `checker: {name: bridged, args: {files: check.cpp, lang: CPP20, ${args}}}\ntest_cases: [{in: a, out: a}]\n`;
  const { definition, checker } = read({ "init.yml": init, a: "1", "check.cpp": "int main() {}", ...more });
  return { spec: definition.tests[0]?.checker, options: checker?.options };
};

test("the types of a checker of DMOJ that is a program are interfaces", () => {
  const called = (type: string) => ({ type: "program", interface: type, language: "cpp", args: [] });
  assert.deepEqual(checkerOf("type: testlib").spec, called("dmoj-testlib"));
  assert.deepEqual(checkerOf("type: coci, cached: true").spec, called("dmoj-coci"));
  assert.deepEqual(checkerOf("type: peg").spec, called("dmoj-peg"));
  // Without feedback, DMOJ does not read the points that this type writes, but its arguments keep their order.
  assert.deepEqual(checkerOf("type: peg, feedback: false").spec, {
    ...called("dmoj"),
    ...{ args: ["judge/answer", "judge/output", "judge/input"], hasOwnArgs: true, isSilent: true },
  });
});

test("a checker of DMOJ can have files, flags, limits and arguments", () => {
  const init = `checker:
  name: bridged
  args:
    files: [x/check.cpp, near.h]
    lang: CPP
    flags: [-DFAST, -O3]
    time_limit: 2
    memory_limit: 65536
    args_format_string: '{answer_file} "two words" it\\ is {{x}} {output_file}'
test_cases: [{in: a, out: a}]
`;
  const texts = { "init.yml": init, a: "1", "x/check.cpp": "int main() {}", "near.h": "" };
  const { definition, checker } = read(texts);
  const { options } = checker ?? {};
  assert.deepEqual(
    options?.files.map(({ name }) => name),
    ["check.cpp", "near.h"],
  );
  assert.deepEqual(options?.compilerOptions, ["-DFAST", "-O3"]);
  assert.deepEqual(options?.limits, { cpu_time_secs: 2, memory_bytes: 65_536 * 1_024 });
  const args = ["judge/answer", "two words", "it is", "{x}", "judge/output"];
  const spec = { type: "program", interface: "dmoj", language: "cpp", args, hasOwnArgs: true };
  assert.deepEqual(definition.tests[0]?.checker, spec);
});

test("all checkers of DMOJ in Python are one program, and each test has its own call", () => {
  const init = `points: 5
test_cases:
- {in: a, out: a, checker: sorted}
- batched:
  - {in: a, out: a}
  - {in: a, out: a, points: 5, binary_data: true}
  checker: {name: near.py, args: {most: 3}}
- {in: a, out: a, checker: standard}
`;
  const { definition, checker } = read({ "init.yml": init, a: "1", "near.py": "def check(*_, **__): return True\n" });
  const names = checker?.options?.files.map(({ name }) => name) ?? [];
  assert.ok(
    names.includes("main.py") && names.includes("dmoj/result.py") && names.includes("package/near.py"),
    `${names}`,
  );
  const specs = definition.tests.map((one) => one.checker);
  const calls = specs.map((spec) => spec?.type === "program" && JSON.parse(spec.args[0] ?? ""));
  const call = { call: "checker", points: 5, binary: false, problem: "", interactor: false };
  const near = { file: "package/near.py", args: { most: 3 } };
  assert.deepEqual(calls, [
    { ...call, checker: { name: "sorted", args: {} }, position: 0, batch: 0 },
    { ...call, checker: near, position: 1, batch: 1 },
    { ...call, checker: near, position: 2, batch: 1, binary: true },
    false,
  ]);
  // A checker in a file says only when it runs whether it decides about failed runs.
  const checksFailures = specs.map((spec) => spec?.type === "program" && spec.checksFailures === true);
  assert.deepEqual(checksFailures, [false, true, true, false]);
  assert.deepEqual(specs[3], { type: "tokens", lineBreaks: true });
});

test("a grader of DMOJ knows the checker of each test, and is interactive if it talks with the submission", () => {
  const graded = (methods: string, more = "") => {
    const source = `from dmoj.graders.standard import StandardGrader\nclass Grader(StandardGrader):\n${methods}`;
    const init = `custom_judge: grade.py\ntest_cases: [{in: a, checker: near.py}, {in: a${more}}]\n`;
    const files = { a: "1", "grade.py": source, "near.py": "", "check.c": "int main() {}" };
    const { definition, checker } = read({ "init.yml": init, ...files });
    const specs = definition.tests.map((one) => one.checker);
    const calls = specs.map((spec) => (spec?.type === "program" ? JSON.parse(spec.args[0] ?? "") : null));
    return { specs, calls, names: checker?.options?.files.map(({ name }) => name) ?? [] };
  };
  const plain = graded("    pass\n");
  assert.deepEqual(
    plain.calls.map(({ call, file, checker, interactor }) => [call, file, checker, interactor]),
    [
      ["grader", "package/grade.py", { file: "package/near.py", args: {} }, false],
      ["grader", "package/grade.py", { name: "standard", args: {} }, false],
    ],
  );
  assert.ok(plain.names.includes("package/near.py") && plain.names.includes("package/grade.py"), `${plain.names}`);
  const flags = (spec: unknown) => {
    const { interactive, checksFailures } = spec as { interactive?: true; checksFailures?: true };
    return [interactive, checksFailures];
  };
  assert.deepEqual(flags(plain.specs[0]), [undefined, true]);
  const talks = graded("    def _interact_with_process(self, case, result): pass\n", ", checker: {name: floats}");
  assert.deepEqual([flags(talks.specs[0]), talks.calls[1].checker], [[true, undefined], { name: "floats", args: {} }]);
  const bridged = ", checker: {name: bridged, args: {files: check.c, lang: C}}";
  assert.throws(() => graded("    pass\n", bridged), /checker: bridged is not supported together with custom_judge/);
});

test("interactors and graders of DMOJ are interactive checkers", () => {
  const interactor = read({
    "init.yml": "interactive: {files: [talk.c, near.h], type: testlib, flags: [-DX]}\ntest_cases: [{in: a}]\n",
    ...{ a: "1", "talk.c": "int main() {}", "near.h": "" },
  });
  assert.deepEqual(interactor.definition.tests[0]?.checker, {
    ...{
      type: "program",
      interface: "dmoj-testlib",
      language: "c",
      hasOwnArgs: true,
      interactive: true,
      isSilent: true,
    },
    args: ["judge/input", "judge/output", "judge/answer"],
  });
  // The output of an interactor has no buffer, so that it need not flush it.
  assert.deepEqual(
    interactor.checker?.options?.files.map(({ name }) => name),
    ["talk.c", "near.h", "unbuffered-output.c"],
  );
  const grader = read({
    "init.yml": "custom_judge: grade.py\nunbuffered: yes\ntest_cases: [{in: a}]\n",
    ...{
      a: "1",
      "grade.py": "class Grader(InteractiveGrader):\n    def interact(self, case, interactor): return True\n",
    },
  });
  const spec = grader.definition.tests[0]?.checker;
  assert.deepEqual([spec?.type, spec?.type === "program" && spec.interactive], ["program", true]);
  assert.deepEqual(grader.harness?.[".py"]?.env, { PYTHONUNBUFFERED: "1" });
  assert.deepEqual(grader.outputs, []);
});

test("a signature is graded by files that are added to submissions in C and C++", () => {
  const init = "signature_grader: {entry: main.c, header: sum.h}\ntest_cases: [{in: a, out: a}]\n";
  const { definition, harness } = read({ "init.yml": init, a: "1", "main.c": "int main() {}", "sum.h": "int sum();" });
  assert.deepEqual(definition.languages, [".c", ".cpp"]);
  assert.deepEqual(Object.keys(harness ?? {}), [".c", ".cpp"]);
  const { files = [], prefix } = harness?.[".cpp"] ?? {};
  assert.deepEqual(
    files.map(({ name }) => name),
    ["sum.h", "signature-grader.cpp"],
  );
  assert.match(prefix ?? "", /#include "sum\.h"\n#define main main_of_submission\n#line 1\n$/);
});

test("tests can be found in an archive by patterns", async () => {
  const files = ["easy.2.in", "easy.10.in", "1.in", "easy.2.out", "easy.10.out", "1.out", "notes.txt"];
  const archived = zipOf(files.map((name) => ({ name, data: name })));
  const opened = async (cases: string) => {
    const package_ = new Map([
      ["init.yml", Buffer.from(`archive: data.zip\n${cases}`)],
      ["data.zip", archived],
    ]);
    return readProblem(await withArchive(package_), languages);
  };
  const named = await opened(String.raw`test_cases:
  input_format: ((?P<batch>\w+)\.)?(?P<case>\d+)\.in
  output_format: ((?P<batch>\w+)\.)?(?P<case>\d+)\.out
  case_points: [7, 3]
`);
  assert.deepEqual(
    named.definition.tests.map(({ name, group, points }) => [name, group, points]),
    [
      ["1.1", "batch-1", 3.5],
      ["1.2", "batch-1", 3.5],
      ["2", "cases-2", 3],
    ],
  );
  assert.deepEqual(contentsOf(named.tests[1]).map(String), ["easy.10.in\n", "easy.10.out\n"]);
  await assert.rejects(opened("test_cases: {input_format: x, output_format: y}\n"), /has no files of tests/);
  await assert.rejects(
    opened("test_cases: {input_format: '(a+)+(?P<case>\\d)(?=x)\\1'}\n"),
    /\\1, which is not supported/,
  );
  await assert.rejects(opened("test_cases: {input_format: '.*(?P<case>\\d)\\.'}\n"), /are files of the same test/);
  await assert.rejects(opened("test_cases: {case_points: [1]}\n"), /1 values for/);
});

test("without patterns, the usual names of tests are found", async () => {
  const names = ["in/1.txt", "out/1.txt", "p.2.1.in", "p.2.1.out", "p.2.2.in", "p.2.2.out"];
  const archived = zipOf(names.map((name) => ({ name, data: name })));
  const package_ = new Map([
    ["init.yml", Buffer.from("archive: data.zip\n")],
    ["data.zip", archived],
  ]);
  const { definition, tests } = readProblem(await withArchive(package_), languages);
  assert.deepEqual(
    definition.tests.map(({ name, group }) => [name, group]),
    [
      ["1", "cases-1"],
      ["2.1", "batch-1"],
      ["2.2", "batch-1"],
    ],
  );
  assert.deepEqual(contentsOf(tests[2]).map(String), ["p.2.2.in\n", "p.2.2.out\n"]);
});

test("a list of pretests comes first, without points", () => {
  const { definition } = read({
    "init.yml": "pretest_test_cases:\n- {in: a}\n- batched: [{in: a}]\ntest_cases: [{in: a, points: 4}]\n",
    a: "1",
  });
  assert.deepEqual(
    definition.tests.map(({ name, group, points }) => [name, group, points]),
    [
      ["pretest-1", "pretest-pretests-1", 0],
      ["pretest-2.1", "pretest-batch-1", 0],
      ["1", "cases-3", 4],
    ],
  );
  assert.deepEqual(definition.groups[2]?.depends, ["pretest-pretests-1", "pretest-batch-1"]);
  assert.deepEqual(
    definition.groups.map(({ breaks }) => breaks),
    [true, true, undefined],
  );
});

test("a generator makes the parts of a test that have no file", () => {
  const init = `generator: {source: [make.cpp, near.h], flags: [-DX], time_limit: 3, args: [9]}
test_cases:
- {generator_args: [1, yes, "-x y", 010, 1_0]}
- {in: a}
- {out: a, generator_in: a}
- {in: a, out: a}
`;
  const texts = { "init.yml": init, a: "1\r\n", "make.cpp": "int main() {}", "near.h": "" };
  const { makings, tests } = read(texts);
  assert.deepEqual(
    makings?.runs.map(({ args, stdin, stdout, stderr }) => [args, `${stdin.read()}`, stdout !== null, stderr !== null]),
    [
      [["1", "True", "-x y", "8", "10"], "", true, true],
      [["9"], "", false, true],
      [["9"], "1\r\n", true, false],
    ],
  );
  const [run] = makings?.runs ?? [];
  assert.deepEqual(
    [run?.program.options?.compilerOptions, run?.program.options?.limits],
    [["-DX"], { cpu_time_secs: 3 }],
  );
  run?.stdout?.fill(Buffer.from("x\r\n"));
  run?.stderr?.fill(Buffer.from("y\r\nz"));
  assert.deepEqual(contentsOf(tests[0]).map(String), ["x\r\n", "y\nz\n"]);
  assert.throws(() => contentsOf(tests[1]), /has not been made yet/);
});

test("a file can stand for a standard stream", () => {
  const init = "symlinks: {data.txt: /dev/stdin}\ntest_cases: [{in: a}]\n";
  assert.deepEqual(read({ "init.yml": init, a: "1" }).definition.tests[0]?.streamFiles, { "data.txt": "stdin" });
});

const ONE = "test_cases:\n- {in: a, out: a, points: 1}\n";
const WRONG: Readonly<Record<string, readonly [init: string, message: RegExp]>> = {
  "no tests": ["archive: a\n", /^init\.yml:1: test_cases: /],
  "patterns, but no archive": [
    "test_cases: {input_format: x}\n",
    /^init\.yml:1: test_cases: .* an archive is required$/,
  ],
  "a missing file": ["test_cases:\n- {in: a, out: b}\n", /^init\.yml:2: out: b is not in the package$/],
  "a path that leads outside": [
    "test_cases:\n- {in: ../a, out: a}\n",
    /^init\.yml:2: in: \.\.\/a is not in the package$/,
  ],
  "code in a key": [`${ONE}points+: 1 + 1\n`, /^init\.yml:3: points\+: /],
  "a missing generator": [
    "test_cases: [{}]\ngenerator: g.cpp\n",
    /^init\.yml:1: generator: g\.cpp is not in the package$/,
  ],
  "an input in addition to a generator": [
    "generator: a\ntest_cases:\n- {in: a, generator_args: [1]}\n",
    /^init\.yml:3: generator_args: the test has an input/,
  ],
  "a number that is not exact": [
    "generator: a.py\ntest_cases:\n- {generator_args: [12345678901234567890]}\n",
    /^init\.yml:3: generator_args: a number is too large/,
  ],
  "too many arguments": [
    `generator: a.py\ntest_cases:\n- {generator_args: [${"1,".repeat(33)}]}\n`,
    /^init\.yml:3: test_cases\.0\.generator_args: /,
  ],
  "a generator for Python 2 only": ["generator: a.py2\ntest_cases: [{}]\n", /a\.py2 is for Python 2/],
  "a missing interactor": [`${ONE}interactive: {files: i.cpp}\n`, /^init\.yml:3: interactive: i\.cpp is not in/],
  "an interactor of an unknown type": [
    `${ONE}interactive: {files: a.py, type: odd}\n`,
    /interactive: type: odd is none of default, testlib, coci, peg$/,
  ],
  "an interactor of a type that has none": [`${ONE}interactive: {files: a.py, type: peg}\n`, /peg has no interactors$/],
  "an interactor and a grader": [
    `${ONE}interactive: {files: a.py}\ncustom_judge: a.py\n`,
    /^init\.yml:4: custom_judge: together with interactive$/,
  ],
  "a grader that runs the submission": [
    `${ONE}custom_judge: runs.py\n`,
    /^init\.yml:3: custom_judge: a grader with a method _launch_process is not supported$/,
  ],
  "a grader that is none": [`${ONE}custom_judge: a.py\n`, /custom_judge: the class Grader must be a subclass/],
  "a missing checker in Python": [
    `${ONE}checker: check.py\n`,
    /^init\.yml:2: checker: check\.py is not in the package$/,
  ],
  "a checker in Python with a number that JSON has not": [
    `${ONE}checker: {name: a.py, args: {most: .inf}}\n`,
    /checker: args: a number is too large, or not finite$/,
  ],
  "two checkers that are programs": [
    "test_cases:\n- {in: a, checker: a.py}\n- {in: a, checker: {name: bridged, args: {files: a.py, lang: PY3}}}\n",
    /^init\.yml:3: checker: only one checker can be a program$/,
  ],
  "a placeholder without a meaning": [
    `${ONE}checker: {name: bridged, args: {files: a.py, lang: PY3, args_format_string: "{input_file.__class__}"}}\n`,
    /checker\.args: args_format_string: \{input_file\.__class__\} is not supported$/,
  ],
  "a header that takes the place of the submission": [
    `${ONE}signature_grader: {entry: a, header: main.c}\n`,
    /signature_grader: main\.c is no possible name of a header$/,
  ],
  "a header whose name is not plain": [
    `${ONE}signature_grader: {entry: a, header: 'x"\\n.h'}\n`,
    /^init\.yml:3: signature_grader/,
  ],
  "a signature that is too large": [
    `${ONE}signature_grader: {entry: large, header: x.h}\n`,
    /adds more than 12 files or 1048576 bytes/,
  ],
  "large arguments by aliases": [
    `hints: &x [${'"y",'.repeat(500)}]\nchecker: {name: identical, args: {pe_allowed: [${"*x,".repeat(40)}]}}\n${ONE}`,
    /checker: has more than 8192 characters$/,
  ],
  "a link to a file of the machine": [
    `${ONE}symlinks: {x: /etc/passwd}\n`,
    /symlinks: x leads to \/etc\/passwd, which is no standard stream$/,
  ],
  "a link outside of its directory": [`${ONE}symlinks: {../x: /dev/stdin}\n`, /\.\.\/x is no valid name of a file$/],
  "a tag that includes a file": [`${ONE}custom_judge: !include other.yml\n`, /^init\.yml:3: has the tag !include$/],
  "a checker named like a property of objects": [
    `${ONE}checker: {name: constructor, args: {error_mode: absolute}}\n`,
    /checker: constructor is not supported$/,
  ],
  "a checker with other arguments": [
    `${ONE}checker: {name: floats, args: {precision: 3, error_mode: odd}}\n`,
    /checker: wrong arguments of floats$/,
  ],
  "a program with flags": [
    `${ONE}checker: {name: bridged, args: {files: a, lang: CPP20, flags: [-fplugin=a]}}\n`,
    /checker\.args: flags: -fplugin=a is not allowed for cpp$/,
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
    "test_cases:\n- batched:\n  - {in: a, points: 2}\n",
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
const FILES: PackageTexts = {
  ...{ a: "1\n", "a.py": "pass\n", "a.py2": "print 1\n", "main.c": "", "x.h": "", large: "x".repeat(1_048_577) },
  "runs.py": "class Grader(StandardGrader):\n    def _launch_process(self, case): pass\n",
};
for (const [name, [init, message]] of Object.entries(WRONG))
  test(`a package of DMOJ with ${name} is a fault`, () => {
    assert.throws(() => read({ "init.yml": init, ...FILES }), { name: "PackageError", message });
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
  const linked = await withArchive(inner([{ name: "a", data: "/etc/passwd", mode: 0o120777 }]));
  assert.throws(() => readProblem(linked, languages), { message: /^data\.zip\/a: is a link that leads out/ });
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
