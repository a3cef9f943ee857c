import assert from "node:assert/strict";
import { test } from "node:test";
import { languagePacks } from "../../../src/config.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { chosenPacks, layerLines, loadPack, type Pack } from "../../../src/languages/packs.ts";
import { LanguageFileError } from "../../../src/languages/schema.ts";
import { type Data, LANGUAGES, languagesWith, NAMES, PACKS } from "../../support/languages/directory.ts";

test("every pack is valid, and its names and aliases are not those of another language", () => {
  const languages = loadLanguages(LANGUAGES, PACKS);
  assert.equal(languages.list().length, NAMES.length + PACKS.length);
  for (const name of PACKS) assert.equal(languages.resolve(name)?.name, name);
});

test("without a choice, there are the eight languages alone", () => {
  assert.deepEqual(
    loadLanguages(LANGUAGES)
      .list()
      .map(({ name }) => name),
    NAMES,
  );
  assert.equal(languagePacks({}), "none");
  assert.equal(loadLanguages(LANGUAGES).resolve("ruby"), undefined);
});

test("a choice is all, none or names", () => {
  const fromPypi = ["cpptestlib"];
  assert.deepEqual(
    chosenPacks(LANGUAGES, "all"),
    PACKS.filter((name) => !fromPypi.includes(name)),
  );
  assert.deepEqual(chosenPacks(LANGUAGES, "cpptestlib"), fromPypi);
  assert.deepEqual(chosenPacks(LANGUAGES, "none"), []);
  assert.deepEqual(chosenPacks(LANGUAGES, " ruby,lua,ruby,"), ["lua", "ruby"]);
  for (const unknown of ["nothing", "../c", "ruby lua", "c"]) {
    assert.throws(
      () => chosenPacks(LANGUAGES, unknown),
      new RegExp(`no language pack '${unknown.replace(".", "\\.")}`),
    );
  }
});

test("a pack as a language has none of the parts for set-up and tests", () => {
  const ruby = loadLanguages(LANGUAGES, ["ruby"]).resolve("ruby");
  for (const part of ["tests", "npm", "trim", "links", "compat"]) assert.ok(ruby && !(part in ruby), part);
});

test("the lines for a layer are the same for packs with the same packages", () => {
  const { tests: _, ...pack } = loadPack(LANGUAGES, "ruby");
  const lines = layerLines({
    ...pack,
    packages: ["b", "a"],
    trim: ["usr/x*"],
    links: { "opt/x": "/usr/y" },
  } as unknown as Pack);
  assert.equal(lines, "debian a b\ntrim usr/x*\nlink opt/x /usr/y\n");
  assert.equal(layerLines({ ...pack, packages: [] } as unknown as Pack), "");
});

const mistakes: readonly (readonly [title: string, change: (pack: Data) => void, message: RegExp])[] = [
  ["the name of another language", (pack) => pack.aliases.push("python"), /python is already used/],
  ["a pack without a test", (pack) => delete pack.tests.busy, /busy/],
  ["a package with an option", (pack) => pack.packages.push("-o x"), /Debian package/],
  ["a path outside the root", (pack) => (pack.trim = ["/etc"]), /relative to the root/],
  ["a path with a blank", (pack) => (pack.links = { "opt/a b": "/usr" }), /links/],
  [
    "a version that is not exact",
    (pack) => (pack.npm = [{ arch: "all", target: "opt/x", name: "x", version: "^1", sha512: "" }]),
    /exact/,
  ],
  ["includes without a compiler", (pack) => (pack.tests.includes = "x"), /for packs with a compile step/],
  ["an uncaught error with two ends", (pack) => (pack.tests.uncaught.signal = 6), /an exit code or a signal/],
];

for (const [title, change, message] of mistakes) {
  test(`rejects ${title}`, (t) => {
    const directory = languagesWith(t, "packs/ruby.json", change);
    assert.throws(
      () => loadLanguages(directory, ["ruby"]),
      (error) => error instanceof LanguageFileError && message.test(error.message),
    );
  });
}
