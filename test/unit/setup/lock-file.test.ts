import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";

interface Entry {
  readonly version?: string;
  readonly optionalDependencies?: Record<string, string>;
}

// npm 11 rejects incomplete lock files in "npm ci"; older releases do not. A registry that lacks some packages causes them.
test("the lock file has every optional dependency, including those of other platforms", () => {
  const text = readFileSync(resolve(import.meta.dirname, "../../../package-lock.json"), "utf8");
  const packages: Record<string, Entry> = JSON.parse(text).packages;
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !packages[`node_modules/${name}`] && !packages[`${path}/node_modules/${name}`],
    ),
  );
  assert.deepEqual(missing, []);
});
