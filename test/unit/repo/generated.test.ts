import assert from "node:assert/strict";
import { test } from "node:test";
import { FILES } from "../../../docs/generate/files.ts";
import { fill, REGIONS, regionsOf, SOURCES } from "../../../docs/generate/regions.ts";
import { documents, read } from "../../support/repo/documents.ts";

const ALL = [...documents(), ...SOURCES];

for (const path of ALL.filter((path) => regionsOf(read(path)).length > 0)) {
  test(`the generated parts of ${path} are up to date`, () => {
    const text = read(path);
    assert.equal(text, fill(text), "run: npm run generate");
  });
}

for (const [path, make] of Object.entries(FILES)) {
  test(`${path} is up to date`, async () => {
    assert.equal(read(path), await make(), "run: npm run generate");
  });
}

test("each generated part is in exactly one file", () => {
  const used = ALL.flatMap((path) => regionsOf(read(path)));
  assert.deepEqual(used.sort(), Object.keys(REGIONS).sort());
});
