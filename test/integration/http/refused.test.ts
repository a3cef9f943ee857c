import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_BODY_BYTES } from "../../../src/http/body/body.ts";
import { startHttp } from "../../support/http/running.ts";

const OK = { language: "python", code: "x" };

test("every invalid body is 400 with the reason", async (t) => {
  const { submit, store } = await startHttp(t);
  const cases: [string, unknown, RegExp][] = [
    ["empty code", { ...OK, code: "" }, /^code must not be empty$/],
    ["no code", { language: "python" }, /^code is required$/],
    ["no language", { code: "x" }, /^language is required$/],
    ["code is a number", { ...OK, code: 1 }, /^code must be a string$/],
    ["stdin is null", { ...OK, stdin: null }, /^stdin must be a string$/],
    ["unsupported language", { ...OK, language: "cobol" }, /cobol.*python, c$/],
    ["a known but unavailable language", { ...OK, language: "rust" }, /rust.*python, c$/],
    ["a language of the prototype", { ...OK, language: "constructor" }, /constructor/],
    ["unknown field", { ...OK, tiemout: 5 }, /unknown field: "tiemout"/],
    ["__proto__", '{"language":"python","code":"x","__proto__":{}}', /unknown field: "__proto__"/],
    ["profile of another type", { ...OK, profile: 1 }, /^profile must be a string$/],
    ["unknown profile", { ...OK, profile: "root" }, /root/],
    ["an unpaired surrogate", '{"language":"python","code":"\\ud800"}', /^code must be valid Unicode/],
    ["malformed JSON", '{"language":', /not valid JSON/],
    ["invalid UTF-8", Buffer.from('{"language":"python","code":"\xff"}', "latin1"), /not valid JSON/],
    ["an empty body", "", /not valid JSON|must be a JSON object/],
    ["an array", [OK], /must be a JSON object/],
    ["null", "null", /must be a JSON object/],
    ["a string", '"x"', /must be a JSON object/],
  ];
  for (const [name, body, expected] of cases) {
    await t.test(name, async () => {
      const { status, json, headers } = await submit(body);
      assert.equal(status, 400);
      assert.match(json.error, expected);
      assert.deepEqual(Object.keys(json), ["error"]);
      assert.match(headers["content-type"] ?? "", /^application\/json/);
    });
  }
  assert.equal(await store.submissions.depth(), 0);
});

test("rejects webhook fields and points to the project's endpoints", async (t) => {
  const { submit } = await startHttp(t);
  for (const field of ["webhook", "webhook_url", "webhook_secret", "callback_url", "webhookUrl", "webhooks"]) {
    const { status, json } = await submit({ ...OK, [field]: "https://example.com" });
    assert.equal(status, 400, field);
    assert.match(json.error, /project/, field);
    assert.ok(json.error.includes(field), field);
  }
});

test("measures sizes exactly, in bytes of UTF-8", async (t) => {
  const { submit } = await startHttp(t);
  const accepted = [
    { ...OK, code: "x".repeat(65_536) },
    { ...OK, code: "ü".repeat(32_768) },
    { ...OK, stdin: "x".repeat(262_144) },
    { ...OK, stdin: "" },
    { ...OK, code: "\u0001".repeat(65_536), stdin: "\u0001".repeat(262_144) },
  ];
  for (const body of accepted) assert.equal((await submit(body)).status, 202);
  const code = await submit({ ...OK, code: `${"ü".repeat(32_768)}x` });
  assert.equal(code.status, 400);
  assert.equal(code.json.error, "code must be at most 65536 bytes of UTF-8, got 65537");
  const stdin = await submit({ ...OK, stdin: "x".repeat(262_145) });
  assert.equal(stdin.status, 400);
  assert.equal(stdin.json.error, "stdin must be at most 262144 bytes of UTF-8, got 262145");
});

test("a body larger than any valid one is 400, like any too large code", async (t) => {
  const { submit } = await startHttp(t);
  const { status, json } = await submit({ ...OK, code: "x".repeat(MAX_BODY_BYTES) });
  assert.equal(status, 400);
  assert.ok(json.error.includes(`${MAX_BODY_BYTES} bytes`), json.error);
});

test("another content type is 415", async (t) => {
  const { submit } = await startHttp(t);
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/xml", "nonsense"]) {
    const { status, json } = await submit(JSON.stringify(OK), { headers: { "content-type": type } });
    assert.equal(status, 415, type);
    assert.equal(json.error, "Content-Type must be application/json", type);
  }
  const charset = await submit(OK, { headers: { "content-type": "application/json; charset=utf-8" } });
  assert.equal(charset.status, 202);
});

test("returns 403 for a profile that the key may not use", async (t) => {
  const { submit, key } = await startHttp(t);
  const { status, json } = await submit({ ...OK, profile: "agent" });
  assert.equal(status, 403);
  assert.match(json.error, /agent/);
  const both = await key({ profiles: ["judge", "agent"] });
  assert.equal((await submit({ ...OK, profile: "agent" }, { key: both })).status, 202);
});

test("an unknown route is 404 and a wrong method 405 with Allow, both in JSON", async (t) => {
  const { ask } = await startHttp(t);
  for (const path of ["/api", "/api/", "/api/submit/", "/API/health", "/api/result", "/api/result/", "/api/%2e%2e/x"]) {
    const { status, json } = await ask({ path });
    assert.equal(status, 404, path);
    assert.equal(typeof json.error, "string", path);
  }
  const wrong: [string, string, string][] = [
    ["GET", "/api/submit", "POST"],
    ["POST", "/api/result/x", "GET, HEAD"],
    ["DELETE", "/api/health", "GET, HEAD"],
    ["PUT", "/api/languages?x=1", "GET, HEAD"],
    ["OPTIONS", "/api/submit", "POST"],
  ];
  for (const [method, path, allow] of wrong) {
    const { status, json, headers } = await ask({ method, path });
    assert.equal(status, 405, `${method} ${path}`);
    assert.equal(headers.allow, allow);
    assert.equal(typeof json.error, "string");
  }
  // The body of such a request is not validated.
  const { status } = await ask({
    method: "DELETE",
    path: "/api/submit",
    headers: { "content-type": "application/json" },
  });
  assert.equal(status, 405);
});

test("a body in another charset, or compressed, is 415", async (t) => {
  const { submit } = await startHttp(t);
  const type = (text: string) => ({ headers: { "content-type": `application/json${text}` } });
  for (const text of ["", "; charset=utf-8", '; charset="UTF-8"'])
    assert.equal((await submit(undefined, type(text))).status, 202);
  assert.equal((await submit(undefined, type("; charset=latin1"))).status, 415);
  assert.equal((await submit(undefined, { headers: { "content-encoding": "gzip" } })).status, 415);
});

test("names an unknown query parameter in a 400; without a key the status is 401", async (t) => {
  const { ask, submit } = await startHttp(t, { holdMs: 100 });
  const { json } = await submit();
  const withWait = { "/api/submit": 405, [`/api/result/${json.id}`]: 408 };
  for (const path of ["/api/languages", "/api/health", "/api/health/ready", `/api/result/${json.id}`, "/api/submit"]) {
    const asked = path === "/api/submit" ? { method: "POST", body: OK } : {};
    for (const query of ["wiat=true", "a=1&wait%20=x&a=2", "__proto__=1"]) {
      const { status, json: answer } = await ask({ ...asked, path: `${path}?${query}` });
      const name = { w: "wiat", a: "a", _: "__proto__" }[query[0] ?? ""];
      assert.deepEqual(
        [status, answer.error?.includes(`unknown query parameter: "${name}"`)],
        [400, true],
        path + query,
      );
    }
    assert.equal((await ask({ ...asked, path: `${path}?wiat=true`, key: null })).status, 401);
    assert.notEqual((await ask({ ...asked, path: `${path}?` })).status, 400, path);
    assert.equal((await ask({ path: `${path}?wait=true` })).status, withWait[path] ?? 400, path);
  }
});
