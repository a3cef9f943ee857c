import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import { resumeAccount, suspendAccount } from "../../../src/admin/accounts.ts";
import { listKeys, revokeKey } from "../../../src/admin/keys.ts";
import { authenticate, Failures } from "../../../src/http/access/auth.ts";
import { ForeignPaths } from "../../../src/http/foreign-routes.ts";
import { EVERY_ROUTE } from "../../support/http/every-route.ts";
import { Raw } from "../../support/http/raw.ts";
import { startHttp } from "../../support/http/running.ts";

/** Requests for each endpoint, for none, and with long ids. */
const REQUESTS = [
  ...EVERY_ROUTE,
  { path: `/api/result/${"0".repeat(101)}` },
  { path: `/api/result/${"0".repeat(16_000)}` },
  { path: "/nowhere" },
];

test("every endpoint and every other path requires a key and returns 401 for a wrong one", async (t) => {
  const { ask } = await startHttp(t);
  const wrong = [null, "x", "assay_live_", `assay_live_${"a".repeat(32)}`, "' or 1=1 --"];
  for (const request of REQUESTS) {
    for (const key of wrong) {
      const { status, json } = await ask({ ...request, key });
      assert.equal(status, 401, `${request.path} ${key}`);
      assert.deepEqual(json, { error: "unauthorized", message: "Missing or invalid API key" });
    }
  }
});

test("rejects a submission whose key or account is revoked or suspended while its body is sent", async (t) => {
  const { port, caPath, key, store } = await startHttp(t);
  const body = JSON.stringify({ language: "python", code: "x" });
  for (const [end, status] of [
    [(mine: string) => revokeKey(store, mine, "x"), 401],
    [() => suspendAccount(store, "slow", "x"), 403],
  ] as const) {
    const mine = await key({ account: "slow" });
    const raw = Raw.secure(port, caPath);
    const headers = `X-API-Key: ${mine}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nConnection: close`;
    raw.write(`POST /api/submit HTTP/1.1\r\nHost: x\r\n${headers}\r\nContent-Length: ${body.length}\r\n\r\n`);
    while (!raw.received.startsWith("HTTP/1.1 100 ")) await sleep(5);
    await end(mine);
    raw.write(body);
    assert.match(await raw.ended, new RegExp(`\r\nHTTP/1.1 ${status} `));
  }
  assert.equal(await store.submissions.depth(), 0);
});

test("a key that was valid before does not wait behind guesses from its address", async (t) => {
  const { store, key } = await startHttp(t);
  const failures = new Failures();
  const ask = (mine: string) => {
    const headers = { "x-api-key": mine };
    const raw = { socket: { destroyed: false } };
    const request = {
      ip: "192.0.2.1",
      url: "/api/health",
      headers,
      raw,
      routeOptions: {},
      server: { foreignPaths: new ForeignPaths([]) },
    };
    return authenticate(request as unknown as FastifyRequest, store.keys, failures);
  };
  const [known, fresh] = [await key(), await key()];
  await ask(known);
  const guess = `assay_live_${"x".repeat(32)}`;
  for (let n = 0; n < 120; n++) await assert.rejects(ask(guess), /unauthorized/);
  const guesses = Promise.withResolvers<void>();
  void failures.lookUps.run("192.0.2.1", () => guesses.promise);
  const order: string[] = [];
  const waiting = ask(fresh).then(() => order.push("fresh"));
  await ask(known).then(() => order.push("known"));
  guesses.resolve();
  await waiting;
  assert.deepEqual(order, ["known", "fresh"]);
  await revokeKey(store, known, "test");
  await assert.rejects(ask(known), /unauthorized/);
});

test("rejects a revoked key at once", async (t) => {
  const { ask, key, store } = await startHttp(t);
  const mine = await key();
  assert.equal((await ask({ path: "/api/health", key: mine })).status, 200);
  await revokeKey(store, mine, "test");
  assert.equal((await ask({ path: "/api/health", key: mine })).status, 401);
});

test("the keys of a suspended account get 403 with the reason at once, and work again after it is resumed", async (t) => {
  const { ask, key, store } = await startHttp(t);
  const mine = await key();
  const [{ account } = { account: "" }] = (await listKeys(store)).filter(({ prefix }) => mine.startsWith(prefix));
  await suspendAccount(store, account, "test");
  for (const request of REQUESTS) {
    const { status, json } = await ask({ ...request, key: mine });
    assert.equal(status, 403, request.path);
    assert.deepEqual(json, { error: "this account is suspended; ask the operator of the service" });
  }
  await resumeAccount(store, account, "test");
  assert.equal((await ask({ path: "/api/health", key: mine })).status, 200);
});

test("allows 60 requests a minute over all endpoints, then returns 429 with Retry-After", async (t) => {
  const { ask, submit, key } = await startHttp(t);
  const mine = await key({ requestsPerMinute: undefined });
  for (let i = 0; i < 60; i++) {
    const path = ["/api/health", "/api/languages", "/nowhere"][i % 3] ?? "";
    assert.notEqual((await ask({ path, key: mine })).status, 429, `request ${i + 1}`);
  }
  const { status, json, headers } = await submit(undefined, { key: mine });
  assert.equal(status, 429);
  assert.deepEqual(json, { error: "API key quota exceeded" });
  const wait = Number(headers["retry-after"]);
  assert.ok(Number.isInteger(wait) && wait >= 1 && wait <= 60, String(headers["retry-after"]));
  assert.equal((await ask({ path: "/api/health" })).status, 200, "another key is not affected");
});

test("the limit of a key overrides the limit of its tier", async (t) => {
  const { ask, key } = await startHttp(t);
  const mine = await key({ requestsPerMinute: 2 });
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await ask({ path: "/api/health", key: mine })).status);
  assert.deepEqual(statuses, [200, 200, 429]);
});

test("an invalid key gets 401 after any number of attempts, and a valid key from the same address works", async (t) => {
  const { ask } = await startHttp(t);
  const failed = await Promise.all(Array.from({ length: 130 }, () => ask({ path: "/api/health", key: null })));
  assert.equal(failed.filter(({ status }) => status === 401).length, 130);
  assert.equal((await ask({ path: "/api/health" })).status, 200);
});

test("after too many failures, keys from an address are looked up one at a time, valid keys included", async (t) => {
  const { ask, store } = await startHttp(t);
  const looking = { now: 0, most: 0, all: 0 };
  const findCaller = store.keys.findCaller.bind(store.keys);
  t.mock.method(store.keys, "findCaller", async (hash: string) => {
    looking.all++;
    looking.most = Math.max(looking.most, ++looking.now);
    await sleep(5);
    return findCaller(hash).finally(() => looking.now--);
  });
  await Promise.all(Array.from({ length: 120 }, () => ask({ path: "/api", key: null })));
  const guesses = Array.from({ length: 40 }, () => ask({ path: "/api", key: `assay_live_${"a".repeat(32)}` }));
  const valid = Array.from({ length: 5 }, () => ask({ path: "/api/health" }));
  assert.ok((await Promise.all(guesses)).every(({ status }) => status === 401));
  assert.ok((await Promise.all(valid)).every(({ status }) => status === 200));
  assert.deepEqual(looking, { now: 0, most: 1, all: 45 });
});

test("logs never contain a key, and its use is recorded", async (t) => {
  const { ask, key, logs, store } = await startHttp(t);
  const mine = await key({ name: "noted" });
  await ask({ path: "/api/health", key: mine });
  await ask({ path: "/api/health", key: `${mine}x` });
  assert.ok(logs.some((line) => line.includes("/api/health")));
  assert.equal(logs.join("").includes(mine), false);
  const view = (await listKeys(store)).find(({ name }) => name === "noted");
  assert.notEqual(view?.lastUsedAt, null);
});
