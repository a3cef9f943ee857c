import assert from "node:assert/strict";
import { test } from "node:test";
import { signedIn } from "../../../support/http/dashboard/signed-in.ts";
import { startHttp } from "../../../support/http/running.ts";

const ME = "/dashboard/api/me";
const BODY = { name: "Changed" };

/** Headers of browsers for requests from other origins, and headers that no browser sends. */
const FOREIGN: [string, Record<string, string | undefined>][] = [
  ["a page of another site", { "sec-fetch-site": "cross-site", origin: "https://evil.example" }],
  ["a page of another host of the same site", { "sec-fetch-site": "same-site", origin: "https://other.localhost" }],
  ["a bookmark", { "sec-fetch-site": "none" }],
  ["a frame without an origin", { "sec-fetch-site": "same-origin", origin: "null" }],
  ["an older browser, from another site", { "sec-fetch-site": undefined, origin: "https://evil.example" }],
  ["an older browser, from the same host over HTTP", { "sec-fetch-site": undefined, origin: "http://localhost" }],
  ["an older browser, from a frame without an origin", { "sec-fetch-site": undefined, origin: "null" }],
  ["no origin at all", { "sec-fetch-site": undefined }],
  ["a form", { "content-type": "application/x-www-form-urlencoded" }],
  ["a form with files", { "content-type": "multipart/form-data; boundary=x" }],
  ["a form that looks like JSON", { "content-type": "text/plain" }],
  ["another type that begins like JSON", { "content-type": "application/json-seq" }],
];

test("rejects changes from pages of other origins, with any headers", async (t) => {
  const running = await startHttp(t);
  const ada = await signedIn(running, "ada@example.com", "administrator");
  for (const [what, headers] of FOREIGN) {
    const kept = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<
      string,
      string
    >;
    const cookie = ada.cookie;
    const site: Record<string, string> = "sec-fetch-site" in headers ? {} : { "sec-fetch-site": "same-origin" };
    const reply = await running.ask({
      method: "PATCH",
      path: ME,
      key: null,
      body: BODY,
      headers: { cookie, ...site, ...kept },
    });
    assert.equal(reply.status, 403, what);
    assert.deepEqual(reply.json, { error: "the request does not come from this service's own pages" }, what);
  }
  assert.equal((await running.store.people.get(ada.id))?.name, "ada");
});

test("no form of another site can sign a person in or out", async (t) => {
  const running = await startHttp(t);
  const ada = await signedIn(running, "ada@example.com", "administrator");
  const headers = { "sec-fetch-site": "cross-site", "content-type": "text/plain" };
  for (const method of ["POST", "DELETE"]) {
    const body = method === "POST" ? '{"email":"eve@example.com","password":"x","a":"="}' : undefined;
    const asked = {
      method,
      path: "/dashboard/api/session",
      key: null,
      body,
      headers: { ...headers, cookie: ada.cookie },
    };
    const reply = await running.ask(asked);
    assert.equal(reply.status, 403, method);
    assert.equal(reply.headers["set-cookie"], undefined, method);
  }
  assert.equal((await ada.ask({ path: "/dashboard/api/session" })).json.person.email, "ada@example.com");
});

test("accepts changes from own pages, by Sec-Fetch-Site, or by Origin in older browsers", async (t) => {
  const running = await startHttp(t);
  const ada = await signedIn(running, "ada@example.com", "administrator");
  const origin = `https://127.0.0.1:${running.port}`;
  const ways: Record<string, string>[] = [
    { "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "same-origin", origin },
    { origin },
    { origin, "content-type": "application/json; charset=utf-8" },
  ];
  for (const [at, headers] of ways.entries()) {
    const body = { name: `Ada ${at}` };
    const reply = await running.ask({
      method: "PATCH",
      path: ME,
      key: null,
      body,
      headers: { cookie: ada.cookie, ...headers },
    });
    assert.equal(reply.status, 200, JSON.stringify(headers));
    assert.equal(reply.json.name, `Ada ${at}`);
  }
});

test("no response can be read by a page of another origin", async (t) => {
  const running = await startHttp(t);
  const ada = await signedIn(running, "ada@example.com", "administrator");
  const headers = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
  const reply = await ada.ask({ path: "/dashboard/api/session", headers });
  assert.equal(reply.headers["access-control-allow-origin"], undefined);
  assert.equal(reply.headers["access-control-allow-credentials"], undefined);
  assert.equal(reply.headers["cross-origin-resource-policy"], "same-origin");
  const preflight = await running.ask({
    method: "OPTIONS",
    path: ME,
    key: null,
    headers: { ...headers, "access-control-request-method": "PATCH" },
  });
  assert.equal(preflight.status, 405);
  assert.equal(preflight.headers["access-control-allow-origin"], undefined);
});
