import assert from "node:assert/strict";
import { METHODS, request } from "node:http";
import { Agent, request as secureRequest } from "node:https";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { Raw } from "../../support/http/raw.ts";
import { runPending, startHttp } from "../../support/http/running.ts";
import { stopwatch } from "../../support/stopwatch.ts";
import { report } from "../../support/verdict/reports.ts";

const LIMIT = { timeout: 30_000 };
/** One second instead of ten, to keep the test short. */
const SHORT = {
  headersTimeout: 1_000,
  requestTimeout: 1_500,
  connectionsCheckingInterval: 100,
  handshakeTimeout: 1_000,
};
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

test(
  "disconnects clients that send a header byte by byte with 408, and serves others in the meantime",
  LIMIT,
  async (t) => {
    const { port, caPath, ask } = await startHttp(t, { limits: SHORT });
    const tookMs = stopwatch();
    const slow = Array.from({ length: 20 }, () => Raw.secure(port, caPath));
    for (const raw of slow) raw.write("GET /api/health HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    const drip = setInterval(() => {
      for (const raw of slow) raw.write("a");
    }, 50);
    t.after(() => clearInterval(drip));
    assert.equal((await ask({ path: "/api/health" })).status, 200);
    const answers = await Promise.all(slow.map(({ ended }) => ended));
    assert.ok(tookMs() < 10_000);
    for (const answer of answers) {
      assert.match(answer, /^HTTP\/1\.1 408 /);
      assert.match(answer, /\{"error":"the request did not arrive in time"\}$/);
    }
  },
);

test("disconnects a client that sends a body byte by byte", LIMIT, async (t) => {
  const { port, caPath, key } = await startHttp(t, { limits: SHORT });
  const raw = Raw.secure(port, caPath);
  raw.write(
    `POST /api/submit HTTP/1.1\r\nHost: x\r\nX-API-Key: ${await key()}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n`,
  );
  const drip = setInterval(() => raw.write(" "), 50);
  t.after(() => clearInterval(drip));
  assert.match(await raw.ended, /^HTTP\/1\.1 408 /);
});

test("disconnects silent clients: before TLS, after it, and on a plain connection", LIMIT, async (t) => {
  const { port, caPath } = await startHttp(t, { limits: SHORT });
  const plain = await startHttp(t, { limits: SHORT, transport: { kind: "loopback" } });
  const silent = [Raw.plain(port), Raw.secure(port, caPath), Raw.plain(plain.port)];
  await Promise.all(silent.map(({ ended }) => ended));
});

test("disconnects a client that does not read its response, and keeps nothing for it", LIMIT, async (t) => {
  const limits = { inactivityTimeout: 500 };
  const { port, caPath, key, submit, store } = await startHttp(t, { holdMs: 500, limits });
  const mine = await key();
  const { json } = await submit(undefined, { key: mine });
  const full = Buffer.alloc(1 << 20, 1); // six bytes of JSON per byte
  await runPending(store, () => buildOutcome({ execute: report({ stdout: full, stderr: full }) }));
  const raw = Raw.secure(port, caPath);
  await new Promise((resolve) => raw.socket.once("secureConnect", resolve));
  raw.socket.pause();
  raw.write(`GET /api/result/${json.id} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${mine}\r\n\r\n`);
  await sleep(2_500);
  raw.socket.resume();
  const received = await raw.ended;
  assert.match(received, /^HTTP\/1\.1 200 /);
  assert.ok(received.length < 6 * full.length, `${received.length}`);
  assert.doesNotMatch(received.slice(-8), /\r\n0\r\n\r\n$/);
});

test("the hold of wait=true does not count as inactivity", LIMIT, async (t) => {
  const { submit } = await startHttp(t, { holdMs: 1_000, limits: { inactivityTimeout: 800 } });
  assert.equal((await submit(undefined, { path: "/api/submit?wait=true" })).status, 408);
});

test("closes the connection of a client that stays connected after an early error", LIMIT, async (t) => {
  const { port, ask } = await startHttp(t, {
    transport: { kind: "proxied", proxies: ["127.0.0.1"] },
    limits: { maxConnections: 1 },
  });
  const health = { path: "/api/health", headers: { "x-forwarded-proto": "https" } };
  for (let n = 0; n < 2; n++) {
    const raw = Raw.plain(port, true);
    t.after(() => raw.socket.destroy());
    raw.write("nonsense\r\n\r\n");
    while (!raw.received.endsWith("}")) await sleep(10);
  }
  await assert.rejects(ask(health), "both connections are in use");
  await sleep(1_500);
  assert.equal((await ask(health)).status, 200);
});

test("a reset after an early error ends only that connection", LIMIT, async (t) => {
  const { port, ask } = await startHttp(t, { transport: { kind: "proxied", proxies: ["127.0.0.1"] } });
  const texts = [
    "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n",
    "nonsense\r\n\r\n",
  ];
  for (let i = 0; i < 25; i++) {
    const all = texts.map((text) => {
      const raw = Raw.plain(port);
      raw.socket.write(text, () => setTimeout(() => raw.socket.resetAndDestroy(), i % 5));
      return raw.ended;
    });
    await Promise.all(all);
  }
  const headers = { "x-forwarded-proto": "https" };
  assert.equal((await ask({ path: "/api/health", headers })).status, 200);
});

test("behind a proxy, does not count connections by address, because all come from the proxy", LIMIT, async (t) => {
  const proxied = { kind: "proxied", proxies: ["127.0.0.1"] } as const;
  const { port, ask } = await startHttp(t, { transport: proxied, limits: { maxConnectionsPerAddress: 3 } });
  const here = Array.from({ length: 5 }, () => Raw.plain(port));
  t.after(() => {
    for (const { socket } of here) socket.destroy();
  });
  await Promise.all(here.map(({ socket }) => new Promise((resolve) => socket.once("connect", resolve))));
  assert.equal((await ask({ path: "/api/health", headers: { "x-forwarded-proto": "https" } })).status, 200);
});

test("every response has the same security headers and a unique id", LIMIT, async (t) => {
  const { ask, submit, port, caPath } = await startHttp(t);
  const answers = [
    await ask({ path: "/api/health" }),
    await submit(),
    await ask({ path: "/api", key: null }),
    await ask({ path: "/api/submit" }),
    await submit("{"),
    await ask({ path: "/%zz" }),
  ].map(({ headers }) => headers as Record<string, unknown>);
  const broken = [
    "nonsense\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n",
    `GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
    "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
  ];
  for (const text of broken) {
    const raw = Raw.secure(port, caPath);
    raw.write(text);
    answers.push(headersOf(await raw.ended));
  }
  for (const headers of answers) {
    for (const [name, value] of Object.entries(HEADERS)) assert.equal(headers[name], value, name);
    assert.match(String(headers["x-request-id"]), /^[0-9a-f-]{36}$/);
    assert.match(String(headers["content-type"]), /^application\/json/);
  }
  assert.equal(new Set(answers.map((headers) => headers["x-request-id"])).size, answers.length);
});

test("sends HSTS over HTTPS for a host name, and never for localhost or over plain HTTP", LIMIT, async (t) => {
  const { ask } = await startHttp(t);
  const plain = await startHttp(t, { transport: { kind: "loopback" } });
  const said = async (one: typeof ask, host: string) =>
    (await one({ path: "/api/health", headers: { host } })).headers["strict-transport-security"];
  assert.equal(await said(ask, "assay.example"), "max-age=31536000");
  for (const host of ["localhost:8443", "127.0.0.1", "[::1]:8443", "x.localhost"]) {
    assert.equal(await said(ask, host), undefined, host);
  }
  assert.equal(await said(plain.ask, "assay.example"), undefined);
});

test("responds to every method in JSON; HEAD is GET without the body", LIMIT, async (t) => {
  const { ask, key } = await startHttp(t);
  const mine = await key();
  for (const method of METHODS.filter((one) => one !== "CONNECT")) {
    const { status, json, headers, text } = await ask({ method, path: "/api/languages", key: mine });
    if (method === "GET" || method === "HEAD") {
      assert.equal(status, 200, method);
      assert.equal(text, method === "HEAD" ? "" : '["python","c"]');
      assert.equal(headers["content-length"], "14");
    } else {
      assert.equal(status, 405, method);
      assert.equal(headers.allow, "GET, HEAD");
      assert.equal(typeof json.error, "string");
    }
  }
  // No CORS: a key must not be used in a page of another origin, so no preflight is granted.
  const preflight = await ask({ method: "OPTIONS", path: "/api/submit", headers: { origin: "https://example.com" } });
  assert.equal(preflight.status, 405);
  assert.deepEqual(
    Object.keys(preflight.headers).filter((name) => name.startsWith("access-control")),
    [],
  );
});

test("responds to unusual HTTP/1.1 in JSON, and never treats data as a second request", LIMIT, async (t) => {
  const { port, caPath, key, store, logs } = await startHttp(t);
  const mine = `X-API-Key: ${await key()}\r\nConnection: close\r\n`;
  const body = '{"language":"python","code":"x"}';
  const post = `POST /api/submit HTTP/1.1\r\nHost: x\r\n${mine}Content-Type: application/json\r\n`;
  const cases: [name: string, text: string, status: number][] = [
    ["no Host", `GET /api/health HTTP/1.1\r\n${mine}\r\n`, 400],
    ["two Hosts", `GET /api/health HTTP/1.1\r\nHost: a\r\nHost: b\r\n${mine}\r\n`, 400],
    ["HTTP/1.0 without Host", `GET /api/health HTTP/1.0\r\n${mine}\r\n`, 200],
    ["HTTP/2 without negotiation", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    ["HTTP/3.7", `GET / HTTP/3.7\r\nHost: x\r\n\r\n`, 400],
    ["an unknown method", `FETCH / HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
    ["a method of RTSP", "DESCRIBE / RTSP/1.0\r\nHost: x\r\n\r\n", 400],
    ["an absolute target", `GET https://x/api/health HTTP/1.1\r\nHost: x\r\n${mine}\r\n`, 200],
    ["OPTIONS *", `OPTIONS * HTTP/1.1\r\nHost: x\r\n${mine}\r\n`, 404],
    ["no target", "GET  HTTP/1.1\r\nHost: x\r\n\r\n", 400],
    ["a header folded over two lines", `GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n${mine}\r\n`, 400],
    ["a NUL in a header", `GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n${mine}\r\n`, 400],
    ["a blank before the colon", `GET / HTTP/1.1\r\nHost: x\r\nX : a\r\n${mine}\r\n`, 400],
    ["bare line feeds", `GET /api/health HTTP/1.1\nHost: x\n\n`, 400],
    ["a length that is not a number", `${post}Content-Length: ten\r\n\r\n${body}`, 400],
    ["a negative length", `${post}Content-Length: -1\r\n\r\n${body}`, 400],
    ["two lengths", `${post}Content-Length: 5\r\nContent-Length: 32\r\n\r\n${body}`, 400],
    ["a length and chunks", `${post}Content-Length: 32\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    ["chunks with an invalid size", `${post}Transfer-Encoding: chunked\r\n\r\nxyz\r\n${body}\r\n0\r\n\r\n`, 400],
    ["an unknown encoding", `${post}Transfer-Encoding: gzip\r\n\r\n${body}`, 400],
    ["no length and no chunks", `${post}\r\n`, 400],
    ["chunks", `${post}Transfer-Encoding: chunked\r\n\r\n20\r\n${body}\r\n0\r\n\r\n`, 202],
    ["an upgrade", `GET /api/health HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\n${mine}\r\n`, 200],
    ["a backslash and dots in the path", `GET /..\\..\\etc/passwd HTTP/1.1\r\nHost: x\r\n${mine}\r\n`, 404],
  ];
  for (const [name, text, status] of cases) {
    const raw = Raw.secure(port, caPath);
    raw.write(text);
    const answer = await raw.ended;
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), `${name}: ${answer.slice(0, 200)}`);
    assert.equal(answer.split("HTTP/1.1 ").length, 2, `${name}: one response`);
    assert.match(headersOf(answer)["content-type"] ?? "", /^application\/json/, name);
    const json = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
    assert.equal(typeof json.error, status < 400 ? "undefined" : "string", name);
  }
  assert.equal(await store.submissions.depth(), 1);
  const warnings = logs.filter((line) => JSON.parse(line).level >= 40);
  assert.deepEqual(warnings, []);
});

test("a body that nobody reads is not discarded for ever, and a short one keeps its connection", LIMIT, async (t) => {
  const { port, caPath } = await startHttp(t);
  const head = (length: number, line = "POST /api/submit") =>
    `${line} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: none\r\nContent-Length: ${length}\r\n\r\n`;
  const short = Raw.secure(port, caPath);
  t.after(() => short.socket.destroy());
  for (let at = 1; at < 3; at++) {
    short.write(`${head(2)}{}`);
    while (short.received.split("HTTP/1.1 401").length <= at) await sleep(5);
  }
  assert.doesNotMatch(short.received, /connection: close/i);
  for (const [line, status] of [
    ["POST /api/submit", 401],
    ["GET /openapi.json", 200],
  ] as const) {
    const long = Raw.secure(port, caPath);
    const most = 1_000_000_000;
    long.write(head(most, line));
    const chunk = Buffer.alloc(1_048_576);
    let sent = 0;
    const flood = () => {
      while (!long.socket.destroyed && sent < most) {
        sent += chunk.length;
        if (!long.socket.write(chunk)) break;
      }
    };
    long.socket.on("drain", flood);
    flood();
    const received = await long.ended;
    assert.match(received, /^HTTP\/1.1 .*connection: close/is);
    assert.ok(received.startsWith(`HTTP/1.1 ${status} `), received.slice(0, 40));
    assert.ok(sent < 200_000_000, `${sent} bytes`); // 32 MiB, what arrives between two checks, and what is on its way
  }
});

test("rejects duplicate fields in any form", LIMIT, async (t) => {
  const { submit, store } = await startHttp(t);
  const twice = [
    '{"language":"python","code":"a","code":"b"}',
    '{"language":"c","code":"a", "stdin":"{\\"code\\":1}", "lang\\u0075age" : "python"}',
    '{"__proto__":1,"__proto__":2}',
    '{"language":"python","code":"a","limits":{"cpu_time_secs":1,"cpu_time_secs":0.5}}',
    '{"language":"python","files":{"main.py":"a","main.py":"b"}}',
  ];
  for (const body of twice) {
    const { status, json } = await submit(body);
    assert.equal(status, 400, body);
    assert.equal(json.error, "request body has a duplicate field");
  }
  assert.equal(await store.submissions.depth(), 0);
  const once = [
    '{"language":"python","code":"{\\"code\\":1,\\"code\\":2}\\\\"}',
    '{"language":"python","code":":::\\"::"}',
  ];
  for (const body of once) assert.equal((await submit(body)).status, 202, body);
});

test("accepts NUL bytes in a program, and rejects them in names", LIMIT, async (t) => {
  const { submit, ask } = await startHttp(t);
  assert.equal((await submit({ language: "python", code: "a\0b", stdin: "\0" })).status, 202);
  assert.equal((await submit({ language: "python\0", code: "a" })).status, 400);
  assert.equal((await ask({ path: "/api/result/%00" })).status, 404);
});

test("a client that keeps its connection does not prevent the service from stopping", LIMIT, async (t) => {
  const { port, caPath, server, store, key } = await startHttp(t);
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  t.after(() => agent.destroy());
  const headers = { "x-api-key": await key(), "content-type": "application/json" };
  const where = { host: "127.0.0.1", port, agent, headers };
  const waiting = new Promise<{ status: number; connection: string | undefined }>((resolve, reject) => {
    const sent = secureRequest({ ...where, method: "POST", path: "/api/submit?wait=true" }, (response) => {
      response
        .resume()
        .once("end", () => resolve({ status: response.statusCode ?? 0, connection: response.headers.connection }));
    });
    sent.once("error", reject).end('{"language":"python","code":"x"}');
  });
  while ((await store.submissions.depth()) === 0) await sleep(5);
  const busy = Raw.secure(port, caPath);
  await new Promise((resolve) => busy.socket.once("secureConnect", resolve));
  busy.write("GET /api/health HTTP/1.1\r\nHost: x\r\n");
  await sleep(50);
  server.beginClosing();
  busy.write("\r\n");
  const late = await busy.ended;
  assert.match(late, /^HTTP\/1\.1 503 /);
  assert.match(late, /connection: close/i);
  assert.match(late, /retry-after: 5/i);
  // A submission accepted earlier still gets its result.
  await runPending(store);
  assert.deepEqual(await waiting, { status: 200, connection: "close" });
  const tookMs = stopwatch();
  await server.close();
  assert.ok(tookMs() < 2_000);
  await assert.rejects(
    new Promise((resolve, reject) => request({ host: "127.0.0.1", port }, resolve).once("error", reject).end()),
    { code: "ECONNREFUSED" },
  );
});

test("a client that never finishes its request does not prevent the service from stopping", LIMIT, async (t) => {
  const { port, caPath, server } = await startHttp(t);
  const slow = Raw.secure(port, caPath);
  await new Promise((resolve) => slow.socket.once("secureConnect", resolve));
  slow.write("GET /api/health HTTP/1.1\r\nHost:");
  await sleep(50);
  const tookMs = stopwatch();
  await server.close();
  assert.ok(tookMs() < 5_000);
});

function headersOf(answer: string): Record<string, string> {
  const [head = ""] = answer.split("\r\n\r\n");
  const lines = head.split("\r\n").slice(1);
  return Object.fromEntries(lines.map((line) => [line.split(": ")[0]?.toLowerCase(), line.split(": ")[1]]));
}

/** Begins two TLS connections and closes each after the handshake. @returns how many of them were completed. */
async function handshakes(port: number, options: ConnectionOptions): Promise<number> {
  const one = () =>
    new Promise<boolean>((resolve) => {
      const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options });
      socket.once("error", () => resolve(false));
      socket.once("secureConnect", () => {
        socket.destroy();
        resolve(true);
      });
    });
  const completed = await Promise.all([one(), one()]);
  return completed.filter(Boolean).length;
}

test("no handshake uses a group that takes the service long", LIMIT, async (t) => {
  const { port } = await startHttp(t);
  // Few enough that the service refuses none of them as a burst of handshakes without a request.
  for (const group of ["ffdhe2048", "ffdhe3072", "secp521r1", "secp384r1"])
    assert.equal(await handshakes(port, { ecdhCurve: group }), 0, group);
  for (const group of ["X25519MLKEM768", "X25519", "prime256v1"])
    assert.equal(await handshakes(port, { ecdhCurve: group }), 2, group);
});
