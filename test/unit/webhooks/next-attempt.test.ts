import assert from "node:assert/strict";
import { test } from "node:test";
import { nextAfter } from "../../../src/webhooks/deliver.ts";

const END_MS = 1_000_000;

test("after a failure that can pass, there is a second attempt after one second, a third after five, and no more", () => {
  const next = [1, 2, 3].map((attempt) => nextAfter({ attempt, kind: "result" }, "again", END_MS));
  assert.deepEqual(next, [
    { state: "pending", atMs: END_MS + 1_000 },
    { state: "pending", atMs: END_MS + 5_000 },
    { state: "failed" },
  ]);
});

test("nothing follows a success, a lasting failure or the only attempt of a test", () => {
  assert.deepEqual(nextAfter({ attempt: 1, kind: "result" }, "delivered", END_MS), { state: "delivered" });
  assert.deepEqual(nextAfter({ attempt: 1, kind: "result" }, "never", END_MS), { state: "failed" });
  assert.deepEqual(nextAfter({ attempt: 1, kind: "test" }, "again", END_MS), { state: "failed" });
});
