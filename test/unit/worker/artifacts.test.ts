import assert from "node:assert/strict";
import { test } from "node:test";
import type { Submission } from "../../../src/domain/submission.ts";
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
  const artifacts = new Artifacts(100 * KIB);
  const one = artifact(10 * KIB);
  artifacts.put("one", one);
  assert.equal(artifacts.get("one"), one);
  assert.equal(artifacts.get("two"), undefined);
});

test("removes the least recently used ones when its memory is full", () => {
  const artifacts = new Artifacts(100 * KIB);
  for (const key of ["a", "b", "c"]) artifacts.put(key, artifact(28 * KIB));
  assert.equal(artifacts.bytes, 96 * KIB + "abc".length);
  artifacts.get("a");
  artifacts.put("d", artifact(50 * KIB));
  assert.deepEqual(
    ["a", "b", "c", "d"].map((key) => artifacts.get(key) !== undefined),
    [true, false, false, true],
  );
  assert.equal(artifacts.bytes, 86 * KIB + "ad".length);
});

test("a larger artifact than all memory changes nothing, and one in place of another counts once", () => {
  const artifacts = new Artifacts(20 * KIB);
  artifacts.put("a", artifact(8 * KIB));
  artifacts.put("b", artifact(20 * KIB));
  assert.deepEqual([artifacts.get("a") !== undefined, artifacts.get("b")], [true, undefined]);
  artifacts.put("a", artifact(4 * KIB));
  assert.equal(artifacts.bytes, 8 * KIB + "a".length);
  new Artifacts(0).put("a", artifact(1));
});

test("an artifact whose bytes have changed is removed within a second", () => {
  let now = 0;
  const artifacts = new Artifacts(100 * KIB, () => now);
  const damaged = artifact(10 * KIB);
  artifacts.put("a", damaged);
  now += 1_000;
  assert.equal(artifacts.get("a"), damaged);
  now += 1_000;
  damaged.files[0]?.data.fill("y", 5, 6);
  assert.equal(artifacts.get("a"), undefined);
  assert.equal(artifacts.bytes, 0);
});

test("the key differs by account and by everything that determines the compilation", () => {
  const submission = { accountId: "a", language: "c" } as Submission;
  const files = [{ name: "main.c", data: Buffer.from("source") }];
  const step = shell("cc", { files });
  const { limits, command } = step;
  const changed = [{ name: "main.c", data: Buffer.from("other") }];
  const keys = [
    artifactKey(submission, step),
    artifactKey({ ...submission, accountId: "b" }, step),
    artifactKey({ ...submission, language: "cpp" }, step),
    artifactKey(submission, { ...step, files: changed }),
    artifactKey(submission, { ...step, files: [...files, ...changed] }),
    artifactKey(submission, { ...step, limits: { ...limits, cpuMs: limits.cpuMs + 1 } }),
    artifactKey(submission, { ...step, command: { ...command, env: {} } }),
    artifactKey(submission, { ...step, command: { ...command, command: ["cc", "-O3"] } }),
  ];
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(artifactKey({ ...submission }, { ...step, stdin: Buffer.from("input") }), keys[0]);
});
