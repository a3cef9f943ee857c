import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT_FIELD_NAMES } from "../../../src/domain/limits.ts";
import {
  decodeProgramOptions,
  encodeProgramOptions,
  inField,
  lowered,
  type ProgramOptions,
  toFilePath,
  VARIABLE_NAME,
} from "../../../src/domain/program-options.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";

test("a path consists of one to eight names of any script", () => {
  const names = [
    ...[
      "a",
      "a.txt",
      "a/b",
      "1/2/3/4/5/6/7/8",
      "a-b_c+d$e",
      "a..b",
      "a.",
      "_",
      "+",
      "$x",
      "~",
      "#1",
      "a=b",
      "a@b",
      "a%20b",
    ],
    ...["my data.txt", "a/my  data/b c", "data (1).txt", "R&D, 'final'; [2]{3}!.txt", "`id`", "a\u00a0b", "x\u202f1"],
    ...[
      "данные.txt",
      "Übung/größe.txt",
      "日本語　１.txt",
      "データ",
      "नमस्ते.txt",
      "שלום.txt",
      "مرحبا.txt",
      "𝒳.txt",
      "📁.txt",
      "²",
      "“x” – y",
    ],
    ...["a".repeat(255), "я".repeat(127), `${"a".repeat(255)}/`.repeat(3) + "b".repeat(255)],
  ];
  for (const path of names) assert.equal(toFilePath(path), path);
});

test("a path cannot lead out, be an option, or have characters that are not seen", () => {
  const refused = [
    ...["", "/a", "a/", "a//b", ".", "..", ".a", "a/.b", "a/../b", "../a", "-x", "a/-B", "@options", "a/@b"],
    ...[
      " a",
      "a ",
      "a/ /b",
      " ",
      "\u3000a",
      "a\u00a0",
      "a\n",
      "a\tb",
      "a\0",
      "\u007f",
      "a\u0085b",
      "a\u2028b",
      "a\u2029b",
    ],
    ...["a\\b", "C:", "a:b", "*", "a?", '"a"', "<a", "a>", "a|b"],
    // The order of text is changed by U+202A to U+202E and U+2066 to U+2069, and U+200B to U+200F, U+FEFF and others are not seen.
    ...[
      "a\u202egpj.exe",
      "a\u2066b",
      "a\u200eb",
      "a\u200bb",
      "a\u200d",
      "\ufeffa",
      "a\u00adb",
      "a\ufe0f",
      "\u3164",
      "a\u{e0041}",
    ],
    // A mark without its letter, half of a surrogate pair, text that was decoded wrongly, and characters that are not assigned.
    ...["\u0301a", "a/\u0301", "a\ud800", "\udc00", "a\ufffdb", "a\ue000", "a\u0378", "\uffff"],
    ...["1/2/3/4/5/6/7/8/9", "a".repeat(256), "я".repeat(128), `${"a".repeat(250)}/`.repeat(4) + "a".repeat(21)],
  ];
  for (const path of refused) assert.equal(toFilePath(path), null, JSON.stringify(path));
});

test("a path is in the normal form C, however its accents are encoded", () => {
  assert.equal(toFilePath("e\u0301/u\u0308.txt"), "é/ü.txt");
  assert.equal(toFilePath("\u0438\u0306"), "\u0439");
  // The form C of some characters is longer: 255 bytes can become more.
  assert.equal(toFilePath("\u0958".repeat(85)), null);
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
