import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { LanguageFileError } from "../../../src/languages/schema.ts";
import { type Data, LANGUAGES, languagesWith } from "../../support/languages/directory.ts";

const languages = loadLanguages(LANGUAGES);

test("lists the languages by name, among them the eight of the specification", () => {
  const names = languages.list().map((language) => language.name);
  assert.deepEqual(names, names.toSorted());
  for (const name of ["c", "cpp", "go", "java", "javascript", "python", "rust", "typescript"])
    assert.ok(names.includes(name), name);
});

test("resolves every name that the specification accepts", () => {
  const accepted = {
    python: ["python", "py"],
    c: ["c"],
    cpp: ["cpp", "c++", "cxx", "cc"],
    java: ["java"],
    javascript: ["javascript", "js"],
    typescript: ["typescript", "ts"],
    go: ["go"],
    rust: ["rust", "rs"],
  };
  for (const [name, spellings] of Object.entries(accepted)) {
    for (const spelling of spellings) assert.equal(languages.resolve(spelling)?.name, name, spelling);
  }
  for (const unknown of ["", "C", "Python", "c#", "__proto__", "profiles"]) {
    assert.equal(languages.resolve(unknown), undefined, unknown);
  }
});

test("Python's limits in judge are those of the specification's examples", () => {
  const python = languages.resolve("python");
  assert.ok(python);
  const { compile, execute } = languages.limitsFor(python, "judge");
  assert.equal(compile, undefined);
  assert.deepEqual(
    [execute.memoryBytes, execute.processes, execute.cpuMs, execute.addressSpaceBytes, execute.openFiles],
    [268435456, 10, 4000, 1073741824, 32],
  );
});

test("a language's own limits replace only those of the profile", () => {
  const python = languages.resolve("python");
  const java = languages.resolve("java");
  assert.ok(python && java);
  const base = languages.limitsFor(python, "judge").execute;
  const own = languages.limitsFor(java, "judge").execute;
  assert.equal(own.addressSpaceBytes, null);
  assert.equal(own.memoryBytes, 512 * 1024 * 1024);
  assert.equal(own.fileBytes, base.fileBytes);
  assert.equal(languages.limitsFor(java, "agent").execute.cpuMs, 20000);
});

test("commands have the base environment, and a language's variables override it", () => {
  const go = languages.resolve("go");
  assert.equal(go?.execute.env.HOME, "/box");
  assert.equal(go?.execute.env.GOMAXPROCS, "2");
  assert.equal(go?.compile?.env.TMPDIR, "/tmp");
});

test("compile and execute together stay below the longest wait of a client", () => {
  for (const language of languages.list()) {
    const { compile, execute } = languages.limitsFor(language, "judge");
    assert.ok((compile?.wallMs ?? 0) + execute.wallMs < 30_000, language.name);
  }
});

const mistakes: readonly [title: string, file: string, change: (data: Data) => void, message: RegExp][] = [
  ["an unknown field", "c.json", (c) => Object.assign(c, { alias: [] }), /Unrecognized key: "alias"/],
  ["an unknown limit", "c.json", (c) => Object.assign(c.limits.judge.execute, { cpu: 1 }), /Unrecognized key: "cpu"/],
  ["a changed limit without a reason", "c.json", (c) => delete c.limits.judge.execute.stackBytes.reason, /reason/],
  ["a reason that is too short", "c.json", (c) => (c.limits.judge.execute.stackBytes.reason = "more"), /a sentence/],
  ["a shell string for a command", "c.json", (c) => (c.execute.command = "./main"), /command/],
  ["a program without an absolute path", "c.json", (c) => (c.execute.command = ["main"]), /absolute path/],
  ["a source with a directory", "c.json", (c) => (c.source = "../main.c"), /a file name without a directory/],
  ["no smoke test", "c.json", (c) => delete c.smokeTest, /smokeTest/],
  ["an alias of another language", "c.json", (c) => c.aliases.push("rs"), /the name rs is already used by c/],
  ["a name that differs from the file's", "c.json", (c) => (c.name = "clang"), /its name is clang/],
  [
    "limits for a compile step that does not exist",
    "python.json",
    (python) => (python.limits.judge.compile = {}),
    /the language has no compile step/,
  ],
  ["an incomplete profile", "profiles.json", (all) => delete all.judge.execute.openFiles, /openFiles/],
  ["a limit without its reason", "profiles.json", (all) => delete all.reasons.openFiles, /openFiles/],
  ["a limit of zero", "profiles.json", (all) => (all.judge.execute.processes = 0), /processes/],
  ["a fraction", "profiles.json", (all) => (all.judge.execute.wallMs = 0.5), /wallMs/],
  ["no limit on memory", "profiles.json", (all) => (all.judge.execute.memoryBytes = null), /memoryBytes/],
];

for (const [title, file, change, message] of mistakes) {
  test(`rejects ${title}`, (t) => {
    const directory = languagesWith(t, file, change);
    assert.throws(
      () => loadLanguages(directory),
      (error) => error instanceof LanguageFileError && message.test(error.message),
    );
  });
}

test("rejects a file that is not JSON, with its name in the message", (t) => {
  const directory = languagesWith(t, "c.json", () => {});
  writeFileSync(join(directory, "c.json"), "{");
  assert.throws(() => loadLanguages(directory), /c\.json: /);
});

test("rejects a directory without languages", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "assay-languages-"));
  t.after(() => rmSync(directory, { recursive: true }));
  assert.throws(() => loadLanguages(directory), LanguageFileError);
});
