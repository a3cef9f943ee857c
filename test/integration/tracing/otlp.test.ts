import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import type { Submission } from "../../../src/domain/submission.ts";
import { traceOf } from "../../../src/tracing/identity.ts";
import { Otlp } from "../../../src/tracing/otlp.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { stopwatch } from "../../support/stopwatch.ts";
import { report } from "../../support/verdict/reports.ts";
import { collector } from "./collector.ts";

const LIMIT = { timeout: 20_000 };
const START = Date.UTC(2031, 0, 2);
const OUTCOME = buildOutcome({ execute: report({ stdout: Buffer.from("a secret output") }) });

function submission(): Submission {
  return {
    ...{ id: randomUUID(), language: "python", profile: "judge", status: "running" },
    ...{ createdAtMs: START, startedAtMs: START + 40 },
  } as Submission;
}

async function tracing(t: TestContext, endpoint: string) {
  const logs: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => logs.push(line) });
  const tracer = new Otlp({ endpoint, service: "assay", version: "1.2.3", log, everyMs: 50 });
  t.after(() => tracer.close());
  return { tracer, logs };
}

async function followed(t: TestContext) {
  const there = await collector();
  t.after(there.close);
  return { ...(await tracing(t, there.endpoint)), there };
}

test("a submission is one trace with its wait, its run and its webhook", LIMIT, async (t) => {
  const { tracer, there } = await followed(t);
  const one = submission();
  const [startMs, endMs] = [START + 40, START + 140];
  tracer.ran(one, { outcome: OUTCOME, workerId: "w", attempt: 1, startMs, endMs });
  tracer.ended(one, OUTCOME, START + 150);
  const [deliveryId, endpointId] = [randomUUID(), randomUUID()];
  const sent = { deliveryId, endpointId, attempt: 2, status: 500, nextState: "again" };
  tracer.attempted({ submissionId: one.id, ...sent, startMs: START + 160, endMs: START + 170 });
  await tracer.close();
  const { traceId, spanId } = traceOf(one.id);
  const seen = there.spans.map(({ name, startMs, endMs, parentSpanId, failed }) => {
    return [name, startMs - START, endMs - START, parentSpanId, failed];
  });
  assert.deepEqual(seen.toSorted(), [
    ["queued", 0, 40, spanId, false],
    ["run", 40, 140, spanId, false],
    ["submission", 0, 150, "", false],
    ["webhook", 160, 170, spanId, true],
  ]);
  assert.ok(there.spans.every((span) => span.traceId === traceId && span.service === "assay"));
  assert.equal(there.spans.find(({ name }) => name === "submission")?.spanId, spanId);
  assert.equal(new Set(there.spans.map((span) => span.spanId)).size, 4);
  const run = there.spans.find(({ name }) => name === "run");
  assert.deepEqual([run?.attributes["assay.verdict"], run?.attributes["assay.cause"]], ["AC", "normal_exit"]);
  assert.equal(run?.attributes["assay.memory_peak_bytes"], 9_000_000);
  assert.ok(!there.text().includes("secret"));
});

test("a request is a span of the client's trace with a link to the submission's", LIMIT, async (t) => {
  const { tracer, there } = await followed(t);
  const id = randomUUID();
  const [trace, span] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
  const request = { method: "POST", route: "/api/submit", status: 202, requestId: "client-1", submissionId: id };
  const times = { startMs: START, endMs: START - 3 };
  tracer.answered({ ...request, traceparent: `00-${trace}-${span}-01`, ...times });
  tracer.answered({ ...request, status: 503, submissionId: undefined, traceparent: undefined, ...times });
  tracer.answered({ ...request, traceparent: `00-${trace}-${span}-00`, ...times });
  await tracer.close();
  assert.equal(there.spans.length, 2, "an unsampled client must not be traced");
  const [first, second] = there.spans;
  assert.deepEqual([first?.traceId, first?.parentSpanId, first?.failed, first?.kind], [trace, span, false, 2]);
  const { traceId, spanId } = traceOf(id);
  assert.deepEqual(first?.links, [{ traceId, spanId }]);
  assert.deepEqual([first?.name, first?.attributes["http.response.status_code"]], ["POST /api/submit", 202]);
  assert.equal(first?.endMs, START, "a span must not end before it begins when the clock steps back");
  assert.notEqual(second?.traceId, trace);
  assert.deepEqual([second?.failed, second?.links], [true, []]);
});

test("an unavailable collector is logged and does not block", LIMIT, async (t) => {
  const { tracer, logs } = await tracing(t, "http://127.0.0.1:9");
  tracer.ended(submission(), OUTCOME, START + 150);
  // The exporter retries for some seconds first.
  while (!logs.some((line) => line.includes("ECONNREFUSED") && line.includes('"about":"tracing"'))) await sleep(50);
  tracer.ended(submission(), OUTCOME, START + 150);
  const tookMs = stopwatch();
  await tracer.close();
  assert.ok(tookMs() < 4_000);
  while (!logs.some((line) => line.includes("the last spans were lost"))) await sleep(50);
});

test("a collector that never answers delays the service's end by at most two seconds", LIMIT, async (t) => {
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  t.after(() => silent.close());
  const { tracer } = await tracing(t, `http://127.0.0.1:${(silent.address() as { port: number }).port}`);
  for (let at = 0; at < 10_000; at++) tracer.ended(submission(), OUTCOME, START + 150);
  const tookMs = stopwatch();
  await tracer.close();
  assert.ok(tookMs() < 4_000);
});
