import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadExamples } from "../../../src/languages/examples.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { LanguageFileError } from "../../../src/languages/schema.ts";
import { type Data, LANGUAGES, languagesOf, languagesWith, NAMES } from "../../support/languages/directory.ts";
import { INPUT, MATRIX } from "../../system/matrix/cells.ts";

const languages = loadLanguages(LANGUAGES);
const examples = loadExamples(LANGUAGES, languages);
const WITH_EXAMPLES = languagesOf("echo");
const LISTED = JSON.parse(readFileSync(join(LANGUAGES, "examples.json"), "utf8")) as {
  program: string;
  verdict: string;
  stdin?: string;
}[];

test("every language begins with its smoke test; one with examples has a program for each verdict except IE", () => {
  assert.deepEqual([...examples.keys()], NAMES);
  for (const { name, smokeTest } of languages.list()) {
    const mine = examples.get(name) ?? [];
    assert.deepEqual(mine[0], { title: "Hello", verdict: "AC", code: smokeTest.code, stdin: "" });
    if (!WITH_EXAMPLES.includes(name)) continue;
    const verdicts = new Set(mine.map(({ verdict }) => verdict));
    assert.deepEqual([...verdicts].sort(), ["AC", "FSE", "MLE", "PLE", "RE", "SIG", "TLE"], name);
    assert.equal(
      new Set(mine.map(({ title }) => title)).size,
      mine.length,
      `${name}: two programs have the same title`,
    );
  }
});

test("the matrix runs each program in each language with the listed verdict", () => {
  for (const { program, verdict, stdin } of LISTED) {
    const rows = MATRIX.filter((row) => row.program === program && row.injected === undefined);
    for (const name of WITH_EXAMPLES) {
      const run = rows.filter(({ ends }) => name in ends).map((row) => row.verdict);
      assert.deepEqual(run, [verdict], `${name}: ${program}`);
    }
    if (stdin !== undefined) assert.equal(stdin, INPUT, `${program} runs with another input`);
  }
});

test("reports a missing or an unlisted program, or an invalid list, with the file name", (t) => {
  const rejects = (file: string, change: (data: Data) => void, message: RegExp) =>
    assert.throws(() => loadExamples(languagesWith(t, file, change), languages), {
      name: LanguageFileError.name,
      message,
    });
  rejects("python.json", (python) => delete python.examples.busy, /python\.json: there is no example busy/);
  rejects(
    "python.json",
    (python) => (python.examples.more = "pass\n"),
    /python\.json: it has examples that examples\.json/,
  );
  rejects("examples.json", (list) => (list[0].verdict = "IE"), /examples\.json: .*verdict/s);
});
