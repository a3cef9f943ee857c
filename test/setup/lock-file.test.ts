import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";

interface Entry {
  readonly version?: string;
  readonly optionalDependencies?: Record<string, string>;
}

// npm 11 refuses such a lock file in "npm ci"; older ones don't. It comes from a registry that lacks some of them.
test("the lock file has every optional package that a package of it names, also those of other platforms", () => {
  const text = readFileSync(resolve(import.meta.dirname, "../../package-lock.json"), "utf8");
  const packages: Record<string, Entry> = JSON.parse(text).packages;
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !packages[`node_modules/${name}`] && !packages[`${path}/node_modules/${name}`],
    ),
  );
  assert.deepEqual(missing, []);
});
