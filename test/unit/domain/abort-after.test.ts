import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { abortAfter } from "../../../src/domain/abort-after.ts";

test("aborts when the time is over", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const signal = abortAfter(1000, new AbortController().signal);
  t.mock.timers.tick(999);
  assert.equal(signal.aborted, false);
  t.mock.timers.tick(1);
  assert.equal(signal.reason.name, "TimeoutError");
});

test("aborts with each of the signals, for their reason, and then has no timer", (t) => {
  for (const at of [0, 1]) {
    const controllers = [new AbortController(), new AbortController()];
    const clear = t.mock.method(globalThis, "clearTimeout");
    const signal = abortAfter(1_000_000, ...controllers.map((one) => one.signal));
    controllers[at]?.abort("gone");
    assert.equal(signal.reason, "gone");
    assert.equal(clear.mock.callCount(), 1);
    clear.mock.restore();
  }
});

/** The timeout is collected as garbage, and the request, or the import, waits for ever. The collection cannot be forced in a test. */
test("no source file passes AbortSignal.timeout() to AbortSignal.any()", () => {
  const files = globSync(["src/**/*.ts", "client/typescript/src/*.ts", "dashboard/src/**/*.{ts,tsx}"]);
  assert.ok(files.length > 500);
  const both = files.filter((path) => {
    const text = readFileSync(path, "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
    return text.includes("AbortSignal.timeout(") && text.includes("AbortSignal.any(");
  });
  assert.deepEqual(both, []);
});
