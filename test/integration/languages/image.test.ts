import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";

const IMAGE = join(import.meta.dirname, "../../../image");
const prepare = readFileSync(join(IMAGE, "prepare"), "utf8");
const languages = loadLanguages(LANGUAGES);

const hash = (directory: string) => execFileSync(join(directory, "build"), ["--hash"], { encoding: "utf8" }).trim();

test("C++ is compiled with the flags of its precompiled headers", () => {
  const made = /^cxx_flags="(.*)"$/m.exec(prepare)?.[1]?.split(" ");
  const used = languages.resolve("cpp")?.compile?.command ?? [];
  assert.ok(made);
  // Linker options do not affect precompiled headers.
  const compiler = used
    .slice(1)
    .filter((flag) => /^-[fOWmsDU]/.test(flag) && !/^-(fuse-ld=|Wl,|static-|s$)/.test(flag));
  assert.deepEqual(
    compiler,
    made.filter((flag) => /^-[fOWmsDU]/.test(flag)),
  );
});

test("every script in /opt/assay/bin that a language runs is part of the image", () => {
  for (const language of languages.list()) {
    for (const { command } of [language.compile, language.execute].filter((step) => step !== null)) {
      if (!command[0]?.startsWith("/opt/assay/bin/")) continue;
      assert.ok(existsSync(join(IMAGE, "root", command[0])), command[0]);
    }
  }
});

test("the image has the packages of every language", () => {
  const packages = execFileSync(join(IMAGE, "build"), ["--packages"], { encoding: "utf8" }).trim().split("\n");
  for (const language of languages.list())
    for (const name of language.packages) assert.ok(packages.includes(name), name);
});

test("the image's hash changes with its contents, but not with its README", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "assay-image-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const copy = join(directory, "image");
  cpSync(IMAGE, copy, { recursive: true });
  const before = hash(copy);
  assert.match(before, /^[0-9a-f]{16}$/);
  assert.equal(before, hash(IMAGE));
  writeFileSync(join(copy, "README.md"), "other notes");
  assert.equal(hash(copy), before);
  const packages = join(copy, "language-packages"); // generated from languages/
  writeFileSync(packages, `${readFileSync(packages, "utf8")}tree\n`);
  const withPackage = hash(copy);
  assert.notEqual(withPackage, before);
  writeFileSync(join(copy, "manifest"), `${readFileSync(join(copy, "manifest"), "utf8")}\ndebian tree\n`);
  assert.notEqual(hash(copy), withPackage);
});
