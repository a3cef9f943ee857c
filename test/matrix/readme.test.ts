import assert from "node:assert/strict";
import { test } from "node:test";
import { read, section } from "../repo/documents.ts";
import { MATRIX } from "./cells.ts";
import { gaps, table } from "./table.ts";

const HEADING = "Every verdict, in every language";

test("README.md shows the matrix as it is tested", () => {
  const text = section(read("README.md"), HEADING);
  for (const part of [table((row, language) => row.ends[language] as string), gaps()])
    assert.ok(text.includes(part), `in the section "${HEADING}" of README.md there should be:\n\n${part}\n`);
});

test("a language that is missing from a row is missing for a reason", () => {
  for (const { program, ends, gap } of MATRIX) assert.equal(Object.keys(ends).length < 8, gap !== undefined, program);
});
