import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { requestId } from "../../../src/http/responses/request-id.ts";
import { startHttp } from "../../support/http/running.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const named = (id: string) => requestId({ headers: { "x-request-id": id } });

/** The log line is written after the response, so the client can receive it a moment earlier. */
async function lines(logs: readonly string[], count: number) {
  for (;;) {
    const parsed = logs.map((text) => JSON.parse(text)).filter(({ msg }) => msg === "request");
    if (parsed.length >= count) return parsed;
    await sleep(5);
  }
}

test("keeps a client's id only if it is a token", () => {
  for (const id of ["abcdefgh", "01HXYZ.retry-2_b", "f".repeat(64)]) assert.equal(named(id), id);
  const wrong = [
    "",
    "short",
    "f".repeat(65),
    "-leading",
    "two words",
    "new\nline",
    'quo"te123',
    "{json}123",
    "a, b1234",
    "ümlaut12",
  ];
  for (const id of wrong) assert.match(named(id), UUID, id);
  assert.match(requestId({ headers: {} }), UUID);
});

test("the response and every log line about the request have the id", async (t) => {
  const { submit, ask, logs } = await startHttp(t);
  const headers = { "x-request-id": "client-1.abc" };
  const { json, headers: answered } = await submit(undefined, { headers });
  assert.equal(answered["x-request-id"], "client-1.abc");
  const [line] = await lines(logs, 1);
  assert.equal(line.reqId, "client-1.abc");
  assert.deepEqual([line.msg, line.submission, line.route], ["request", json.id, "/api/submit"]);
  assert.match(line.key, /^[0-9a-f-]{36}$/);
  const refused = await ask({ path: "/api/languages", key: "wrong", headers });
  assert.deepEqual([refused.status, refused.headers["x-request-id"]], [401, "client-1.abc"]);
  const own = await ask({ path: "/api/languages", headers: { "x-request-id": "no token" } });
  assert.match(String(own.headers["x-request-id"]), UUID);
});

test("the log line does not name a submission of another account", async (t) => {
  const { submit, ask, key, logs } = await startHttp(t);
  const { json } = await submit();
  const stranger = await key({ account: "stranger" });
  await lines(logs, 1);
  assert.equal((await ask({ path: `/api/result/${json.id}`, key: stranger })).status, 404);
  assert.equal((await ask({ path: `/api/result/${json.id}` })).status, 200);
  const asked = (await lines(logs, 3)).filter(({ method }) => method === "GET");
  assert.deepEqual(
    asked.map(({ submission }) => submission),
    [undefined, json.id],
  );
});
