import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeHarness, encodeHarness, type Harness, isAmong, withHarness } from "../../../src/domain/harness.ts";
import type { Language } from "../../../src/domain/language.ts";

const language = { name: "cpp17", source: "main.cpp", sources: [".cpp", ".cc"] } as unknown as Language;
const file = (name: string, text: string) => ({ name, data: Buffer.from(text) });
const HARNESS: Harness = {
  ".cpp": {
    files: [file("sum.h", "header"), file("grade.cpp", "grader")],
    prefix: "#line 1\n",
    env: { A: "1", B: "2" },
  },
};
const program = (code: string, files: readonly ReturnType<typeof file>[] = [], entry: string | null = null) => ({
  code: Buffer.from(code),
  stdin: Buffer.alloc(0),
  options: { files, entry, args: [], env: { B: "3" }, limits: {} },
});
const filesOf = ({ options }: ReturnType<typeof withHarness>) =>
  options?.files.map(({ name, data }) => `${name}: ${data}`);

test("a harness adds files, and a text before each source, without changing the program that is stored", () => {
  const stored = program("code", [file("b.cc", "more"), file("b.h", "own")]);
  const before = structuredClone(stored);
  const run = withHarness(stored, language, HARNESS);
  assert.equal(`${run.code}`, "#line 1\ncode");
  assert.deepEqual(filesOf(run), ["b.cc: #line 1\nmore", "b.h: own", "sum.h: header", "grade.cpp: grader"]);
  assert.deepEqual(run.options?.env, { A: "1", B: "3" });
  assert.deepEqual(structuredClone(stored), before);
});

test("a file of a submission does not take the place of a file of the harness", () => {
  const run = withHarness(
    program("", [file("grade.cpp", "forged"), file("sum.h/x", ""), file("main.cpp", "m")], "main.cpp"),
    language,
    HARNESS,
  );
  assert.deepEqual(filesOf(run), ["main.cpp: #line 1\nm", "sum.h: header", "grade.cpp: grader"]);
  assert.equal(run.code.length, 0);
});

test("submissions in other languages stay as they are, and the name of a language comes before the ending", () => {
  const python = { name: "python", source: "main.py" } as unknown as Language;
  const stored = program("code");
  assert.equal(withHarness(stored, python, HARNESS), stored);
  assert.equal(withHarness(stored, language, null), stored);
  const named: Harness = { ...HARNESS, cpp17: { files: [], prefix: "own ", env: {} } };
  assert.equal(`${withHarness(stored, language, named).code}`, "own code");
  assert.deepEqual(
    [isAmong([".cpp"], language), isAmong(["cpp17"], language), isAmong([".cpp"], python)],
    [true, true, false],
  );
});

test("a harness survives the database", () => {
  assert.deepEqual(decodeHarness(encodeHarness(HARNESS)), HARNESS);
});
