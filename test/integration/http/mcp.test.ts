import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { type Ask, type Options, runPending, startHttp } from "../../support/http/running.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";

/** test/system/mcp/ has real runs, and clients of the SDK; this file has what a client of the SDK never sends. */
const LIMIT = { timeout: 30_000 };
const PROGRAM = { language: "python", code: "print(1)" };
const ACCEPT = { accept: "application/json, text/event-stream" };

const rpc = (method: string, params?: object, id: unknown = 1) => ({ jsonrpc: "2.0", id, method, params });
const callOf = (name: string, args: object, more = {}) => rpc("tools/call", { name, arguments: args, ...more });

async function serving(t: TestContext, options?: Options) {
  const running = await startHttp(t, options);
  const post = (body: unknown, { headers, ...more }: Partial<Ask> = {}) =>
    running.ask({ method: "POST", path: "/mcp", body, headers: { ...ACCEPT, ...headers }, ...more });
  /** @returns the last message of the response. */
  const call = async (name: string, args: object, more: Partial<Ask> = {}) => {
    const { status, text } = await post(callOf(name, args), more);
    assert.equal(status, 200, text);
    const { result } = JSON.parse(text.split(/^data: /m).at(-1) ?? "");
    return { isError: result.isError === true, text: result.content[0].text, value: result.structuredContent };
  };
  const queued = async (more: Partial<Ask> = {}) =>
    (await running.ask({ path: "/api/submissions", ...more })).json.submissions.length;
  return { ...running, post, call, queued };
}

test("calls that wait hold no memory of their bodies", LIMIT, async (t) => {
  const { post, key, queued, ask, store } = await serving(t, { holdMs: 20_000 });
  const padding = " ".repeat(3_000_000);
  const others = await Promise.all(["a", "b", "c", "d"].map((account) => key({ account })));
  const waiting: ReturnType<typeof post>[] = [];
  // One after the other: bodies that arrive at once may have to wait for memory, for a short time only.
  for (const mine of others)
    for (const amount of [1, 2]) {
      const answer = post(`${JSON.stringify(callOf("run_code", PROGRAM))}${padding}`, { key: mine });
      waiting.push(answer);
      let status: number | undefined;
      void answer.then((ended) => {
        status = ended.status;
      });
      for (; (await queued({ key: mine })) < amount; await sleep(20)) assert.equal(status, undefined);
    }
  const body = { ...PROGRAM, stdin: "x".repeat(200_000) };
  const honest = { key: await key({ account: "honest" }) };
  assert.equal((await ask({ method: "POST", path: "/api/submit", body, ...honest })).status, 202);
  await runPending(store);
  for (const { status } of await Promise.all(waiting)) assert.equal(status, 200);
});

onEachDatabase((open) => {
  test(
    "each message counts against the rate limit, and a call beyond it returns the time of a retry to the model",
    LIMIT,
    async (t) => {
      const { post, call, key, clock, queued } = await serving(t, { open, holdMs: 50 });
      const mine = { key: await key({ requestsPerMinute: 3 }) };
      const handshake = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } };
      assert.equal((await post(rpc("initialize", handshake), mine)).status, 200);
      assert.equal((await post(rpc("tools/list"), mine)).headers["ratelimit-remaining"], "1");
      clock.nowMs += 20_000;
      assert.equal((await call("run_code", PROGRAM, mine)).isError, false);
      assert.deepEqual(await call("run_code", PROGRAM, mine), {
        ...{ isError: true, text: "API key quota exceeded; retry in 40 s", value: undefined },
      });
      const refused = await post(rpc("tools/list"), mine);
      assert.deepEqual([refused.status, refused.headers["retry-after"]], [429, "40"]);
      // The body of a large one is not read.
      assert.equal((await post(callOf("run_code", { ...PROGRAM, stdin: "x".repeat(70_000) }), mine)).status, 429);
      assert.equal((await post({ ...callOf("run_code", PROGRAM), id: undefined }, mine)).status, 429);
      clock.nowMs += 40_000;
      assert.equal((await call("run_code", PROGRAM, mine)).isError, false);
      assert.equal(await queued(mine), 2);
    },
  );

  test("of calls at once, as many run as the rate limit allows", LIMIT, async (t) => {
    const { call, key } = await serving(t, { open, holdMs: 50 });
    const mine = { key: await key({ requestsPerMinute: 20 }) };
    const answers = await Promise.all(Array.from({ length: 60 }, () => call("run_code", PROGRAM, mine)));
    assert.equal(answers.filter(({ isError }) => isError).length, 40);
  });

  test("a call that does not end in time has the id, and its result exists later", LIMIT, async (t) => {
    const { call, store } = await serving(t, { open, holdMs: 100 });
    const first = await call("run_code", PROGRAM);
    assert.deepEqual([first.value.status, first.value.verdict, first.value.stdout], ["pending", null, null]);
    assert.match(first.text, /^pending: It did not end within 0\.1 s and continues: call get_result with its id\./);
    const judged = await call("judge", { ...PROGRAM, cases: [{ expected: "1\n" }] });
    assert.deepEqual([judged.value.status, judged.value.verdict, judged.value.cases.length], ["pending", null, 1]);
    const early = await call("get_result", { id: first.value.id, stream: "stdout" });
    assert.deepEqual(
      [early.isError, early.text],
      [true, "the submission has no output: it has not ended, or the platform failed"],
    );
    await runPending(store);
    assert.equal((await call("get_result", { id: first.value.id.toUpperCase() })).value.run.verdict, "AC");
    assert.equal((await call("get_result", { id: judged.value.id })).value.judgement.why, "All 1 case passed.");
  });
});

test("a client that disconnects does not end its run", LIMIT, async (t) => {
  const { post, store, queued, ask } = await serving(t);
  const leaving = new AbortController();
  const left = post(callOf("run_code", PROGRAM), { signal: leaving.signal });
  while ((await queued()) === 0);
  leaving.abort();
  await assert.rejects(left);
  assert.equal(await runPending(store), 1);
  assert.equal((await ask({ path: "/api/submissions" })).json.submissions[0].verdict, "AC");
});

test("the queue's bound holds, and a cancelled run has its reason", LIMIT, async (t) => {
  const { call, store } = await serving(t, { maxPending: 1, holdMs: 50 });
  const { value } = await call("run_code", PROGRAM);
  const full = await call("run_code", PROGRAM);
  assert.deepEqual([full.isError, full.text], [true, "queue full, try again later; retry in 1 s"]);
  await store.submissions.cancel(value.id, (await store.keys.list())[0]?.accountId ?? "");
  assert.deepEqual(
    (await call("get_result", { id: value.id })).value.run.why,
    "The submission was ended before it had a result, by a request of the account or because its judgement did not need it any more.",
  );
});

test("needs a key: as X-API-Key, or as a bearer token on this route alone", LIMIT, async (t) => {
  const { post, key, ask } = await serving(t);
  const mine = await key();
  const list = rpc("tools/list");
  const status = async (headers: Record<string, string>) => (await post(list, { key: null, headers })).status;
  assert.equal(await status({ authorization: `Bearer ${mine}` }), 200);
  assert.equal(await status({ authorization: `bearer  ${mine}` }), 200);
  for (const authorization of [
    "",
    "Bearer",
    `Basic ${mine}`,
    `Bearer ${mine} x`,
    `Bearer assay_live_${"0".repeat(32)}`,
  ])
    assert.equal(await status({ authorization }), 401, authorization);
  assert.equal(await status({ authorization: `Bearer ${mine}`, "x-api-key": "wrong" }), 401);
  const elsewhere = { path: "/api/languages", key: null, headers: { authorization: `Bearer ${mine}` } };
  assert.equal((await ask(elsewhere)).status, 401);
  assert.equal((await ask({ ...elsewhere, path: "/mcp" })).status, 405);
});

test("pages cannot use it, except on this machine", LIMIT, async (t) => {
  const { post } = await serving(t);
  const status = async (origin: string) => (await post(rpc("tools/list"), { headers: { origin } })).status;
  for (const origin of ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:1"])
    assert.equal(await status(origin), 200);
  for (const origin of ["https://evil.example", "http://localhost.evil.example", "null", "localhost"])
    assert.equal(await status(origin), 403, origin);
});

test("refuses what is not one message, before anything runs", LIMIT, async (t) => {
  const { post, ask, queued } = await serving(t, { holdMs: 50 });
  const call = callOf("run_code", PROGRAM);
  const refused = async (body: unknown, status: number, expected: RegExp, more: Partial<Ask> = {}) => {
    const answer = await post(body, more);
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.text, expected);
    assert.ok(answer.text.length < 1_000);
  };
  await refused("{nope", 400, /not valid JSON/);
  await refused("", 400, /not valid JSON/);
  await refused([call, call], 400, /must be a JSON object/);
  await refused("null", 400, /must be a JSON object/);
  await refused({ ...call, jsonrpc: "1.0" }, 400, /"code":-32/);
  await refused({ ...call, id: "x".repeat(5_000) }, 400, /besides the arguments/);
  await refused(callOf("run_code", PROGRAM, { _meta: { progressToken: "x".repeat(5_000) } }), 400, /besides the argum/);
  await refused(rpc("x".repeat(5_000)), 400, /besides the arguments/);
  await refused(callOf("run_code", { ...PROGRAM, stdin: "x".repeat(4_300_000) }), 413, /at most 4194304 bytes/);
  await refused(callOf("run_code", { ...PROGRAM, deep: [[[[[[[1]]]]]]] }), 400, /nested more than 8 levels/);
  await refused(callOf("run_code", { ...PROGRAM, args: Array(600).fill("") }), 400, /more than 512 values/);
  await refused(call, 415, /application\/json/, { headers: { "content-type": "text/plain" } });
  await refused(call, 406, /Not Acceptable/, { headers: { accept: "text/html" } });
  await refused(rpc("nope"), 200, /-32601/);
  for (const method of ["GET", "DELETE", "PUT", "OPTIONS"]) {
    const { status, headers } = await ask({ method, path: "/mcp" });
    assert.deepEqual([status, headers.allow], [405, "POST"]);
  }
  // A notification has no answer, so a call in one runs nothing.
  assert.equal((await post({ ...call, id: undefined })).status, 202);
  assert.equal(await queued(), 0);
});

test("a client cannot keep a subscription open", LIMIT, async (t) => {
  const { post } = await serving(t);
  const envelope = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" };
  const { status, text } = await post(rpc("subscriptions/listen", { notifications: {}, _meta: envelope }), { headers });
  assert.equal(status, 200);
  assert.match(text, /Subscription limit reached/);
});

test("an answer has a bound, also for the longest output", LIMIT, async (t) => {
  const { call, store } = await serving(t);
  // In JSON, U+0001 has six characters.
  const long = Buffer.alloc(1_048_576, 1);
  const outcome = () => buildOutcome({ execute: report({ stdout: long, stderr: long }) });
  const timer = setInterval(() => void runPending(store, outcome).catch(() => {}), 20);
  t.after(() => clearInterval(timer));
  const { value } = await call("run_code", PROGRAM);
  assert.ok(JSON.stringify(value).length < 2 * 6 * 16_384 + 2_000);
  const judged = await call("judge", { ...PROGRAM, cases: Array(50).fill({ expected: "2" }) });
  assert.deepEqual([judged.value.cases.length, judged.value.passed], [50, 0]);
  assert.ok(JSON.stringify(judged.value).length < 110_000, `${JSON.stringify(judged.value).length}`);
});

test("a client that reads nothing is disconnected", LIMIT, async (t) => {
  const { post, times } = await serving(t, { drain: { windowMs: 300, leastBytes: 1_000 } });
  await assert.rejects(post(callOf("run_code", PROGRAM)));
  assert.equal(times("connectionsRefused reading"), 1);
});

test("random messages get an answer of the protocol, and none fails the service", { timeout: 60_000 }, async (t) => {
  const { post, logs } = await serving(t, { holdMs: 5, transport: { kind: "loopback" } });
  const word = fc.constantFrom(
    "tools/call",
    "tools/list",
    "run_code",
    "judge",
    "get_result",
    "list_languages",
    "python",
    "",
    "\0",
  );
  const value = fc.oneof(word, fc.jsonValue({ maxDepth: 2 }), fc.constant({ ...PROGRAM, cases: [{ expected: "" }] }));
  const params = fc.oneof(fc.record({ name: word, arguments: value, _meta: value }, { requiredKeys: [] }), value);
  const message = fc.record(
    { jsonrpc: fc.constantFrom("2.0", "2.0", "2.0", 1), id: value, method: word, params },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(message, message, value), async (body) => {
      const { status, text } = await post(JSON.stringify(body) ?? "");
      assert.ok([200, 202, 400, 404].includes(status), `${status} ${text}`);
    }),
    { numRuns: 400, seed: Number(process.env.ASSAY_TEST_SEED ?? 20_260_101) },
  );
  assert.deepEqual(
    logs.filter((line) => /request failed/.test(line)),
    [],
  );
});
