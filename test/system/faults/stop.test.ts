import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PistonClient } from "../../support/http/piston-client.ts";
import { Raw } from "../../support/http/raw.ts";
import { eventually } from "../../support/launcher/machine.ts";
import { type RealServe, realServe } from "./real-serve.ts";

// A client can leave a connection in any state. `serve` kills a service that is not stopped by ASSAY_DRAIN_MS and 15 s later, and then
// fails: its exit code proves that the time was enough.

const CONNECT = "/piston/api/v2/connect";
const UPGRADE = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
};
const SLEEPS = JSON.stringify({ language: "python", code: "import time; time.sleep(9)" });
/** A program whose output takes six bytes of JSON for each of its own. */
const LONG = { language: "python", code: 'print("\\0" * 1_000_000)' };

/** A request up to its body. */
function head(method: string, path: string, headers: Record<string, string | number> = {}): string {
  const lines = Object.entries({ Host: "localhost", ...headers }).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n");
}

interface Left {
  readonly raw: Raw;
  /** Begins the response or, if empty, nothing was received. */
  readonly received: RegExp;
}

/** Connections in every state, which are left so. */
class Connections {
  readonly left = new Map<string, Left>();
  readonly #serve: RealServe;
  readonly #key: string;

  constructor(serve: RealServe, key: string) {
    this.#serve = serve;
    this.#key = key;
  }

  get #port(): number {
    return this.#serve.port;
  }

  #secure(): Raw {
    return Raw.secure(this.#port, `${this.#serve.data}/tls/ca.pem`);
  }

  /** A connection that stays open. @param sent after the handshake. */
  keep(name: string, sent: string, received: RegExp, { reads = true, halfCloses = false } = {}): void {
    const raw = this.#secure();
    if (!reads) raw.socket.pause();
    raw.write(sent);
    if (halfCloses) raw.socket.end();
    this.left.set(name, { raw, received });
  }

  /** A connection without TLS, or with a part of its handshake. */
  keepPlain(name: string, sent: string): void {
    const raw = new Raw(connect(this.#port, "127.0.0.1"));
    raw.write(sent);
    this.left.set(name, { raw, received: /^$/ });
  }

  /** A connection that sends and leaves without reading. @param afterMs when it leaves. */
  async abort(sent: string, afterMs: number): Promise<void> {
    const raw = this.#secure();
    raw.socket.pause();
    raw.write(sent);
    await sleep(afterMs);
    raw.socket.destroy();
  }

  authorized(method: string, path: string, headers: Record<string, string | number> = {}, body = ""): string {
    const length = body === "" ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    return head(method, path, { "X-API-Key": this.#key, ...length, ...headers }) + body;
  }
}

function idOf({ status, json }: { status: number; json: unknown }): string {
  assert.ok(status < 300, JSON.stringify(json));
  return (json as { id: string }).id;
}

/** A person's session. @returns the headers of its requests. */
async function signIn(serve: RealServe): Promise<Record<string, string>> {
  const origin = `https://127.0.0.1:${serve.port}`;
  const token = serve.command("members", "link", "--origin", origin).split("#")[1];
  const body = { token, name: "Ada", email: "ada@example.com", password: "seventeen green bottles on a wall" };
  const raw = Raw.secure(serve.port, `${serve.data}/tls/ca.pem`);
  const text = JSON.stringify(body);
  const headers = {
    "Content-Type": "application/json",
    "Content-Length": text.length,
    "Sec-Fetch-Site": "same-origin",
  };
  raw.write(head("POST", "/dashboard/api/invitations/accept", { ...headers, Connection: "close" }) + text);
  const [, cookie] = /^set-cookie: ([^;]+)/im.exec(await raw.ended) ?? assert.fail(raw.received);
  return { Cookie: cookie ?? "", "Sec-Fetch-Site": "same-origin" };
}

test("the service stops in time after its clients have left connections in every state", {
  timeout: 180_000,
}, async (t) => {
  const serve = await realServe(t, { ASSAY_DRAIN_MS: "3000" });
  const newKey = (account: string) =>
    serve.command("keys", "create", "--name", account, "--account", account, "--rpm", "100000", "--concurrency", "10");
  const [key = "", talks = "", floods = ""] = ["club", "talks", "floods"].map(newKey);
  while (!(await serve.isReady(key))) await sleep(100);
  const cookie = await signIn(serve);
  const long = idOf(await serve.ask(key, "POST", "/api/submit?wait=true", LONG));
  const clients = new Connections(serve, key);
  const { authorized } = clients;
  const request = authorized.bind(clients);
  const judged = await serve.ask(key, "POST", "/api/judgements", {
    ...JSON.parse(SLEEPS),
    tests: [{ stdin: "", expected: "" }],
  });
  const running = await serve.ask(key, "POST", "/api/submit", { ...JSON.parse(SLEEPS), stream: true });

  clients.keepPlain("silent before TLS", "");
  clients.keepPlain("half a handshake", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03");
  clients.keep("silent after TLS", "", /^$/);
  clients.keep("in the request line", "GET /api/hea", /^$/);
  clients.keep("in the headers", "GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-A: ", /^$/);
  clients.keep("between two requests", request("GET", "/api/health"), /^HTTP\/1\.1 200 /);
  clients.keep(
    "in a body",
    `${request("POST", "/api/submit", { "Content-Type": "application/json", "Content-Length": 900 })}{`,
    /^$/,
  );
  clients.keep(
    "in a chunk",
    `${request("POST", "/api/submit", { "Content-Type": "application/json", "Transfer-Encoding": "chunked" })}3e8\r\n{`,
    /^$/,
  );
  clients.keep(
    "in a long body",
    request("POST", "/api/judgements", { "Content-Type": "application/json", "Content-Length": 20_000_000 }) +
      "[".repeat(100_000),
    /^$/,
  );
  clients.keep(
    "in an archive",
    `${request("POST", "/api/problems", { "Content-Type": "application/zip", "Content-Length": 9_000_000 })}PK${"x".repeat(100_000)}`,
    /^$/,
  );
  clients.keep(
    "before the body that was asked for",
    request("POST", "/api/submit", { "Content-Type": "application/json", "Content-Length": 2, Expect: "100-continue" }),
    /^HTTP\/1\.1 100 /,
  );
  clients.keep(
    "still sending after a refusal",
    head("POST", "/api/submit", { "Content-Length": 5_000_000 }),
    /^HTTP\/1\.1 401 /,
  );
  const wait = request("POST", "/api/submit?wait=true", {}, SLEEPS);
  clients.keep("waiting for a result", wait, /^$/);
  clients.keep("waiting for a result, half closed", wait, /^$/, { halfCloses: true });
  clients.keep("waiting for a result, with another request behind it", wait + request("GET", "/api/health"), /^$/);
  clients.keep(
    "waiting for a judgement",
    request("POST", "/api/judge", {}, JSON.stringify({ ...JSON.parse(SLEEPS), cases: [{ stdin: "", expected: "" }] })),
    /^$/,
  );
  clients.keep(
    "waiting on the API of Judge0",
    request(
      "POST",
      "/judge0/submissions?wait=true",
      { "X-Auth-Token": key },
      JSON.stringify({ language_id: 71, source_code: "import time; time.sleep(9)" }),
    ),
    /^$/,
  );
  clients.keep(
    "waiting on the API of Piston",
    request(
      "POST",
      "/piston/api/v2/execute",
      {},
      JSON.stringify({ language: "python", version: "*", files: [{ content: "import time; time.sleep(9)" }] }),
    ),
    /^$/,
  );
  clients.keep(
    "waiting for a tool",
    request(
      "POST",
      "/mcp",
      { Authorization: `Bearer ${key}`, Accept: "application/json, text/event-stream" },
      JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "run", arguments: JSON.parse(SLEEPS) },
      }),
    ),
    /^/,
  );
  clients.keep("not reading a long response", request("GET", `/api/result/${long}`), /^/, { reads: false });
  clients.keep("not reading many responses", request("GET", `/api/result/${long}`).repeat(8), /^/, { reads: false });
  const events = `/api/result/${idOf(running)}/events`;
  clients.keep("in the events of a run", request("GET", events), /^HTTP\/1\.1 200 /);
  clients.keep("in the events of a run, not reading", request("GET", events), /^/, { reads: false });
  clients.keep("in the events of a run, half closed", request("GET", events), /^/, { halfCloses: true });
  clients.keep(
    "in the events of a judgement",
    request("GET", `/api/judgements/${idOf(judged)}/events`),
    /^HTTP\/1\.1 200 /,
  );
  clients.keep("in the events of the dashboard", head("GET", "/dashboard/api/changes", cookie), /^HTTP\/1\.1 200 /);
  clients.keep("in an export", head("GET", "/dashboard/api/submissions/csv", cookie), /^/, { reads: false });
  const upgrade = { ...UPGRADE, Authorization: talks };
  clients.keep("a WebSocket that says nothing", head("GET", CONNECT, upgrade), /^HTTP\/1\.1 101 /);
  clients.keep("a WebSocket, not reading", head("GET", CONNECT, upgrade), /^/, { reads: false });
  clients.keep("a WebSocket, half closed", head("GET", CONNECT, upgrade), /^/, { halfCloses: true });
  clients.keep("in a frame of a WebSocket", `${head("GET", CONNECT, upgrade)}\x81\xfe`, /^HTTP\/1\.1 101 /);
  clients.keep("a refused WebSocket", head("GET", CONNECT, UPGRADE), /^HTTP\/1\.1 401 /);
  clients.keep("an upgrade of another path", request("GET", events, UPGRADE), /^HTTP\/1\.1 200 /);

  const session = (own: string) => {
    const one = new PistonClient({ port: serve.port, caPath: `${serve.data}/tls/ca.pem`, key: own });
    t.after(() => one.close());
    return one;
  };
  const [reader, still] = [session(talks), session(talks)];
  await reader.init("python", "while True: print(input())");
  await still.init("python", 'import time\nwhile True: print("\\0" * 10_000); time.sleep(0.01)');
  still.socket.pause();
  // Eight sessions that flood and leave, and floods that are refused: nothing reads them.
  const flooding = Array.from({ length: 8 }, () => session(floods));
  await Promise.all(flooding.map((one) => one.init("python", "import time; time.sleep(9)")));
  const message = JSON.stringify({ type: "data", stream: "stdin", data: "x".repeat(1_000) });
  for (let n = 0; n < 2_000; n++) for (const one of flooding) one.socket.send(message);
  const flood = "x".repeat(500_000);
  await Promise.all([
    ...[
      UPGRADE,
      { ...UPGRADE, "X-API-Key": floods },
      { ...UPGRADE, "X-API-Key": floods, "Sec-WebSocket-Version": 99 },
    ].flatMap((headers) => [0, 20, 500].map((ms) => clients.abort(head("GET", CONNECT, headers) + flood, ms))),
    clients.abort(request("GET", "/api/health", UPGRADE) + flood, 500),
    clients.abort(
      request("POST", "/api/submit", { "Content-Type": "application/json", "Content-Length": 4_000_000 }) + flood,
      500,
    ),
    clients.abort(request("GET", events), 500),
    clients.abort(wait, 500),
    clients.abort(request("GET", `/api/result/${long}`), 500),
  ]);
  for (const one of flooding) one.close();

  for (const [name, { raw, received }] of clients.left)
    await eventually(`${name}: ${received}, but ${raw.received.slice(0, 200)}`, () => received.test(raw.received));
  serve.process.kill("SIGTERM");
  assert.equal(await serve.ended, 0, serve.words());
  assert.match(serve.words(), /"msg":"stopped"/);
  assert.doesNotMatch(serve.words(), /did not stop within/);
  const closed = [...clients.left].map(async ([name, { raw }]) => {
    raw.socket.resume();
    // The timer must not keep this process alive until just before leak-guard.ts ends it.
    const late = sleep(10_000, null, { ref: false }).then(() => assert.fail(`${name} is still open`));
    await Promise.race([raw.ended, late]);
  });
  await Promise.all(closed);
});
