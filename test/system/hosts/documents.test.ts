import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "../../..");
const here = readdirSync(import.meta.dirname).filter(
  (name) => name.endsWith(".test.ts") && !name.startsWith("documents"),
);

/** Titles of tests, and rows of tests with a table. */
function titles(path: string): string[] {
  const text = readFileSync(join(root, path), "utf8");
  return [...text.matchAll(/^test\("([^"]+)"|^ {2}"([^"]+)": \{$/gm)].map(([, title, row]) => title ?? row ?? "");
}

/** The hosts of all rows; a row with several separates them by semicolons. */
function documented(): string[] {
  const section =
    /^### Less capable hosts\n(.*?)^## /ms.exec(readFileSync(join(root, "docs/security.md"), "utf8"))?.[1] ?? "";
  const cells = [...section.matchAll(/^\| ([^|]+?) \|/gm)].map(([, first = ""]) => first);
  return cells.filter((first) => first !== "host").flatMap((cell) => cell.split("; "));
}

test("each less capable host in docs/security.md has a test, and each test has a row", () => {
  const tried = here.flatMap((name) => titles(`test/system/hosts/${name}`));
  const rows = documented();
  assert.ok(rows.length > 20 && tried.length > 20, `${rows.length} rows, ${tried.length} tests`);
  for (const title of tried)
    assert.ok(
      rows.some((row) => title.startsWith(row)),
      `"${title}" has no row`,
    );
  const all = [...tried, ...titles("test/system/setup/arguments.test.ts")];
  for (const row of rows)
    assert.ok(
      all.some((title) => title.startsWith(row)),
      `"${row}" has no test`,
    );
});
