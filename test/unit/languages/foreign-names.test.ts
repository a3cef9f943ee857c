import assert from "node:assert/strict";
import { test } from "node:test";
import { numbersOf } from "../../../src/compat/judge0/numbers.ts";
import { runtimeOf } from "../../../src/compat/piston/runtimes.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { LANGUAGES, PACKS } from "../../support/languages/directory.ts";

const languages = loadLanguages(LANGUAGES, PACKS).list();

test("a language has names in no other services than these", () => {
  const services = new Set(languages.flatMap(({ foreignNames }) => Object.keys(foreignNames)));
  assert.deepEqual([...services].sort(), ["judge0", "piston"]);
});

test("each number of Judge0 names one language", () => {
  const numbers = languages.flatMap(numbersOf);
  assert.ok(numbers.length > 60, `${numbers.length}`);
  assert.equal(new Set(numbers).size, numbers.length);
  assert.throws(() => numbersOf({ foreignNames: { judge0: ["48"] } }), /expected number/);
});

test("each name of Piston names one language", () => {
  const names = languages.flatMap((language) => {
    const runtime = runtimeOf(language);
    return [runtime.language, ...runtime.aliases];
  });
  assert.equal(new Set(names).size, names.length);
  const c = { name: "c", aliases: [], label: "C (GCC 14, C17)" };
  assert.throws(() => runtimeOf({ ...c, foreignNames: { piston: { alias: "gcc" } } }), /Unrecognized key/);
});

test("the options with which a language is lenient are options that a request may add", () => {
  const lenient = languages.filter(({ lenientOptions }) => lenientOptions);
  assert.deepEqual(
    lenient.map(({ name }) => name),
    ["typescript"],
  );
  for (const { lenientOptions = [], compilerOptions = [] } of lenient)
    for (const option of lenientOptions)
      assert.ok(
        compilerOptions.some((one) => new RegExp(`^(?:${one})$`).test(option)),
        option,
      );
});
