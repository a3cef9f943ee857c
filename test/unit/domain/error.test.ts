import assert from "node:assert/strict";
import { test } from "node:test";
import { clientError, ERRORS, echo } from "../../../src/domain/error.ts";

test("every error has a client or server status and a text", () => {
  for (const [code, { status, error }] of Object.entries(ERRORS)) {
    assert.ok(status >= 400 && status <= 599, code);
    const text = (error as (...args: unknown[]) => string)("x", ["y"]);
    assert.ok(text.length > 0, code);
    assert.doesNotMatch(text, /undefined|\.ts|node_modules/, code);
  }
});

test("texts of the contract are unchanged", () => {
  assert.deepEqual(clientError("codeEmpty", []).body, { error: "code must not be empty" });
  assert.deepEqual(clientError("unauthorized", []).body, {
    error: "unauthorized",
    message: "Missing or invalid API key",
  });
  assert.deepEqual(clientError("submissionNotFound", []).body, { error: "submission not found" });
  assert.deepEqual(clientError("quotaExceeded", []).body, { error: "API key quota exceeded" });
  assert.deepEqual(clientError("queueFull", []).body, { error: "queue full, try again later" });
});

test("an error repeats only a short part of the client's input", () => {
  assert.equal(echo('a\n"b'), '"a\\n\\"b"');
  assert.ok(echo("x".repeat(100_000)).length < 80);
});
