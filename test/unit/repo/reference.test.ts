import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Command } from "commander";
import { program } from "../../../src/cli/program.ts";
import { settingsSchema } from "../../../src/config/settings.ts";
import { loadConfig } from "../../../src/config.ts";
import { CAUSE_NAMES, RULES } from "../../../src/domain/causes.ts";
import { CONTROLS, SANDBOX_CONTROLS, SANDBOX_OPTIONAL_CONTROLS } from "../../../src/domain/controls.ts";
import { VERDICTS } from "../../../src/domain/outcome.ts";
import { codes, ROOT, read, rows, section } from "../../support/repo/documents.ts";

/** Handwritten parts of reference documents are compared with the code. */
const VERDICT_TEXT = read("docs/verdicts.md");

test("the verdict table equals that of the code", () => {
  const internal = { verdict: "IE", cause: "internal_error", actor: "judge" };
  const expected = [internal, ...RULES].map(({ verdict, cause, actor }) => `${verdict} ${cause} ${actor}`);
  const told = rows(section(VERDICT_TEXT, "Table")).map(([verdict, cause = "", actor]) => {
    return `${verdict} ${codes(cause)[0]} ${actor}`;
  });
  // A fallback of the same meaning has a row in the code only.
  assert.deepEqual(told, [...new Set(expected)]);
});

test("docs/verdicts.md has every verdict and cause", () => {
  const text = section(VERDICT_TEXT, "Table");
  for (const cause of CAUSE_NAMES) assert.ok(codes(text).includes(cause), cause);
  for (const verdict of VERDICTS) assert.match(text, new RegExp(`\\b${verdict}\\b`));
});

test("README.md has every verdict", () => {
  const told = rows(section(read("README.md"), "Verdicts")).map(([verdict]) => verdict);
  assert.deepEqual(told.sort(), [...VERDICTS].sort());
});

test("every setting that the code reads is documented", () => {
  const named = new Set(`${read("src/config.ts")}${read("src/config/settings.ts")}`.match(/\bASSAY_[A-Z_]+\b/g));
  assert.deepEqual([...named].sort(), Object.keys(settingsSchema.shape).sort());
  assert.ok(loadConfig({}, {}).dataDir);
});

test("the program has every command of src/cli/", async () => {
  const files = readdirSync(join(ROOT, "src/cli")).filter((name) => name.endsWith(".ts"));
  const modules = await Promise.all(files.map((name) => import(join(ROOT, "src/cli", name))));
  const makers = modules.flatMap((module) => Object.entries(module)).filter(([name]) => name.endsWith("Command"));
  const made = makers.map(([, make]) => (make as () => unknown)()).filter((command) => command instanceof Command);
  const names = (await program()).commands.map((command) => command.name());
  assert.deepEqual(made.map((command) => command.name()).sort(), names.sort());
});

test("docs/cli.md has every command of the shell", () => {
  const [, line = ""] = /^(serve \| .*)\) ;;$/m.exec(read("assay")) ?? [];
  const text = read("docs/cli.md");
  const names = line.split(" | ");
  assert.ok(names.length > 15);
  const headings = [...text.matchAll(/^### (.+)$/gm)].map(([, name]) => name);
  const first = rows(section(text, "Set-up commands")).flatMap(([cell = ""]) => codes(cell));
  for (const name of names) {
    assert.ok(headings.includes(name) || first.some((code) => code.split(" ")[0] === name), name);
  }
});

test("every package that set-up can install is documented", () => {
  const text = codes(section(read("setup/README.md"), "Debian packages"));
  const packages = ["", "-release", "-clients", "-test", "-full", "-long"]
    .flatMap((name) => read(`setup/packages${name}`).split("\n"))
    .filter((line) => /^[a-z]/.test(line))
    .map((line) => line.split(" ")[0] ?? "");
  assert.ok(packages.length > 3);
  for (const name of [...packages, "npm"]) assert.ok(text.includes(name), name);
});

test("docs/security.md documents the source of every control", () => {
  const [evidence = ""] = section(read("docs/security.md"), "Evidence").split("\n### ");
  const table = rows(evidence);
  assert.deepEqual(
    table.flatMap(([names = ""]) => codes(names)).toSorted(),
    [...new Set([...CONTROLS, ...SANDBOX_CONTROLS, ...SANDBOX_OPTIONAL_CONTROLS])].toSorted(),
  );
});
