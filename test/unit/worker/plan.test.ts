import assert from "node:assert/strict";
import { test } from "node:test";
import type { Language } from "../../../src/domain/language.ts";
import { PROFILE_NAMES } from "../../../src/domain/limits.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { plan } from "../../../src/worker/plan.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";

const languages = loadLanguages(LANGUAGES);
const named = (name: string) => languages.resolve(name) as Language;
const program = { code: Buffer.from("the code"), stdin: Buffer.from("the input") };

test("a language without a compile step has one step, with source and input in a fresh work directory", () => {
  const python = named("python");
  const limits = languages.limitsFor(python, "judge");
  assert.deepEqual(plan(python, limits, program), {
    execute: {
      command: python.execute,
      files: [{ name: "main.py", data: program.code }],
      stdin: program.stdin,
      limits: limits.execute,
      work: "fresh",
      more: false,
    },
  });
});

test("a compiled language has two steps: the compiler gets the source, the program gets the input", () => {
  const c = named("c");
  const limits = languages.limitsFor(c, "judge");
  assert.deepEqual(plan(c, limits, program), {
    compile: {
      command: c.compile,
      files: [{ name: "main.c", data: program.code }],
      stdin: Buffer.alloc(0),
      limits: limits.compile,
      work: "fresh",
      more: true,
      collect: true,
    },
    execute: {
      command: c.execute,
      files: [],
      stdin: program.stdin,
      limits: limits.execute,
      work: "keep",
      more: false,
    },
  });
});

test("each language runs with the limits of the profile", () => {
  for (const language of languages.list()) {
    for (const profile of PROFILE_NAMES) {
      const limits = languages.limitsFor(language, profile);
      const { compile, execute } = plan(language, limits, program);
      assert.equal(execute.limits, limits.execute, `${language.name} ${profile}`);
      assert.equal(compile?.limits, limits.compile, `${language.name} ${profile}`);
      assert.equal(compile === undefined, language.compile === null);
    }
  }
});
