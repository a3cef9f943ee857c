import assert from "node:assert/strict";
import { test } from "node:test";
import { LANGUAGES, MATRIX } from "./cells.ts";

test("each program ends in exactly one way in each language, unless the language does not have it", () => {
  assert.deepEqual(LANGUAGES, ["c", "cpp", "go", "java", "javascript", "python", "rust", "typescript"]);
  const rows = MATRIX.filter(({ injected }) => !injected);
  for (const [program, ways] of Map.groupBy(rows, (row) => row.program)) {
    const missing = Object.keys(ways[0]?.missing ?? {});
    const found = [...ways.flatMap(({ ends }) => Object.keys(ends)), ...missing];
    assert.deepEqual(found.toSorted(), LANGUAGES, program);
  }
});
