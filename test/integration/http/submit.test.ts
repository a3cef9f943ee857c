import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { runPending, startHttp } from "../../support/http/running.ts";
import { report } from "../../support/verdict/reports.ts";

/** A waiter that is not woken would wait for the whole hold. */
const LIMIT = { timeout: 20_000 };
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const IDEMPOTENCY = { "idempotency-key": "0F8FAD5B-d9cb-469f-a165-70867728950e" };

test("an accepted submission is 202 with exactly id, status and depth", LIMIT, async (t) => {
  const { submit } = await startHttp(t);
  const first = await submit();
  assert.equal(first.status, 202);
  assert.match(first.json.id, UUID);
  assert.deepEqual(first.json, { id: first.json.id, status: "pending", queue_depth: 1 });
  assert.equal(first.headers.location, `/api/result/${first.json.id}`);
  assert.equal((await submit()).json.queue_depth, 2);
});

test("the record has the canonical language and the key's profile", LIMIT, async (t) => {
  const { submit, ask, key } = await startHttp(t);
  const accepted = await submit({ language: "py", code: "x" });
  const { json } = await ask({ path: `/api/result/${accepted.json.id}` });
  assert.equal(json.language, "python");
  assert.equal(json.profile, "judge");
  const agent = await key({ profiles: ["agent", "judge"] });
  const other = await submit({ language: "c", code: "x" }, { key: agent });
  assert.equal((await ask({ path: `/api/result/${other.json.id}`, key: agent })).json.profile, "agent");
});

test("wait=true holds the response until the end of the run, then returns 200 with the record", LIMIT, async (t) => {
  const { submit, ask, store } = await startHttp(t);
  const waiting = submit(undefined, { path: "/api/submit?wait=true" });
  while ((await runPending(store)) === 0) await sleep(5);
  const { status, json } = await waiting;
  assert.equal(status, 200);
  assert.equal(json.status, "completed");
  assert.equal(json.output.stdout, "1\n");
  assert.deepEqual((await ask({ path: `/api/result/${json.id}` })).json, json);
});

test("a run that does not finish in time is 408 with id and status, and continues", LIMIT, async (t) => {
  const { submit, ask, store } = await startHttp(t, { holdMs: 100 });
  const { status, json } = await submit(undefined, { path: "/api/submit?wait=true" });
  assert.equal(status, 408);
  assert.equal(typeof json.error, "string");
  assert.match(json.id, UUID);
  assert.deepEqual(Object.keys(json).sort(), ["error", "id", "status"]);
  assert.equal(json.status, "pending");
  await runPending(store);
  assert.equal((await ask({ path: `/api/result/${json.id}` })).json.status, "completed");
});

test("a submission continues after its client disconnects", LIMIT, async (t) => {
  const { submit, ask, store, logs } = await startHttp(t);
  const leaving = new AbortController();
  const gone = submit(undefined, { path: "/api/submit?wait=true", signal: leaving.signal });
  while ((await store.submissions.depth()) === 0) await sleep(5);
  leaving.abort();
  await assert.rejects(gone, { name: "AbortError" });
  const [claim] = await store.submissions.claim("w", 60_000);
  assert.ok(claim);
  await store.submissions.finish(claim.lease, buildOutcome({ execute: report() }));
  assert.equal((await ask({ path: `/api/result/${claim.submission.id}` })).json.result.verdict, "AC");
  assert.equal(logs.join("").includes('"level":50'), false, "no error is logged");
});

test("wait=false is asynchronous; other values are rejected", LIMIT, async (t) => {
  const { submit } = await startHttp(t);
  assert.equal((await submit(undefined, { path: "/api/submit?wait=false" })).status, 202);
  for (const query of ["wait=", "wait=1", "wait=TRUE", "wait=true&wait=true", "wiat=true"]) {
    const { status, json } = await submit(undefined, { path: `/api/submit?${query}` });
    assert.equal(status, 400, query);
    assert.match(json.error, /wait|wiat/, query);
  }
});

test("a full queue is 503 with Retry-After", LIMIT, async (t) => {
  const { submit } = await startHttp(t, { maxPending: 4 });
  await submit();
  await submit();
  const { status, json, headers } = await submit();
  assert.equal(status, 503);
  assert.deepEqual(json, { error: "queue full, try again later" });
  assert.match(headers["retry-after"] ?? "", /^[1-9]\d*$/);
});

test("before the smoke tests, a known language is 503 with Retry-After and an unknown one is 400", LIMIT, async (t) => {
  const { submit, engine, store } = await startHttp(t);
  const proven = engine.languages;
  engine.languages = [];
  for (const language of ["python", "py", "rust"]) {
    const { status, json, headers } = await submit({ language, code: "x" });
    assert.equal(status, 503, language);
    assert.deepEqual(json, { error: "no language is verified yet, try again later" });
    assert.match(headers["retry-after"] ?? "", /^[1-9]\d*$/);
  }
  const unknown = await submit({ language: "cobol", code: "x" });
  assert.equal(unknown.status, 400);
  assert.deepEqual(unknown.json, { error: 'unsupported language: "cobol"; available languages: none yet' });
  assert.equal((await submit({ language: "python", code: "" })).status, 400);
  assert.equal(await store.submissions.depth(), 0);
  engine.languages = proven;
  assert.equal((await submit({ language: "python", code: "x" })).status, 202);
  assert.equal((await submit({ language: "rust", code: "x" })).status, 400);
});

test("a repeated Idempotency-Key with the same body returns the current record", LIMIT, async (t) => {
  const { submit, ask, store } = await startHttp(t);
  const first = await submit(undefined, { headers: IDEMPOTENCY });
  const again = await submit({ code: "print(1)", language: "py" }, { headers: IDEMPOTENCY });
  assert.equal(again.status, 202);
  assert.equal(again.json.id, first.json.id);
  assert.equal(again.json.status, "pending");
  assert.equal(again.json.schema_version, "2.0");
  assert.equal(await runPending(store), 1);
  const done = await submit(undefined, {
    headers: { "idempotency-key": IDEMPOTENCY["idempotency-key"].toLowerCase() },
  });
  assert.equal(done.status, 202);
  assert.deepEqual(done.json, (await ask({ path: `/api/result/${first.json.id}` })).json);
  assert.equal(done.json.status, "completed");
});

test(
  "while a language is unavailable, a repeated request returns its record and a new one is rejected",
  LIMIT,
  async (t) => {
    const { submit, engine, store } = await startHttp(t);
    const first = await submit(undefined, { headers: IDEMPOTENCY });
    for (const [languages, status] of [
      [[], 503],
      [["c"], 400],
    ] as const) {
      engine.languages = languages;
      const again = await submit(undefined, { headers: IDEMPOTENCY });
      assert.deepEqual([again.status, again.json.id], [202, first.json.id]);
      assert.equal((await submit({ language: "python", code: "other" }, { headers: IDEMPOTENCY })).status, 422);
      assert.equal((await submit()).status, status);
      const fresh = { "idempotency-key": "7c9e6679-7425-40de-944b-e07fc1f90ae7" };
      assert.equal((await submit(undefined, { headers: fresh })).status, status);
    }
    assert.equal(await store.submissions.depth(), 1);
  },
);

test("with wait=true a repeated request is held as usual, then gets 202", LIMIT, async (t) => {
  const { submit, store } = await startHttp(t);
  await submit(undefined, { headers: IDEMPOTENCY });
  const waiting = submit(undefined, { headers: IDEMPOTENCY, path: "/api/submit?wait=true" });
  while ((await runPending(store)) === 0) await sleep(5);
  const { status, json, headers } = await waiting;
  assert.equal(status, 202);
  assert.equal(headers.location, `/api/result/${json.id}`);
  assert.equal(json.status, "completed");
});

test("identical concurrent requests execute once", LIMIT, async (t) => {
  const { submit, store } = await startHttp(t);
  const replies = await Promise.all(Array.from({ length: 20 }, () => submit(undefined, { headers: IDEMPOTENCY })));
  assert.ok(replies.every(({ status }) => status === 202));
  assert.equal(new Set(replies.map(({ json }) => json.id)).size, 1);
  assert.equal(await runPending(store), 1);
});

test("a repeated Idempotency-Key with another body is 422, and a key that is not a UUID is 400", LIMIT, async (t) => {
  const { submit } = await startHttp(t);
  await submit(undefined, { headers: IDEMPOTENCY });
  const conflict = await submit({ language: "python", code: "print(2)" }, { headers: IDEMPOTENCY });
  assert.equal(conflict.status, 422);
  assert.match(conflict.json.error, /Idempotency-Key/);
  for (const header of ["", "x", `${IDEMPOTENCY["idempotency-key"]}0`]) {
    const { status, json } = await submit(undefined, { headers: { "idempotency-key": header } });
    assert.equal(status, 400, header);
    assert.match(json.error, /Idempotency-Key must be a UUID/);
  }
});

test("a shutdown sends waiting clients a response with the id", LIMIT, async (t) => {
  const { submit, store, server } = await startHttp(t);
  const waiting = submit(undefined, { path: "/api/submit?wait=true" });
  while ((await store.submissions.depth()) === 0) await sleep(5);
  await server.close();
  const { status, json } = await waiting;
  assert.equal(status, 408);
  assert.match(json.id, UUID);
  const error = "not finished before the service stopped; poll GET /api/result/{id}";
  assert.deepEqual(json, { error, id: json.id, status: "pending" });
});
