import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FRAMES, KEYS, PROTOCOL_VERSION } from "../../../src/sandbox/protocol.ts";
import { environment } from "../../support/launcher/launcher.ts";

interface Described {
  readonly protocol: number;
  readonly frames: Record<string, { number: number; direction: string }>;
  readonly keys: Record<
    string,
    { number: number; type: string; frame: string; count: string; smallest: string; largest: string }
  >;
}

const described: Described = JSON.parse(
  execFileSync(environment("ASSAY_TEST_LAUNCHER"), ["--describe"], { encoding: "utf8" }),
);
const text = readFileSync(new URL("../../../launcher/PROTOCOL.md", import.meta.url), "utf8");

test("the service's table equals the launcher's frames and keys", () => {
  const numbers = Object.entries(described.frames).map(([name, { number }]) => [name, number]);
  const keys = Object.entries(described.keys).map(([name, { smallest, largest, ...key }]) => [name, key]);
  assert.deepEqual(FRAMES, Object.fromEntries(numbers));
  assert.deepEqual(KEYS, Object.fromEntries(keys));
});

test("no frame number and no key number is used twice", () => {
  for (const list of [described.frames, described.keys]) {
    const numbers = Object.values(list).map(({ number }) => number);
    assert.equal(new Set(numbers).size, numbers.length);
  }
});

test("document, launcher and service have the same version", () => {
  assert.equal(PROTOCOL_VERSION, described.protocol);
  assert.match(text, new RegExp(`version ${described.protocol} of the protocol\\.`));
});
