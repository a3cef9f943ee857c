import assert from "node:assert/strict";
import { test } from "node:test";
import { type Limits, PROFILE_NAMES } from "../../../src/domain/limits.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { brokenRules } from "../../../src/languages/rules.ts";
import { LANGUAGES, languagesWith } from "../../support/languages/directory.ts";

const languages = loadLanguages(LANGUAGES);
const python = languages.resolve("python");
assert.ok(python);
const good = languages.limitsFor(python, "judge").execute;

test("the limits of every language preserve the meaning of each verdict", () => {
  for (const language of languages.list()) {
    for (const profile of PROFILE_NAMES) {
      assert.deepEqual(brokenRules(languages.limitsFor(language, profile)), [], `${language.name}, ${profile}`);
    }
  }
});

const broken: readonly [title: string, change: Partial<Limits>, message: RegExp][] = [
  ["a file as large as /box is not FSE", { workBytes: good.fileBytes }, /workBytes/],
  ["a file as large as /tmp is not FSE", { fileBytes: good.tmpBytes }, /tmpBytes/],
  [
    "file systems as large as the memory turn a full disk into MLE",
    { tmpBytes: good.memoryBytes / 2 },
    /full file systems/,
  ],
  ["a stack as large as the memory turns recursion into MLE", { stackBytes: good.memoryBytes }, /stackBytes/],
  ["less address space than memory hides MLE", { addressSpaceBytes: good.memoryBytes }, /addressSpaceBytes/],
  ["more CPU than wall time is never reached", { cpuMs: good.wallMs + 1 }, /cpuMs/],
];

for (const [title, change, message] of broken) {
  test(`reports: ${title}`, () => {
    const problems = brokenRules({ execute: { ...good, ...change } });
    assert.equal(problems.length, 1);
    assert.match(problems.join(), message);
  });
}

test("reports: different sizes for the file system that both steps share", () => {
  const problems = brokenRules({ compile: { ...good, workInodes: 1 }, execute: good });
  assert.match(problems.join(), /one file system/);
});

test("reports: more CPUs for a compile step than for the program, whose code it may run", () => {
  const problems = brokenRules({ compile: { ...good, cpus: good.cpus + 1 }, execute: good });
  assert.match(problems.join(), /compilers run code of the program/);
});

test("a broken rule stops the service from starting", (t) => {
  const directory = languagesWith(t, "profiles.json", (all) => {
    all.agent.execute.fileBytes = all.agent.execute.workBytes;
  });
  assert.throws(() => loadLanguages(directory), /agent, execute: fileBytes is not below workBytes/);
});
