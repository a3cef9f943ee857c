import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { hashKey, hasKeyForm, newKey } from "../../../src/domain/key.ts";

test("a key has the fixed prefix and 32 random URL-safe characters, and keys are unique", () => {
  const keys = Array.from({ length: 1000 }, () => newKey());
  for (const { key, hash, prefix } of keys) {
    assert.match(key, /^assay_live_[A-Za-z0-9_-]{32}$/);
    assert.equal(hash, createHash("sha256").update(key).digest("hex"));
    assert.equal(key.startsWith(prefix), true);
    assert.ok(key.length - prefix.length >= 26, "most of the key must stay unknown");
    assert.ok(hasKeyForm(key));
  }
  assert.equal(new Set(keys.map(({ key }) => key)).size, 1000);
});

test("recognises text that is not a key without the database", () => {
  for (const text of ["", "x", "assay_live_", `assay_live_${"a".repeat(31)}`, `assay_live_${"a".repeat(31)}'`]) {
    assert.equal(hasKeyForm(text), false, text);
  }
  assert.equal(hashKey("a") === hashKey("b"), false);
});
