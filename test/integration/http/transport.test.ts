import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect as plainConnect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "node:tls";
import { startHttp } from "../../support/http/running.ts";

test("does not serve plain HTTP on the HTTPS port", async (t) => {
  const { port } = await startHttp(t);
  const answer = await raw(() => plainConnect(port, "127.0.0.1"), "GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n");
  assert.doesNotMatch(answer, /200/);
});

test("behind a trusted proxy, serves only requests that used HTTPS", async (t) => {
  const { ask } = await startHttp(t, { transport: { kind: "proxied", proxies: ["127.0.0.0/8"] } });
  const https = await ask({ path: "/api/health", headers: { "x-forwarded-proto": "https" } });
  assert.equal(https.status, 200);
  for (const proto of ["http", "https, http", "HTTPS "]) {
    const { status, json } = await ask({ path: "/api/health", headers: { "x-forwarded-proto": proto } });
    assert.equal(status, proto.trim() === "https" ? 200 : 403, proto);
    assert.equal(json.error, "HTTPS is required");
  }
  assert.equal((await ask({ path: "/api/health" })).status, 403);
});

test("rejects clients that are not the configured proxy, with any headers", async (t) => {
  const { ask } = await startHttp(t, { transport: { kind: "proxied", proxies: ["10.0.0.1", "fd00::/8"] } });
  assert.equal((await ask({ path: "/api/health", headers: { "x-forwarded-proto": "https" } })).status, 403);
});

test("trusts every peer on a socket file as a proxy, with its headers for HTTPS and the client address", async (t) => {
  const socketPath = join(tmpdir(), `assay-proxied-${process.pid}.sock`);
  const { ask } = await startHttp(t, { socketPath, transport: { kind: "proxied", proxies: ["10.0.0.1"] } });
  const from = (address: string) => ({ "x-forwarded-proto": "https", "x-forwarded-for": address });
  assert.equal((await ask({ path: "/api/health", headers: from("203.0.113.1") })).status, 200);
  assert.equal((await ask({ path: "/api/health", headers: from("unknown, 10.0.0.1") })).status, 200);
  assert.equal((await ask({ path: "/api/health" })).status, 403);
  assert.equal((await ask({ path: "/api/health", headers: { "x-forwarded-proto": "http" } })).status, 403);
  const visit = (address: string) => ask({ path: "/openapi.json", key: null, headers: from(address) });
  const many = Array.from({ length: 301 }, () => visit("203.0.113.1"));
  assert.ok((await Promise.all(many)).some(({ status }) => status === 429));
  assert.equal((await visit("203.0.113.2, 10.0.0.1")).status, 200);
  assert.equal((await visit("203.0.113.9, 203.0.113.1")).status, 429);
});

test("behind a proxy, counts visits by client address", async (t) => {
  const { ask } = await startHttp(t, { transport: { kind: "proxied", proxies: ["127.0.0.1"] } });
  const visit = (address: string) =>
    ask({
      path: "/openapi.json",
      key: null,
      headers: { "x-forwarded-proto": "https", "x-forwarded-for": address },
    });
  const visits = async (address: (i: number) => string) =>
    (await Promise.all(Array.from({ length: 301 }, (_, i) => visit(address(i))))).map(({ status }) => status);
  assert.ok((await visits(() => "203.0.113.1")).includes(429));
  assert.equal((await visit("203.0.113.2")).status, 200);
  assert.ok((await visits((i) => `2001:db8::${i}`)).includes(429), "one /64 is one address");
});

test("responds to invalid HTTP in JSON", async (t) => {
  const { port, caPath } = await startHttp(t);
  const secure = () => connect({ port, host: "127.0.0.1", ca: readFileSync(caPath), servername: "localhost" });
  const cases: [string, number][] = [
    ["nonsense\r\n\r\n", 400],
    [`GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(20_000)}\r\n\r\n`, 431],
    ["POST /api/submit HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400],
    ["GET / HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\n\r\n", 417],
    ["GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400],
  ];
  for (const [text, status] of cases) {
    const answer = await raw(secure, text);
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `), text.slice(0, 40));
    const [, body = ""] = answer.split("\r\n\r\n");
    assert.equal(typeof JSON.parse(body.slice(body.indexOf("{"), body.lastIndexOf("}") + 1)).error, "string");
    assert.doesNotMatch(answer, /node_modules|\.ts:|at /);
  }
});

test("a request that arrives during shutdown gets 503 with the reason", async (t) => {
  const { port, caPath, server } = await startHttp(t);
  const answer = await raw(() => {
    const socket = connect({ port, host: "127.0.0.1", ca: readFileSync(caPath), servername: "localhost" });
    // Connected before closing began, so the connection is not refused.
    socket.once("secureConnect", () => server.beginClosing());
    return socket;
  }, "GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n");
  assert.match(answer, /^HTTP\/1.1 503 /);
  assert.match(answer, /\{"error":"the service is shutting down, try again later"\}/);
});

test("every response has a request id and is not cacheable", async (t) => {
  const { ask } = await startHttp(t);
  const [first, second] = [await ask({ path: "/api/health" }), await ask({ path: "/api", key: null })];
  assert.notEqual(first.headers["x-request-id"], second.headers["x-request-id"]);
  assert.match(String(second.headers["x-request-id"]), /^[0-9a-f-]{36}$/);
  assert.equal(first.headers["cache-control"], "no-store");
});

function raw(open: () => ReturnType<typeof plainConnect>, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = open();
    let answer = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
    socket.write(text);
    socket.setTimeout(3000, () => socket.destroy());
  });
}
