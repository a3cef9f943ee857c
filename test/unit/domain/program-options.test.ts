import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT_FIELD_NAMES } from "../../../src/domain/limits.ts";
import {
  decodeProgramOptions,
  encodeProgramOptions,
  FILE_PATH,
  inField,
  lowered,
  type ProgramOptions,
  VARIABLE_NAME,
} from "../../../src/domain/program-options.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";

test("a path consists of one to eight plain names", () => {
  for (const path of ["a", "a.txt", "a/b", "1/2/3/4/5/6/7/8", "a-b_c+d$e", "a..b", `${"a".repeat(200)}`])
    assert.match(path, FILE_PATH);
  for (const path of [
    "",
    "/a",
    "a/",
    "a//b",
    ".",
    "..",
    ".a",
    "a/.b",
    "a/../b",
    "../a",
    "-x",
    "a/-B",
    "a b",
    "a\0",
    "ä",
    "a\n",
    "a\\b",
    "~",
  ])
    assert.doesNotMatch(path, FILE_PATH);
  assert.doesNotMatch("1/2/3/4/5/6/7/8/9", FILE_PATH);
  assert.doesNotMatch("a".repeat(201), FILE_PATH);
});

test("a variable has a plain name", () => {
  for (const name of ["A", "_", "a1_B"]) assert.match(name, VARIABLE_NAME);
  for (const name of ["", "1", "A=B", "A B", "Ä", "A\n", "A".repeat(65)]) assert.doesNotMatch(name, VARIABLE_NAME);
});

test("decoding returns the encoded program options, and their order makes no difference to the encoding", () => {
  const options: ProgramOptions = {
    files: [
      { name: "a/b", data: Buffer.from([0, 255]) },
      { name: "c", data: Buffer.alloc(0) },
    ],
    entry: "a/b",
    args: ["", "ü"],
    env: { A: "", B: "x=y" },
    limits: { wall_time_secs: 0.5, processes: 3 },
    compileLimits: { cpu_time_secs: 2 },
  };
  assert.deepEqual(decodeProgramOptions(encodeProgramOptions(options)), options);
  const reordered = {
    ...options,
    files: options.files.toReversed(),
    env: { B: "x=y", A: "" },
    limits: { processes: 3, wall_time_secs: 0.5 },
  };
  assert.equal(
    encodeProgramOptions(reordered),
    encodeProgramOptions(options),
    "the order of files and fields makes no difference",
  );
});

const languages = loadLanguages(LANGUAGES);

test("each limit can be lowered, and the CPU time stays within the wall time, and the stack below the memory", () => {
  for (const language of languages.list()) {
    const { execute } = languages.limitsFor(language, "judge");
    assert.deepEqual(lowered(execute, {}), execute, language.name);
    for (const field of LIMIT_FIELD_NAMES) {
      const half = field.endsWith("_secs") ? inField(execute, field) / 2 : Math.floor(inField(execute, field) / 2);
      const limits = lowered(execute, { [field]: half });
      assert.equal(inField(limits, field), half, `${language.name} ${field}`);
      assert.ok(limits.cpuMs <= limits.wallMs && limits.stackBytes < limits.memoryBytes, `${language.name} ${field}`);
    }
  }
});
