import assert from "node:assert/strict";
import { test } from "node:test";
import { Artifacts, artifactKey } from "../../../src/worker/artifacts.ts";
import { shell } from "../../support/sandbox/steps.ts";
import { report } from "../../support/verdict/reports.ts";

const KIB = 1_024;

function artifact(bytes: number, fill = "x") {
  const data = Buffer.alloc(bytes, fill);
  return {
    report: report({ stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) }),
    files: [{ name: "main", data }],
    keptBytes: bytes,
  };
}

test("returns what was put, and nothing for another key", () => {
  const artifacts = new Artifacts(100 * KIB, { parts: 1 });
  const one = artifact(10 * KIB);
  artifacts.put("one", "one", one);
  assert.equal(artifacts.get("one", "one"), one);
  assert.equal(artifacts.get("one", "two"), undefined);
});

test("removes the least recently used ones when its memory is full", () => {
  const artifacts = new Artifacts(100 * KIB, { parts: 1 });
  for (const key of ["a", "b", "c"]) artifacts.put("one", key, artifact(28 * KIB));
  assert.equal(artifacts.bytes, 96 * KIB + "abc".length);
  artifacts.get("one", "a");
  artifacts.put("one", "d", artifact(50 * KIB));
  assert.deepEqual(
    ["a", "b", "c", "d"].map((key) => artifacts.get("one", key) !== undefined),
    [true, false, false, true],
  );
  assert.equal(artifacts.bytes, 86 * KIB + "ad".length);
});

test("a larger artifact than all memory changes nothing, and one in place of another counts once", () => {
  const artifacts = new Artifacts(20 * KIB, { parts: 1 });
  artifacts.put("one", "a", artifact(8 * KIB));
  artifacts.put("one", "b", artifact(20 * KIB));
  assert.deepEqual([artifacts.get("one", "a") !== undefined, artifacts.get("one", "b")], [true, undefined]);
  artifacts.put("one", "a", artifact(4 * KIB));
  assert.equal(artifacts.bytes, 8 * KIB + "a".length);
  new Artifacts(0).put("one", "a", artifact(1));
});

test("an artifact whose bytes have changed is removed within a second", () => {
  let now = 0;
  const artifacts = new Artifacts(100 * KIB, { parts: 1, now: () => now });
  const damaged = artifact(10 * KIB);
  artifacts.put("one", "a", damaged);
  now += 1_000;
  assert.equal(artifacts.get("one", "a"), damaged);
  now += 1_000;
  damaged.files[0]?.data.fill("y", 5, 6);
  assert.equal(artifacts.get("one", "a"), undefined);
  assert.equal(artifacts.bytes, 0);
});

test("an account has at most its part of the memory, and another one does not notice how much that is", () => {
  const artifacts = new Artifacts(400 * KIB);
  artifacts.put("honest", "small", artifact(8 * KIB));
  for (let at = 0; at < 1_000; at++) artifacts.put("hostile", String(at), artifact(40 * KIB));
  assert.ok(artifacts.has("honest", "small") && artifacts.has("hostile", "999"));
  assert.equal(artifacts.has("hostile", "997"), false);
  assert.ok(artifacts.bytes <= 112 * KIB, `${artifacts.bytes}`);
  artifacts.put("hostile", "huge", artifact(100 * KIB));
  assert.equal(artifacts.has("hostile", "huge"), false);
  assert.equal(artifacts.has("another", "999"), false);
});

test("when more accounts fill their parts than fit, the account with the most memory loses an artifact", () => {
  const artifacts = new Artifacts(400 * KIB);
  artifacts.put("honest", "old", artifact(40 * KIB));
  for (let at = 0; at < 100; at++)
    for (const account of ["a", "b", "c", "d", "e"]) artifacts.put(account, String(at), artifact(8 * KIB));
  assert.ok(artifacts.has("honest", "old"));
  assert.ok(artifacts.bytes <= 400 * KIB && artifacts.bytes > 380 * KIB, `${artifacts.bytes}`);
  artifacts.put("newcomer", "first", artifact(40 * KIB));
  assert.ok(artifacts.has("newcomer", "first") && artifacts.has("honest", "old"));
  const small = new Artifacts(160 * KIB);
  for (let at = 0; at < 16; at++) small.put(`account ${at}`, "own", artifact(5 * KIB));
  small.put("greedy", "large", artifact(35 * KIB));
  const left = Array.from({ length: 16 }, (_, at) => small.has(`account ${at}`, "own"));
  assert.deepEqual([left.every(Boolean), small.has("greedy", "large")], [true, false]);
});

test("the key differs by everything that determines the compilation", () => {
  const files = [{ name: "main.c", data: Buffer.from("source") }];
  const step = shell("cc", { files });
  const { limits, command } = step;
  const changed = [{ name: "main.c", data: Buffer.from("other") }];
  const keys = [
    artifactKey("c", step),
    artifactKey("cpp", step),
    artifactKey("c", { ...step, files: changed }),
    artifactKey("c", { ...step, files: [...files, ...changed] }),
    artifactKey("c", { ...step, limits: { ...limits, cpuMs: limits.cpuMs + 1 } }),
    artifactKey("c", { ...step, command: { ...command, env: {} } }),
    artifactKey("c", { ...step, command: { ...command, command: ["cc", "-O3"] } }),
  ];
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(artifactKey("c", { ...step, stdin: Buffer.from("input") }), keys[0]);
});
