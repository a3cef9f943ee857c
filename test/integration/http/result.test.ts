import assert from "node:assert/strict";
import { test } from "node:test";
import { internalError } from "../../../src/domain/outcome.ts";
import { runPending, startHttp } from "../../support/http/running.ts";

test("a record can be read while it is pending, running and completed", async (t) => {
  const { submit, ask, store } = await startHttp(t);
  const { json: accepted } = await submit();
  const read = async () => (await ask({ path: `/api/result/${accepted.id}` })).json;
  const pending = await read();
  assert.equal(pending.status, "pending");
  assert.equal(pending.evidence, null);
  assert.equal(pending.timestamps.started_at, null);
  const [claim] = await store.submissions.claim("w", 60_000);
  assert.ok(claim);
  const running = await read();
  assert.equal(running.status, "running");
  assert.match(running.timestamps.started_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.equal(running.timestamps.completed_at, null);
  await store.submissions.finish(claim.lease, internalError("the run was lost"));
  const ended = await read();
  assert.equal(ended.status, "error");
  assert.equal(ended.result.verdict, "IE");
});

test("an unknown id, an id of another account and an invalid id get the same 404", async (t) => {
  const { submit, ask, key, store } = await startHttp(t);
  const { json: accepted } = await submit();
  await runPending(store);
  const stranger = await key();
  const unknown = [
    { path: "/api/result/00000000-0000-4000-8000-000000000000" },
    { path: "/api/result/not-a-uuid" },
    { path: `/api/result/${"x".repeat(5000)}` },
    { path: "/api/result/%00" },
    { path: `/api/result/${accepted.id}`, key: stranger },
  ];
  for (const asked of unknown) {
    const { status, json } = await ask(asked);
    assert.equal(status, 404, asked.path);
    assert.deepEqual(json, { error: "submission not found" });
  }
  assert.equal((await ask({ path: `/api/result/${accepted.id}` })).status, 200);
});

test("a second key of the same account reads the same records", async (t) => {
  const { submit, ask, key } = await startHttp(t);
  const [one, two] = [await key({ name: "same" }), await key({ name: "same" })];
  const { json } = await submit(undefined, { key: one });
  assert.equal((await ask({ path: `/api/result/${json.id}`, key: two })).status, 200);
});
