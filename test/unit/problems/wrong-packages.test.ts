import assert from "node:assert/strict";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { PackageError } from "../../../src/problems/files.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { PACKAGES, type PackageTexts, toFiles } from "../../support/problems/packages.ts";

const languages = loadLanguages(LANGUAGES);
const read = (texts: PackageTexts) => readProblem(toFiles(texts), languages);

const HEAD = "problem_format_version: 2025-09\nname: a\n";

test("a wrong package is rejected with its file and line", () => {
  const base = PACKAGES.factors;
  for (const [changes, error] of [
    [{ "problem.yaml": undefined }, /^problem\.yaml: is missing$/],
    [{ "problem.yaml": "name: [" }, /^problem\.yaml:1: /],
    [{ "problem.yaml": "problem_format_version: 2025-09\n" }, /^problem\.yaml:1: name: /],
    [
      { "problem.yaml": "name: a\nproblem_format_version: 2024-01\n" },
      /^problem\.yaml:2: problem_format_version: 2024-01 is none of legacy, .*2025-09$/,
    ],
    [{ "data\\secret\\1.in": "" }, /^data\\secret\\1\.in: has a backslash in its name$/],
    [{ "problem.yaml": `${HEAD}type: magic\n` }, /^problem\.yaml:3: type: magic is no type/],
    [{ "problem.yaml": `${HEAD}type: []\n` }, /^problem\.yaml:3: type/],
    [
      { "problem.yaml": `${HEAD}type:\n- scoring\n- interactive\n- pass-fail\n` },
      /^problem\.yaml:6: type: pass-fail and scoring exclude each other/,
    ],
    [{ "problem.yaml": `${HEAD}type: [interactive, submit-answer]\n` }, /^problem\.yaml:3: type: .*exclude/],
    [{ "problem.yaml": `${HEAD}type: [scoring, scoring]\n` }, /^problem\.yaml:3: type: scoring is given twice/],
    [{ "problem.yaml": `${HEAD}type: scoring\nconstants: {1a: 1}\n` }, /^problem\.yaml:4: constants\.1a: /],
    [{ "problem.yaml": `${HEAD}type: scoring\nconstants: {a: {tex: 1}}\n` }, /^problem\.yaml:4: constants\.a: /],
    [
      { "problem.yaml": `${HEAD}type: scoring\nconstants: {a: ${"x".repeat(1_001)}}\n` },
      /^problem\.yaml:4: constants: a value/,
    ],
    [{ "problem.yaml": `${HEAD}type: scoring\nlanguages: []\n` }, /^problem\.yaml:4: languages: /],
    [
      { "problem.yaml": `${HEAD}type: scoring\nlimits:\n  validation_passes: 3\n` },
      /^problem\.yaml:5: limits\.validation_passes: only for multi-pass/,
    ],
    [
      { "problem.yaml": `${HEAD}type: [scoring, multi-pass]\nlimits:\n  validation_passes: 1\n` },
      /^problem\.yaml:5: limits\.validation_passes/,
    ],
    [
      { "problem.yaml": `${HEAD}type: [scoring, multi-pass]\nlimits:\n  validation_passes: 101\n` },
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
    // The memory limit is above that of the profile judge in some language, but not above that of other profiles.
    [
      { "problem.yaml": `${HEAD}limits:\n  code: 10\n  memory: 2049\n` },
      /^problem\.yaml:5: limits\.memory: the ceiling of this service is 2048 MiB \(ASSAY_CEILINGS\)$/,
    ],
    [
      { "problem.yaml": `${HEAD}limits:\n  compilation_memory: 1\n` },
      /^problem\.yaml:4: limits\.compilation_memory: at least 16 MiB$/,
    ],
    [
      { "problem.yaml": `${HEAD}limits:\n  validation_memory: 15\n` },
      /^problem\.yaml:4: limits\.validation_memory: at least 16 MiB$/,
    ],
    [{ "problem.yaml": `${HEAD}limits:\n  memory: 15\n` }, /^problem\.yaml:4: limits\.memory: at least 16 MiB/],
    [{ "problem.yaml": `${HEAD}limits:\n  time_limit: 20.5\n` }, /^problem\.yaml:4: limits\.time_limit: .* 20 s \(/],
    [{ "problem.yaml": `${HEAD}limits:\n  output: 17\n` }, /^problem\.yaml:4: limits\.output: .* 16 MiB \(/],
    [{ "problem.yaml": `${HEAD}limits:\n  code: 257\n` }, /^problem\.yaml:4: limits\.code: .* 256 KiB \(/],
    [
      { "problem.yaml": `${HEAD}limits:\n  compilation_memory: 2049\n` },
      /^problem\.yaml:4: limits\.compilation_memory: .* 2048 MiB \(/,
    ],
    [
      { "problem.yaml": `${HEAD}limits:\n  validation_time: 59\n` },
      /^problem\.yaml:4: limits\.validation_time: .* 20 s \(/,
    ],
    [
      { "problem.yaml": "problem_format_version: 2025-09\nname: a\n" },
      /^data\/secret.*test_group\.yaml:1: (max_score|score|require)/,
    ],
    [{ "data/secret/1-small/1.in": undefined }, /^data\/secret\/1-small\/1\.in: is missing/],
    [{ "data/secret/1-small/1.ans": undefined }, /^data\/secret\/1-small\/1\.ans: is missing/],
    [
      { "data/secret/test_group.yaml": "# points\nmax_score: 99\n" },
      /^data\/secret\/test_group\.yaml:2: max_score: the groups have 100 points, more than the 99 of secret/,
    ],
    [
      { "data/secret/test_group.yaml": "max_score: 100\nscore_aggregation: pass-fail\n" },
      /^data\/secret\/2-sum\/test_group\.yaml:2: score_aggregation: must be pass-fail, as that of secret/,
    ],
    [
      { "data/secret/test_group.yaml": "max_score: 100\n", "data/secret/1-small/test_group.yaml": "args: []\n" },
      /^data\/secret\/1-small\/test_group\.yaml:1: max_score: a number is required/,
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
    [{ "output_validator/more.py": "" }, /^output_validator\/more\.py: is in another language/],
    [{ "data/secret/1-small/2.files/x": "" }, /^data\/secret\/1-small\/2\.files\/x: would not be read: there is no/],
    [{ "data/secret/1-small/1.files/-o": "" }, /^data\/secret\/1-small\/1\.files\/-o: is not a valid name of a file$/],
    [
      Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`data/secret/1-small/1.files/${at}`, ""])),
      /^data\/secret\/1-small\/1\.files: has more than 16 files$/,
    ],
    [
      { "data/secret/1-small/1.files/a": "1".repeat(9e6), "data/secret/1-small/1.files/b": "1".repeat(9e6) },
      /^data\/secret\/1-small\/1\.files: with the input, they have more than 16777216 bytes$/,
    ],
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

test("an input or an answer that is too large is a fault with its path", () => {
  const large = "1".repeat(16_777_217);
  assertFault(
    { ...PACKAGES.sum, "data/secret/2-large.in": large },
    /^data\/secret\/2-large\.in: .* at most 16777216 bytes$/,
  );
  assertFault({ ...PACKAGES.sum, "data/secret/2-large.ans": large }, /^data\/secret\/2-large\.ans: .* at most/);
  const both = "1".repeat(13_000_000);
  const checked = { ...PACKAGES.echo, "data/secret/1.in": both, "data/secret/1.ans": both };
  assertFault(checked, /^data\/secret\/1\.in: with its answer, it has at most 25165824 bytes for a validator$/);
});

test("an answer that no program can write is a fault with its path, unless a validator of the package reads it", () => {
  const MIB = 1_048_576;
  // The last package states 1 MiB of output, the other one has the default of its format.
  for (const [texts, fits, bytes] of [
    [PACKAGES.sum, "sample/1", 8 * MIB],
    [PACKAGES.sum, "secret/2-large", 8 * MIB],
    [PACKAGES.thirds, "secret/2", MIB],
  ] as const) {
    const most = "7\n".repeat(bytes / 2);
    assertFault(
      { ...texts, [`data/${fits}.ans`]: `${most}7\n` },
      new RegExp(`^data/${fits}\\.ans: has more than the ${bytes} bytes that a program can write$`),
    );
    assert.ok(read({ ...texts, [`data/${fits}.ans`]: most }));
  }
  assert.ok(read({ ...PACKAGES.words, "data/secret/1.ans": "7\n".repeat(5 * MIB) }));
});

test("a package of 20,000 small files is read in a few seconds", () => {
  const many = (name: (at: number) => string) =>
    Object.fromEntries(Array.from({ length: 19_000 }, (_, at) => [name(at), ""]));
  for (const files of [
    many((at) => `submissions/d${at}/a.py`),
    many((at) => `input_validators/d${at}/a.py`),
    many((at) => `data/invalid_input/${at}.in`),
  ]) {
    const started = cpuMs();
    readProblem(toFiles({ ...PACKAGES.sum, ...files }), languages);
    assert.ok(cpuMs() - started < 4_000, `${cpuMs() - started} ms`);
  }
});

test("a validator does not have the place of a directory of its box", () => {
  const { "output_validators/interact.py": code, ...rest } = PACKAGES.echo;
  for (const place of ["judge/input", "judge", "feedback/x"]) {
    const texts = { ...rest, "output_validators/v/main.py": String(code), [`output_validators/v/${place}`]: "" };
    assertFault(texts, new RegExp(`^output_validators/v/${place}: has the place of a directory`));
  }
});

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
    [{ "data/testdata.yaml": "grading: custom\n" }, /^data\/testdata\.yaml:1: grading: custom is only for scoring/],
  ] as const)
    assertFault({ ...PACKAGES.echo, ...changes }, error);
  for (const [changes, error] of [
    [
      { "problem.yaml": "name: a\nvalidator_flags: magic\n" },
      /^problem\.yaml:2: the default validator has no argument/,
    ],
    [
      { "problem.yaml": "name: a\n", "data/secret/testdata.yaml": "\noutput_validator_flags: magic\n" },
      /^data\/secret\/testdata\.yaml:2: the default validator has no argument/,
    ],
  ] as const)
    assertFault({ ...PACKAGES.sum, ...changes }, error);
});

test("points that are not finite or exceed those of a request are rejected with their file and line", () => {
  const legacy = (text: string) => ({
    ...(text.includes("range") ? PACKAGES.near : PACKAGES.root),
    "data/secret/1-min/testdata.yaml": `# points\n${text}`,
    "data/secret/1-min/3.in": "4\n",
    "data/secret/1-min/3.ans": "2\n",
  });
  for (const [key, text] of [
    ["accept_score", "accept_score: 1.0e+308\n"],
    ["accept_score", "accept_score: 1000000.5\n"],
    ["accept_score", 'accept_score: "1e999"\n'],
    ["accept_score", "accept_score: Infinity\n"],
    ["accept_score", "accept_score: .inf\n"],
    ["accept_score", "accept_score: .nan\n"],
    ["accept_score", "accept_score: -1\n"],
    ["range", "grader_flags: min\nrange: 0 999999999\n"],
  ] as const) {
    const line = text.startsWith(key) ? 2 : 3;
    assertFault(legacy(text), new RegExp(`^data/secret/1-min/testdata\\.yaml:${line}: ${key}: `));
  }
  for (const value of [".inf", ".nan", "1.0e+308", "9007199254740993", "1000000000000"]) {
    const path = "data/secret/1-small/test_group.yaml";
    const secret = { "data/secret/test_group.yaml": "max_score: 9007199254740991\n" };
    const texts = { ...PACKAGES.factors, ...secret, [path]: `# points\nmax_score: ${value}\n` };
    assertFault(texts, new RegExp(`^${path}:2: max_score: `));
  }
});

test("the most points are accepted, and their sum is a number", () => {
  const text = "accept_score: 1000000\n";
  const { definition } = read({ ...PACKAGES.root, "data/secret/1-exact/testdata.yaml": text });
  assert.ok(definition.tests.some(({ points }) => points === 1_000_000));
  assert.ok(JSON.stringify(definition).includes("null") === false);
});

test("a grader must be one program, and is only for groups that name it", () => {
  const custom = { ...PACKAGES.root, "data/secret/testdata.yaml": "grading: custom\ngrader_flags: own=1\n" };
  const grader = { "graders/grade.py": "print('AC 1')\n" };
  const { definition } = read({ ...custom, ...grader });
  assert.deepEqual(definition.grader, { language: "python" });
  assert.deepEqual(
    definition.groups.flatMap(({ name, grader }) => (grader ? [[name, grader]] : [])),
    [
      ["secret", ["own=1"]],
      ["secret/1-exact", ["min"]],
      ["secret/2-others", ["min"]],
    ],
  );
  assert.equal(read({ ...PACKAGES.root, ...grader }).grader, null);
  assertFault(custom, /^graders: has no grader, but data has grading: custom$/);
  assertFault({ ...custom, ...grader, "graders/two.py": "" }, /^graders\/two\.py: a second grader is not supported$/);
  assertFault({ ...custom, "graders/grade.cob": "" }, /^graders\/grade\.cob: is in no installed language$/);
  assertFault({ ...PACKAGES.factors, ...grader }, /^graders: is not supported$/);
});

test("a tolerance that a double cannot have is rejected with its line", () => {
  for (const value of ["1e309", "1e-400"])
    assertFault(
      { ...PACKAGES.sum, "problem.yaml": `name: a\nvalidator_flags: float_tolerance ${value}\n` },
      /^problem\.yaml:2: float_tolerance needs a number that a double can have/,
    );
  const { definition } = read({ ...PACKAGES.sum, "problem.yaml": "name: a\nvalidator_flags: float_tolerance 0.0e5\n" });
  assert.deepEqual(definition.tests.at(-1)?.checker, {
    type: "floats",
    caseSensitive: false,
    absolute: 0,
    relative: 0,
  });
});

const NEW = PACKAGES.words;
const OLD = PACKAGES.sum;
const TEST = { "data/secret/1.in": "1 2\n", "data/secret/1.ans": "3\n" };

test("parts that would not be read and would change a verdict are rejected with their path", () => {
  const rejects = "import sys\nsys.exit(43)\n";
  const tolerance = "output_validator_flags: float_tolerance 1\n";
  const newTolerance = "output_validator_args: [float_tolerance, '1']\n";
  for (const [base, path, text, why] of [
    // These paths belong to the other version of the format.
    [NEW, "output_validators/v.py", rejects, "in the format 2025-09, the output validator is in output_validator/"],
    [NEW, "output_validators/v/main.py", rejects, "in the format 2025-09, the output .*"],
    [OLD, "output_validator/v.py", rejects, "problem.yaml has no validation: custom"],
    [OLD, "output_validators/v.py", rejects, "problem.yaml has no validation: custom"],
    [OLD, "Output_Validators/v.py", rejects, "in the format legacy, .*"],
    ...["data/secret/testdata.yaml", "data/sample/testdata.yml"].map(
      (path) => [NEW, path, tolerance, "in the format 2025-09, settings of tests are in test_group.yaml"] as const,
    ),
    ...["data/test_group.yaml", "data/secret/test_group.yaml", "data/secret/a/test_group.yaml"].map(
      (path) => [OLD, path, newTolerance, "in the format legacy, settings of tests are in testdata.yaml"] as const,
    ),
    // Slips in names.
    [NEW, "data/secret/test_group.yml", newTolerance, "in the format 2025-09, .*"],
    [NEW, "data/secret/Test_Group.yaml", newTolerance, "in the format 2025-09, .*"],
    [OLD, "data/secret/testdata.yml", tolerance, "in the format legacy, .*"],
    [NEW, "data/secret/3.yaml", newTolerance, "there is no test of this name"],
    [NEW, "data/secret/2.yml", newTolerance, "the ending must be .yaml"],
    [NEW, "data/secret/2.YAML", newTolerance, "the ending must be .yaml"],
    ...[NEW, OLD].flatMap((base) =>
      (
        [
          ["data/secret/7.IN", "the ending must be .in"],
          ["data/secret/7.Ans", "the ending must be .ans"],
          ["data/secret/7.in ", "the ending must be .in"],
          ["data/secret/1.ans\u00a0", "the ending must be .ans"],
          ["data/Secret/7.in", "the directory must be data/secret/"],
          ["data/SAMPLE/7.ans", "the directory must be data/sample/"],
          ["data/secret /7.in", "the directory must be data/secret/"],
          ["Data/secret/a/7.in", "the directory must be data/secret/"],
          ["data/7.in", "tests are in data/sample/ and data/secret/"],
          ["data/7.ANS", "tests are in data/sample/ and data/secret/"],
          ["data/secret/7.out", "there is no test of this name"],
          ["data/sample/7.OUT", "there is no test of this name"],
        ] as const
      ).map(([path, why]) => [base, path, "1", why] as const),
    ),
  ] as const) {
    const place = path.replace(/[.]/g, "\\.");
    assertFault({ ...base, ...TEST, [path]: text }, new RegExp(`^${place}: would not be read: ${why}$`));
  }
  for (const key of ["validation: custom interactive", "validator_flags: float_tolerance 1"])
    assertFault(
      { ...NEW, "problem.yaml": `${HEAD}${key}\n` },
      new RegExp(`^problem\\.yaml:3: ${key.split(":")[0]}: is only in the format legacy`),
    );
  assertFault(
    { ...OLD, ...TEST, "data/secret/1.files/x": "" },
    /1\.files\/x: the format legacy has no files of tests$/,
  );
  for (const name of ["test_group", "testdata"])
    assertFault(
      { ...NEW, [`data/${name}.yaml`]: newTolerance },
      new RegExp(`^data/${name}\\.yaml: settings of tests are in`),
    );
});

test("files that no test would use are no faults", () => {
  const both = [
    "README.md",
    "data/README",
    "data/secret/README.md",
    "data/secret/notes.txt",
    "data/secret/1.desc",
    "data/secret/1.hint",
    "data/secret/1.png",
    "data/secret/1.out",
    "data/sample/7.interaction",
    "data/sample/7.in.statement",
    "data/sample/7.ans.download",
    "data/secret/gen.py",
    "data/generate.sh",
    "data/invalid_input/README",
    "data/old/7.in",
    "generators/generators.yaml",
    "generators/data/secret/7.IN",
    "attachments/7.in",
    "problem_statement/7.in",
    "statement/problem.en.md",
    "solution/solution.md",
    "output_validators/README.md",
    "output_validator/README",
    ".github/workflows/check.yaml",
  ];
  for (const base of [NEW, OLD]) {
    const [tests] = [read({ ...base, ...TEST }).tests.length];
    const others = Object.fromEntries(both.map((path) => [path, "x"]));
    assert.equal(read({ ...base, ...TEST, ...others }).tests.length, tests);
  }
  // A test of the newer format can have the name of the settings of the older one.
  const named = { "data/secret/testdata.in": "a", "data/secret/testdata.ans": "a" };
  assert.ok(read({ ...NEW, ...named, "data/secret/testdata.yaml": "hint: none\n" }));
  assert.ok(read({ ...NEW, "data/sample/7.interaction": "x", "data/sample/7.yaml": "description: none\n" }));
  assert.ok(read({ ...OLD, "data/secret/9.yaml": "x", "data/secret/generators.yml": "x" }));
});
