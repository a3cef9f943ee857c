import assert from "node:assert/strict";
import { test } from "node:test";
import { MATRIX } from "./cells.ts";

test("a row with missing languages has a reason", () => {
  for (const { program, ends, gap } of MATRIX) assert.equal(Object.keys(ends).length < 8, gap !== undefined, program);
});
