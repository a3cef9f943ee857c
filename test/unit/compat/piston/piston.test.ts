import assert from "node:assert/strict";
import { test } from "node:test";
import { findRuntime, MAX_SELECTOR, runtimeOf } from "../../../../src/compat/piston/runtimes.ts";
import { FOREIGN_ROUTES } from "../../../../src/compat/routes.ts";
import { ClientError } from "../../../../src/domain/error.ts";
import { ForeignPaths } from "../../../../src/http/foreign-routes.ts";
import { listed, loadLanguages } from "../../../../src/languages/load.ts";
import { cpuMs } from "../../../support/cpu-time.ts";
import { LANGUAGES } from "../../../support/languages/directory.ts";

const languages = loadLanguages(LANGUAGES);
const workers = { languages: () => languages.list().map(({ name }) => name) };
const find = (name: string, selector: string) => findRuntime(name, selector, { languages, workers } as never);

test("every language has a version, and no two have the same name", () => {
  const all = listed(languages).map(runtimeOf);
  for (const { language, version } of all) assert.match(version, /^(?!0\.0\.0$)\d+\.\d+\.\d+$/, language);
  const names = all.flatMap(({ language, aliases }) => [language, ...aliases]);
  assert.deepEqual(names, [...new Set(names)]);
});

test("reads the version of a label, not that of a standard", () => {
  for (const [label, version] of [
    ["C (GCC 14, C17)", "14.0.0"],
    ["Python 3.13", "3.13.0"],
    ["C17 (Clang 19.1)", "19.1.0"],
    ["Pascal (FPC 3.2.2)", "3.2.2"],
    ["Shell", "0.0.0"],
  ] as const)
    assert.equal(runtimeOf({ name: "x", aliases: [], label, foreignNames: {} }).version, version, label);
});

test("finds a language by every name and by selectors", () => {
  for (const name of ["c++", "cpp", "cxx", "g++"]) assert.equal(find(name, "*").language.name, "cpp", name);
  assert.equal(find("node-js", ">=20 <25").language.name, "javascript");
  for (const selector of ["*", "3", "3.x", "3.13", "3.13.x", "3.13.0", "^3.10.0", ">=3.5 <4", "2 || 3", " 3.13.0 "])
    assert.equal(find("python", selector).runtime.version, "3.13.0", selector);
});

const REFUSED = [
  "3.12.0",
  "2.x",
  "latest",
  "^2",
  "x".repeat(MAX_SELECTOR),
  "1".repeat(MAX_SELECTOR),
  "\0",
  "3.13.0-alpha",
];
const ABSURD = [
  "~".repeat(100),
  "< ".repeat(50),
  "1 - ".repeat(25),
  "2||".repeat(33),
  "=v".repeat(50),
  "1.".repeat(50),
];

test("other selectors are refused, quickly", () => {
  const started = cpuMs();
  for (const selector of REFUSED) assert.throws(() => find("python", selector), ClientError, selector);
  for (const selector of ABSURD)
    try {
      find("python", selector);
    } catch (error) {
      assert.ok(error instanceof ClientError, selector);
    }
  assert.ok(cpuMs() - started < 500);
  assert.throws(() => find("python", "3".repeat(MAX_SELECTOR + 1)), /at most 100 characters/);
});

test("only paths below that of the other API belong to it", () => {
  const paths = new ForeignPaths(FOREIGN_ROUTES);
  for (const url of ["/piston/api/v2", "/piston/api/v2/", "/piston/api/v2/execute?x", "/piston/api/v2?x"])
    assert.ok(paths.of(url), url);
  for (const url of ["/piston/api/v2x", "/piston", "/api/piston/api/v2", "/", "", "/piston/api/v22/execute"])
    assert.equal(paths.of(url), undefined, url);
});
