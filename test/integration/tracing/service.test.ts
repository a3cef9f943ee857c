import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { traceOf } from "../../../src/tracing/identity.ts";
import { useProduct } from "../../support/programs/product.ts";
import { type Collector, collector } from "./collector.ts";

let there: Collector | undefined;
after(() => {
  delete process.env.ASSAY_OTLP_ENDPOINT;
  there?.close(); // undefined if the product did not start: that error is the one to report
});
const product = useProduct({
  prepare: async () => {
    there = await collector();
    process.env.ASSAY_OTLP_ENDPOINT = there.endpoint;
    return [];
  },
});

test("a service sends a submission's spans to a collector, without data of its client", {
  timeout: 60_000,
}, async () => {
  const code = 'print("client data")';
  const [trace, span] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
  const headers = { traceparent: `00-${trace}-${span}-01` };
  const { status, json } = await product().ask("POST", "/api/submit?wait=true", { language: "python", code }, headers);
  assert.equal(status, 200);
  const { id, timestamps } = json as { id: string; timestamps: { created_at: string } };
  const { traceId, spanId } = traceOf(id);
  const { spans, text } = there ?? assert.fail();
  const named = (name: string) => spans.find((one) => one.name === name);
  // Spans are exported every five seconds.
  while (!["submission", "queued", "run", "POST /api/submit"].every(named)) await sleep(50);
  const whole = named("submission");
  assert.deepEqual([whole?.traceId, whole?.spanId, whole?.parentSpanId], [traceId, spanId, ""]);
  assert.equal(whole?.startMs, Date.parse(timestamps.created_at));
  for (const name of ["queued", "run"]) assert.equal(named(name)?.parentSpanId, spanId, name);
  assert.equal(named("run")?.attributes["assay.verdict"], "AC");
  const request = named("POST /api/submit");
  assert.deepEqual([request?.traceId, request?.parentSpanId], [trace, span]);
  assert.deepEqual(request?.links, [{ traceId, spanId }]);
  assert.ok(!text().includes("client data"));
});
