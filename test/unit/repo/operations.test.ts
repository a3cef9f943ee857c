import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT, read, rows, section } from "../../support/repo/documents.ts";
import { SHOWN_BY } from "./failures.ts";

const CASES = rows(section(read("docs/operations.md"), "Failures"));

test("each failure in docs/operations.md has tests, and each test of a failure has a row", () => {
  assert.deepEqual(
    CASES.map(([failure]) => failure),
    Object.keys(SHOWN_BY),
  );
});

test("the tests of each failure exist", () => {
  for (const [failure, tests] of Object.entries(SHOWN_BY)) {
    assert.ok(tests.length > 0, failure);
    for (const [file, title] of tests) {
      assert.ok(existsSync(join(ROOT, file)), `${failure}: there is no ${file}`);
      // A composed title contains the text between two values.
      assert.ok(
        titles(read(file)).some((one) => one.includes(title)),
        `${failure}: ${file} has no "${title}"`,
      );
    }
  }
});

test("docs/operations.md covers the failure of every part and fills every cell", () => {
  for (const part of ["service", "worker", "slot", "launcher", "init", "PostgreSQL", "network", "receiver", "machine"])
    assert.ok(
      CASES.some(([failure = ""]) => failure.includes(part)),
      part,
    );
  for (const cells of CASES) for (const cell of cells) assert.notEqual(cell, "", cells[0]);
});

function titles(source: string): string[] {
  return [...source.matchAll(/\btest\(\s*(["`])(.*?)\1/gs)].map(([, , title = ""]) => title);
}
