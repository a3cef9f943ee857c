import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "../../..");

test("packages of hundreds of files are one file each", () => {
  const [, packed = ""] = /^packed_modules='(.*)'$/m.exec(readFileSync(join(ROOT, "setup/software.sh"), "utf8")) ?? [];
  const modules = packed.split(" ");
  assert.ok(modules.length > 1);
  for (const path of modules) {
    const text = readFileSync(join(ROOT, "node_modules", path), "utf8");
    assert.doesNotMatch(text, /^(import|export) .* from "\.\.?\//m, path);
    assert.ok(text.length > 100_000, path);
  }
});
