import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT, read, rows, section } from "./documents.ts";

const CASES = rows(section(read("docs/operations.md"), "Failures"));

test("every case of what can die names a test that shows it, and that test exists", () => {
  const wrong: string[] = [];
  for (const cells of CASES) {
    const [what = "", shown = ""] = [cells[0], cells.at(-1)];
    const named = [...shown.matchAll(/`(test\/[\w./-]+\.test\.ts)` "([^"]+)"/g)];
    if (named.length === 0) wrong.push(`${what}: no test is named`);
    for (const [, file = "", title = ""] of named) {
      if (!existsSync(join(ROOT, file))) wrong.push(`${what}: there is no ${file}`);
      // In a title, as it stands in the file: in one that is composed, between what is filled in.
      else if (!titles(read(file)).some((one) => one.includes(title))) wrong.push(`${what}: ${file} has no "${title}"`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("what can die is told of every part, and each of the questions is answered", () => {
  for (const part of ["service", "worker", "slot", "launcher", "init", "PostgreSQL", "network", "receiver", "machine"])
    assert.ok(
      CASES.some(([what = ""]) => what.includes(part)),
      part,
    );
  for (const cells of CASES) for (const cell of cells) assert.notEqual(cell, "", cells[0]);
});

function titles(source: string): string[] {
  return [...source.matchAll(/\btest\(\s*(["`])(.*?)\1/gs)].map(([, , title = ""]) => title);
}
