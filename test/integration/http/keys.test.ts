import assert from "node:assert/strict";
import { test } from "node:test";
import { listKeys, revokeKey, rotateKey, updateKey } from "../../../src/admin/keys.ts";
import { createProject } from "../../../src/admin/projects.ts";
import { type Running, runPending, startHttp } from "../../support/http/running.ts";

const ACTOR = "test";
const PROGRAM = { language: "python", code: "print(1)" };
const ID = "9f1c1a9e-6a0e-4a52-9d0c-2d3b8f6f2a10";

const statusOf = async ({ ask }: Running, key: string) => (await ask({ path: "/api/health", key })).status;

async function rotated(running: Running, key: string, overlapMs: number): Promise<string> {
  return (await rotateKey(running.store, key, overlapMs, ACTOR)).made.key;
}

test("a project key submits for its project, an account key for no project", async (t) => {
  const { store, key, submit } = await startHttp(t);
  const project = await createProject(store, { name: "shop", account: "acme" }, ACTOR);
  const keys = [await key({ project: "shop" }), await key({ account: "acme" })];
  for (const mine of keys) assert.equal((await submit(undefined, { key: mine })).status, 202);
  const claims = await store.submissions.claim("w", 1000, 10);
  const projects = new Set(claims.map(({ submission }) => submission.projectId));
  assert.deepEqual(projects, new Set([project.id, null]));
  assert.equal(new Set(claims.map(({ submission }) => submission.accountId)).size, 1);
});

test("the keys of one account share its records; records of other accounts are 404", async (t) => {
  const { store, key, submit, ask } = await startHttp(t);
  await createProject(store, { name: "shop", account: "acme" }, ACTOR);
  await createProject(store, { name: "shop", account: "rival" }, ACTOR);
  const mine = await key({ project: "shop", account: "acme" });
  const { id } = (await submit(undefined, { key: mine })).json;
  await runPending(store);
  const read = async (reader: string) => await ask({ path: `/api/result/${id}`, key: reader });
  for (const reader of [mine, await key({ account: "acme" })]) {
    assert.equal((await read(reader)).json.status, "completed");
  }
  for (const reader of [await key({ project: "shop", account: "rival" }), await key()]) {
    const { status, json } = await read(reader);
    assert.equal(status, 404);
    assert.deepEqual(json, { error: "submission not found" });
  }
});

test("after a rotation both keys work until the overlap ends, then the old one gets 401", async (t) => {
  const running = await startHttp(t);
  const old = await running.key();
  const made = await rotated(running, old, 3_600_000);
  assert.deepEqual([await statusOf(running, old), await statusOf(running, made)], [200, 200]);
  running.clock.nowMs += 3_599_999;
  assert.equal(await statusOf(running, old), 200);
  running.clock.nowMs += 1;
  const { status, json } = await running.ask({ path: "/api/health", key: old });
  assert.equal(status, 401);
  assert.deepEqual(json, { error: "unauthorized", message: "Missing or invalid API key" });
  assert.equal(await statusOf(running, made), 200);
});

test("without an overlap, or when revoked within it, the old key gets 401 at once", async (t) => {
  const running = await startHttp(t);
  const first = await running.key();
  const second = await rotated(running, first, 0);
  assert.deepEqual([await statusOf(running, first), await statusOf(running, second)], [401, 200]);
  const third = await rotated(running, second, 3_600_000);
  await revokeKey(running.store, second, ACTOR);
  assert.deepEqual([await statusOf(running, second), await statusOf(running, third)], [401, 200]);
});

test("records and idempotency keys survive a rotation", async (t) => {
  const running = await startHttp(t);
  const old = await running.key();
  const headers = { "idempotency-key": ID };
  const { id } = (await running.submit(PROGRAM, { key: old, headers })).json;
  const made = await rotated(running, old, 0);
  const again = await running.submit(PROGRAM, { key: made, headers });
  assert.deepEqual([again.status, again.json.id], [202, id]);
  assert.equal((await running.submit({ ...PROGRAM, code: "2" }, { key: made, headers })).status, 422);
  assert.equal(await runPending(running.store), 1);
  assert.equal((await running.ask({ path: `/api/result/${id}`, key: made })).json.status, "completed");
});

test("two accounts can use the same idempotency key independently", async (t) => {
  const { key, submit, store } = await startHttp(t);
  const headers = { "idempotency-key": ID };
  const ids = [];
  for (const mine of [await key(), await key()]) ids.push((await submit(PROGRAM, { key: mine, headers })).json.id);
  assert.equal(new Set(ids).size, 2);
  assert.equal(await runPending(store), 2);
});

test("a profile that the key may not use is 403; without a profile, the default applies", async (t) => {
  const { key, submit, ask } = await startHttp(t);
  const judge = await key();
  const both = await key({ profiles: ["judge", "agent"], defaultProfile: "agent" });
  const refused = await submit({ ...PROGRAM, profile: "agent" }, { key: judge });
  assert.equal(refused.status, 403);
  assert.deepEqual(Object.keys(refused.json), ["error"]);
  assert.match(refused.json.error, /agent/);
  const profileOf = async (mine: string, profile?: string) => {
    const { id } = (await submit({ ...PROGRAM, ...(profile && { profile }) }, { key: mine })).json;
    return (await ask({ path: `/api/result/${id}`, key: mine })).json.profile;
  };
  assert.equal(await profileOf(judge), "judge");
  assert.equal(await profileOf(both), "agent");
  assert.equal(await profileOf(both, "judge"), "judge");
});

test("changes to a key apply from its next request", async (t) => {
  const { key, submit, ask, store } = await startHttp(t);
  const mine = await key();
  assert.equal((await submit({ ...PROGRAM, profile: "agent" }, { key: mine })).status, 403);
  await updateKey(store, mine, { profiles: ["judge", "agent"], requestsPerMinute: 1 }, ACTOR);
  assert.equal((await ask({ path: "/api/health", key: mine })).status, 429, "one request was made before");
  await updateKey(store, mine, { requestsPerMinute: 100 }, ACTOR);
  assert.equal((await submit({ ...PROGRAM, profile: "agent" }, { key: mine })).status, 202);
});

test("the list of keys has the last use of each key", async (t) => {
  const running = await startHttp(t);
  const mine = await running.key({ name: "used" });
  const lastUsed = async () => (await listKeys(running.store)).find(({ name }) => name === "used")?.lastUsedAt;
  assert.equal(await lastUsed(), null);
  await statusOf(running, mine);
  assert.equal(await lastUsed(), new Date(running.clock.nowMs).toISOString());
});
