import assert from "node:assert/strict";
import { test } from "node:test";
import { newSubmission, programOf, requestHash, type SubmitRequest } from "../../../src/domain/submission.ts";

const request: SubmitRequest = { language: "python", profile: "judge", code: "print('ü')", stdin: "a\0b" };

test("a new submission is pending, belongs to the caller and has a unique id", () => {
  const caller = {
    keyId: "k",
    accountId: "a",
    projectId: "p",
    requestsPerMinute: 1,
    concurrency: 1,
    executions: 1,
    profiles: ["judge"] as const,
    defaultProfile: "judge" as const,
  };
  const first = newSubmission(request, caller, 5);
  assert.equal(first.status, "pending");
  assert.deepEqual([first.keyId, first.accountId, first.projectId, first.createdAtMs], ["k", "a", "p", 5]);
  assert.match(first.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.notEqual(newSubmission(request, caller, 5).id, first.id);
});

test("programs are UTF-8 bytes", () => {
  const { code, stdin } = programOf(request);
  assert.deepEqual(code, Buffer.from([0x70, 0x72, 0x69, 0x6e, 0x74, 0x28, 0x27, 0xc3, 0xbc, 0x27, 0x29]));
  assert.deepEqual(stdin, Buffer.from([0x61, 0, 0x62]));
});

test("the request hash depends on every field and on the boundaries between fields", () => {
  const nothing = { files: [], entry: null, args: [], env: {}, limits: {} };
  const others: Partial<SubmitRequest>[] = [
    { code: Buffer.from("print('ü')") },
    { options: nothing },
    { options: { ...nothing, files: [{ name: "a", data: Buffer.from("b") }] } },
    { options: { ...nothing, files: [{ name: "a", data: Buffer.from("c") }] } },
    { options: { ...nothing, entry: "a" } },
    { options: { ...nothing, args: ["a"] } },
    { options: { ...nothing, env: { a: "b" } } },
    { options: { ...nothing, limits: { processes: 1 } } },
    { language: "c" },
    { profile: "agent" },
    { code: "print('u')" },
    { stdin: "" },
    { code: "print('ü')a", stdin: "\0b" },
  ];
  const hashes = [request, ...others.map((change) => ({ ...request, ...change }))].map(requestHash);
  assert.equal(new Set(hashes).size, hashes.length);
  assert.equal(requestHash({ ...request }), requestHash(request));
  const ofFirstRelease = "5606356d35600dc33417a560abfadae5215a7151c9381ff2f60408afd09463f8";
  assert.equal(requestHash(request), ofFirstRelease, "stored hashes must stay valid");
});
