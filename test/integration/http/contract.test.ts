import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { revokeKey } from "../../../src/admin/keys.ts";
import { notReady } from "../../../src/domain/readiness.ts";
import { type Reply, type Running, runPending, startHttp } from "../../support/http/running.ts";

/**
 * The specification's tables of errors (section 7) and limits (section 8), row by row and in their words. Uses the real
 * server, listener and store; programs run only where a row needs it.
 */
const LIMIT = { timeout: 30_000 };
const OK = { language: "python", code: "print(1)" };
const ENDPOINTS = ["/api/languages", "/api/health", "/api/health/ready", "/api/result/not-there", "/api/submit"];

function row(
  section: 7 | 8,
  title: string,
  check: (running: Running, t: TestContext) => Promise<void>,
  options?: Parameters<typeof startHttp>[1],
): void {
  test(`section ${section}: ${title}`, LIMIT, async (t) => check(await startHttp(t, options), t));
}

/** Asserts that an error is JSON with an `error` string, and at most `message` and the named fields in addition. */
function isError(reply: Reply, status: number, also: readonly string[] = []): void {
  assert.equal(reply.status, status, reply.text);
  assert.match(reply.headers["content-type"] ?? "", /^application\/json/);
  assert.equal(typeof reply.json.error, "string");
  const others = Object.keys(reply.json).filter((name) => name !== "error" && name !== "message");
  assert.deepEqual(others.sort(), [...also].sort());
}

row(7, "400 submit, empty code: code must not be empty", async ({ submit }) => {
  const reply = await submit({ ...OK, code: "" });
  isError(reply, 400);
  assert.equal(reply.json.error, "code must not be empty");
});

row(7, "400 submit, unsupported language: names it and lists the available ones", async ({ submit }) => {
  const reply = await submit({ ...OK, language: "brainfuck" });
  isError(reply, 400);
  assert.match(reply.json.error, /brainfuck.*python, c$/);
});

row(7, "400 submit, code too large", async ({ submit }) => {
  isError(await submit({ ...OK, code: "x".repeat(65_537) }), 400);
});

row(7, "400 submit, unsupported per-request webhook fields", async ({ submit }) => {
  for (const field of ["webhook_url", "webhook_secret"]) isError(await submit({ ...OK, [field]: "x" }), 400);
});

row(7, "401 any, missing or invalid API key", async ({ ask, key, store }) => {
  const revoked = await key();
  await revokeKey(store, revoked, "test");
  for (const path of ENDPOINTS) {
    for (const wrong of [null, "x", `assay_live_${"0".repeat(32)}`, revoked]) {
      const reply = await ask({ path, method: path === "/api/submit" ? "POST" : "GET", key: wrong });
      isError(reply, 401);
      assert.deepEqual(reply.json, { error: "unauthorized", message: "Missing or invalid API key" });
    }
  }
});

row(7, "404 result, unknown submission id: submission not found", async ({ ask }) => {
  const reply = await ask({ path: "/api/result/00000000-0000-4000-8000-000000000000" });
  isError(reply, 404);
  assert.equal(reply.json.error, "submission not found");
});

row(
  7,
  "408 submit with wait=true, not finished within the hold time: includes the submission ID",
  async ({ submit, ask }) => {
    const reply = await submit(OK, { path: "/api/submit?wait=true" });
    isError(reply, 408, ["id", "status"]);
    assert.equal((await ask({ path: `/api/result/${reply.json.id}` })).json.status, "pending");
  },
  { holdMs: 100 },
);

for (const path of ENDPOINTS) {
  row(7, `429 any, rate limit exceeded, with an exact Retry-After: ${path}`, async ({ ask, key, clock }) => {
    const mine = await key({ requestsPerMinute: 3 });
    const again = () => ask({ path, method: path === "/api/submit" ? "POST" : "GET", body: undefined, key: mine });
    const stated = (reply: { headers: Readonly<Record<string, unknown>> }) =>
      ["limit", "remaining", "reset"].map((name) => reply.headers[`ratelimit-${name}`]);
    for (let i = 0; i < 3; i++) {
      const passed = await again();
      assert.notEqual(passed.status, 429);
      assert.deepEqual(stated(passed), ["3", String(2 - i), String(Math.ceil(60 - 2.5 * i))]);
      clock.nowMs += 2_500;
    }
    const reply = await again();
    assert.deepEqual(stated(reply), ["3", "0", "53"]);
    isError(reply, 429);
    assert.equal(reply.json.error, "API key quota exceeded");
    assert.equal(reply.headers["retry-after"], "53", "the first was 7.5 s ago: 52.5 s, rounded up");
    clock.nowMs += 52_000;
    assert.equal((await again()).headers["retry-after"], "1", "one second earlier is too early");
    clock.nowMs += 1_000;
    assert.notEqual((await again()).status, 429, "after exactly that");
    assert.equal((await again()).status, 429, "one request, not three");
  });
}

row(
  7,
  "503 submit, queue full: queue full, try again later",
  async ({ submit, store }) => {
    await submit();
    const reply = await submit();
    isError(reply, 503);
    assert.equal(reply.json.error, "queue full, try again later");
    assert.match(reply.headers["retry-after"] ?? "", /^[1-9]\d*$/);
    await runPending(store);
    assert.equal((await submit()).status, 202, "then there is space again");
  },
  { maxPending: 1 },
);

row(7, "503 ready probe, platform not ready", async ({ ask, engine }) => {
  engine.ready = notReady("the launcher does not answer");
  isError(await ask({ path: "/api/health/ready" }), 503, ["checks", "status"]);
});

row(8, "requests per minute 60 (Beta tier), per API key, all endpoints", async ({ ask, key }) => {
  const [mine, other] = [await key({ requestsPerMinute: undefined }), await key({ requestsPerMinute: undefined })];
  for (let i = 0; i < 60; i++) {
    assert.notEqual((await ask({ path: ENDPOINTS[i % 4] ?? "", key: mine })).status, 429, `request ${i + 1}`);
  }
  for (const path of ENDPOINTS) assert.equal((await ask({ path, key: mine })).status, 429, path);
  assert.equal((await ask({ path: "/api/health", key: other })).status, 200);
});

row(8, "concurrent executions 10 (Beta tier), per API key", async ({ submit, key, store }) => {
  const [mine, other] = [await key({ concurrency: undefined }), await key({ concurrency: undefined })];
  for (let i = 0; i < 12; i++)
    assert.equal((await submit(OK, { key: mine })).status, 202, "further submissions are accepted and wait");
  await submit(OK, { key: other });
  const claimed = await store.submissions.claim("w", 60_000, 100);
  assert.equal(claimed.length, 11, "ten of one key and one of the other");
  const keys = new Set(claimed.map(({ submission }) => submission.keyId));
  assert.equal(keys.size, 2);
  assert.equal((await store.submissions.claim("w", 60_000, 100)).length, 0);
});

row(8, "code size 64 KB", async ({ submit }) => {
  assert.equal((await submit({ ...OK, code: "x".repeat(65_536) })).status, 202);
  isError(await submit({ ...OK, code: `${"x".repeat(65_535)}ü` }), 400);
});

row(8, "stdin size 256 KB", async ({ submit }) => {
  assert.equal((await submit({ ...OK, stdin: "x".repeat(262_144) })).status, 202);
  isError(await submit({ ...OK, stdin: "x".repeat(262_145) }), 400);
});

row(8, "synchronous hold 30 s maximum", async ({ submit }, t) => {
  // Only the timer of the hold is shortened; everything else runs in real time.
  const { setTimeout } = globalThis;
  let holds = 0;
  t.mock.method(globalThis, "setTimeout", (work: () => void, ms?: number) => {
    if (ms !== 30_000) return setTimeout(work, ms);
    holds++;
    return setTimeout(work, ms / 300);
  });
  const reply = await submit(OK, { path: "/api/submit?wait=true" });
  isError(reply, 408, ["id", "status"]);
  assert.equal(holds, 1);
  assert.match(reply.json.error, /30 s/);
});

row(
  8,
  "queue bounded, full queue gives 503, also when many come at once",
  async ({ submit }) => {
    const replies = await Promise.all(Array.from({ length: 12 }, () => submit()));
    assert.equal(replies.filter(({ status }) => status === 202).length, 5);
    assert.equal(replies.filter(({ status }) => status === 503).length, 7);
  },
  { maxPending: 10 }, // one account may use half of it
);

test("wait=true is woken by the end of the run and does not poll", LIMIT, async (t) => {
  // The hold outlasts the timeout of this test.
  const patient = await startHttp(t, { holdMs: 600_000 });
  const waiting = patient.submit(OK, { path: "/api/submit?wait=true" });
  while ((await runPending(patient.store)) === 0) await sleep(5);
  assert.equal((await waiting).status, 200);
  const { submit, store, another } = await startHttp(t, { holdMs: 2_000 });
  const elsewhere = await another();
  // Ended through another store: polling would notice it.
  const unheard = timed(submit(OK, { path: "/api/submit?wait=true" }));
  while ((await store.submissions.depth()) === 0) await sleep(5);
  assert.equal(await runPending(elsewhere), 1);
  const { reply, ms } = await unheard;
  assert.ok(ms >= 1_900, `answered after ${ms} ms`);
  assert.equal(reply.status, 200, "the response has the state at the end of the hold");
});

async function timed(asked: Promise<Reply>): Promise<{ reply: Reply; ms: number }> {
  const started = performance.now();
  return { reply: await asked, ms: performance.now() - started };
}

test("twenty identical waiting requests cause one execution, and all get a response", LIMIT, async (t) => {
  const { submit, store } = await startHttp(t);
  const headers = { "idempotency-key": "0f8fad5b-d9cb-469f-a165-70867728950e" };
  const waiting = Array.from({ length: 20 }, () => submit(OK, { path: "/api/submit?wait=true", headers }));
  let ran = 0;
  const all = Promise.all(waiting);
  let answered = false;
  void all.then(() => {
    answered = true;
  });
  while (!answered) {
    ran += await runPending(store);
    await sleep(5);
  }
  const replies = await all;
  assert.equal(ran, 1);
  assert.equal(new Set(replies.map(({ json }) => json.id)).size, 1);
  assert.ok(replies.every(({ json }) => json.status === "completed"));
  assert.deepEqual(
    replies.map(({ status }) => status).sort(),
    [200, ...Array.from({ length: 19 }, () => 202)],
    "the first request, and the repeated ones",
  );
});
