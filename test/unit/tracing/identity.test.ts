import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { contextOf, traceOf } from "../../../src/tracing/identity.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test("a submission's id is the id of its trace, and its first span id is always the same", () => {
  const id = randomUUID();
  const { traceId, spanId, traceFlags } = traceOf(id);
  assert.equal(traceId, id.replaceAll("-", ""));
  assert.match(spanId, /^[0-9a-f]{16}$/);
  assert.equal(traceFlags, 1);
  assert.deepEqual(traceOf(id), traceOf(id));
  assert.notEqual(traceOf(randomUUID()).spanId, spanId);
});

test("reads a client's trace context by the W3C specification", () => {
  const context = { traceId: TRACE, spanId: SPAN, isRemote: true };
  assert.deepEqual(contextOf(`00-${TRACE}-${SPAN}-01`), { ...context, traceFlags: 1 });
  assert.deepEqual(contextOf(`00-${TRACE}-${SPAN}-00`), { ...context, traceFlags: 0 });
  assert.deepEqual(contextOf(`cc-${TRACE}-${SPAN}-03-later additions`), { ...context, traceFlags: 1 });
});

for (const [what, header] of [
  ["nothing", undefined],
  ["an empty text", ""],
  ["an invalid version", `ff-${TRACE}-${SPAN}-01`],
  ["a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
  ["a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
  ["upper case", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ["too short a trace", `00-${TRACE.slice(1)}-${SPAN}-01`],
  ["text after the flags", `00-${TRACE}-${SPAN}-0123`],
  ["text before the version", ` 00-${TRACE}-${SPAN}-01`],
] as const) {
  test(`${what} is not a trace context`, () => assert.equal(contextOf(header), undefined));
}
