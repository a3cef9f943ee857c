import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { FULL_ONLY, LONG_FILES, LONG_PACK_TESTS, PACK_TESTS, PHASES, VARIANTS } from "../../runner/plan.ts";

test("every path of the plan names test files", () => {
  const files = readdirSync("test", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".test.ts"));
  const paths = [
    ...PHASES.flatMap(({ group }) => group.paths),
    ...FULL_ONLY.flatMap(({ paths }) => paths),
    ...LONG_FILES,
    ...Object.values(VARIANTS).flatMap(({ suites, plain }) => [...suites, ...(plain?.suites ?? [])]),
    PACK_TESTS,
    LONG_PACK_TESTS,
  ];
  assert.deepEqual(
    paths.filter((path) => !files.some((file) => file.startsWith(path))),
    [],
  );
});
