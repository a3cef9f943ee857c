import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fastify, { type FastifyInstance } from "fastify";
import { clientError } from "../../../src/domain/error.ts";
import { NO_METER } from "../../../src/domain/meter.ts";
import { Budget } from "../../../src/fairness/budget.ts";
import { EventLoopTurns } from "../../../src/fairness/turn.ts";
import { decorateCaller } from "../../../src/http/access/caller.ts";
import { type BodyBudgets, readJsonOnly } from "../../../src/http/body/body.ts";
import { sendErrors } from "../../../src/http/responses/errors.ts";
import { Raw } from "../../support/http/raw.ts";
import { type Running, startHttp } from "../../support/http/running.ts";
import { stopwatch } from "../../support/stopwatch.ts";

const LIMIT = { timeout: 60_000 };
const MIB = 1_048_576;
const PATH = "/api/judgements";

/** Begins a request with a chunked body. */
function begin(key: string, { port, caPath }: Pick<Running, "port" | "caPath">, path = PATH): Raw {
  const raw = Raw.secure(port, caPath);
  raw.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\n`);
  raw.write("Transfer-Encoding: chunked\r\n\r\n");
  return raw;
}

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const status = ({ received }: Raw) => received.slice(0, 12);

test("stalled uploads take no memory from other accounts, and end soon", LIMIT, async (t) => {
  const running = await startHttp(t);
  const { key, ask } = running;
  const attackers = await Promise.all(["a", "b", "c", "d"].map((account) => key({ account })));
  const raws = attackers.flatMap((one) => [begin(one, running), begin(one, running)]);
  t.after(() => {
    for (const raw of raws) raw.socket.destroy();
  });
  const [began, endedMs] = [performance.now(), stopwatch()];
  for (const raw of raws) raw.write(chunk("[".padEnd(5 * MIB)));
  await sleep(1_000);
  const tests = [0, 1, 2].map((at) => ({ stdin: "x".repeat(3 * MIB), expected: `${at}` }));
  const body = { language: "python", code: "x", tests };
  const waitedMs = stopwatch();
  const { status: accepted } = await ask({ method: "POST", path: PATH, body, key: await key({ account: "honest" }) });
  assert.equal(accepted, 202);
  const waited = waitedMs();
  assert.ok(waited < 5_000, `${waited} ms`);
  while (raws.some(({ received }) => received === "")) await sleep(100);
  assert.deepEqual([...new Set(raws.map(status))], ["HTTP/1.1 408"]);
  const [leastMs, mostMs] = [performance.now() - began, endedMs()];
  assert.ok(leastMs > 9_000 && mostMs < 14_000, `${leastMs} and ${mostMs} ms`);
});

/** A server with a small budget for large bodies. The header `account` has the account. */
async function small(t: TestContext, budgetMib: number, windowMs: number) {
  const budgets: BodyBudgets = {
    bodies: new Budget({ total: 16 * MIB, perOwner: "shared" }),
    largeBodies: new Budget({ total: budgetMib * MIB, perOwner: "shared", waitMs: 1_000 }),
    bodiesOfStrangers: new Budget({ total: MIB, perOwner: "shared" }),
  };
  const server = fastify() as unknown as FastifyInstance;
  decorateCaller(server);
  server.decorateRequest("person", null);
  server.addHook("onRequest", async (request) => {
    if (request.headers.account === undefined) throw clientError("unauthorized", []);
    request.caller = { accountId: request.headers.account } as unknown as NonNullable<typeof request.caller>;
  });
  readJsonOnly(server, new EventLoopTurns(), budgets, { stepBytes: MIB, leastBytes: MIB, windowMs });
  sendErrors(server, NO_METER);
  const handled = { bodies: 0, go: Promise.withResolvers<void>() };
  server.post(PATH, { config: { large: true } }, async (request) => {
    handled.bodies++;
    await handled.go.promise;
    request.forgetBody?.();
    return {};
  });
  server.post("/zip", { config: { archive: true }, bodyLimit: 64 * MIB }, async (request) => {
    request.holdsBody = true;
    await handled.go.promise;
    request.forgetBody?.();
    return {};
  });
  await server.listen({ port: 0, host: "127.0.0.1" });
  t.after(() => server.close());
  const { port } = server.server.address() as AddressInfo;
  const send = (account: string, headers: string, text: string) => {
    const raw = Raw.plain(port);
    t.after(() => raw.socket.destroy());
    raw.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nAccount: ${account}\r\nContent-Type: application/json\r\n`);
    raw.write(`${headers}\r\n\r\n${text}`);
    return raw;
  };
  const { bodies, largeBodies } = budgets;
  const sendArchive = (account: string, bytes: number) => {
    const raw = Raw.plain(port);
    t.after(() => raw.socket.destroy());
    raw.write(`POST /zip HTTP/1.1\r\nHost: x\r\nAccount: ${account}\r\nContent-Type: application/zip\r\n`);
    raw.write(`Content-Length: ${bytes}\r\n\r\n${" ".repeat(bytes)}`);
    return raw;
  };
  const until = async (bytes: number) => {
    while (largeBodies.held !== bytes) await sleep(10);
  };
  return { send, sendArchive, bodies, largeBodies, until, handled };
}

const CHUNKED = "Transfer-Encoding: chunked";
const LENGTH = `Content-Length: ${20 * MIB}`;

for (const [headers, name] of [
  [CHUNKED, "without a length"],
  [LENGTH, "with a length"],
] as const)
  test(`a large body ${name} holds only what has arrived, and nothing after a disconnect`, LIMIT, async (t) => {
    const { send, until } = await small(t, 32, 60_000);
    const text = (mib: number) => (headers === CHUNKED ? chunk(" ".repeat(mib * MIB)) : " ".repeat(mib * MIB));
    const raw = send("a", headers, text(2));
    await until(2 * MIB);
    raw.write(text(3));
    await until(5 * MIB);
    raw.socket.destroy();
    await until(0);
  });

test(
  "a body that waits for memory holds nothing after a disconnect, and another account continues",
  LIMIT,
  async (t) => {
    const { send, until, largeBodies } = await small(t, 8, 60_000);
    const first = send("a", LENGTH, " ".repeat(6 * MIB)); // it gets half of the budget
    await until(4 * MIB);
    const second = send("b", LENGTH, " ".repeat(MIB));
    await until(5 * MIB);
    first.socket.destroy();
    await until(MIB);
    second.socket.destroy();
    await until(0);
    assert.equal(largeBodies.held, 0);
  },
);

test("a body that gets no memory in time is 503 and releases what it had", LIMIT, async (t) => {
  const { send, until } = await small(t, 8, 60_000);
  const raw = send("a", LENGTH, " ".repeat(6 * MIB));
  while (raw.received === "") await sleep(10);
  assert.equal(status(raw), "HTTP/1.1 503");
  await until(0);
});

test("archives take no memory of other bodies, and only as much as they have bytes", LIMIT, async (t) => {
  const { sendArchive, bodies, until, handled } = await small(t, 32, 60_000);
  const raws = [sendArchive("a", 4 * MIB), sendArchive("b", 3_000)];
  await until(4 * MIB + 3_000);
  assert.equal(bodies.held, 0);
  handled.go.resolve();
  await until(0);
  while (raws.some(({ received }) => received === "")) await sleep(10);
  assert.deepEqual(raws.map(status), ["HTTP/1.1 200", "HTTP/1.1 200"]);
});

test(
  "many accounts whose bodies do not end leave memory for the short and medium bodies of others",
  LIMIT,
  async (t) => {
    const running = await startHttp(t);
    const { key, ask } = running;
    const attackers = await Promise.all(Array.from({ length: 12 }, (_, at) => key({ account: `a${at}` })));
    const raws = attackers.flatMap((one) => [0, 1].map(() => begin(one, running, "/api/submit")));
    t.after(() => {
      for (const raw of raws) raw.socket.destroy();
    });
    for (const raw of raws) raw.write(chunk("[".padEnd(60_000)));
    const honest = await key({ account: "honest" });
    for (const length of [10, 60_000, 200_000]) {
      const body = { language: "python", code: "x", stdin: "y".repeat(length) };
      const { status: accepted } = await ask({ method: "POST", path: "/api/submit", body, key: honest });
      assert.equal(accepted, 202, `${length}`);
    }
  },
);

test("strangers whose bodies do not end leave memory for accounts, and for sign-ins of others", LIMIT, async (t) => {
  const { port, ask, key } = await startHttp(t, {
    transport: { kind: "proxied", proxies: ["127.0.0.1"] },
    limits: { maxConnectionsPerAddress: 2_000 },
  });
  const signIn =
    "POST /dashboard/api/session HTTP/1.1\r\nHost: localhost\r\nOrigin: https://localhost\r\nContent-Type: application/json\r\n";
  const forwarded = (address: string) => ({ "x-forwarded-proto": "https", "x-forwarded-for": address });
  for (let at = 0; at < 1_200; at++) {
    const raw = Raw.plain(port, true);
    t.after(() => raw.socket.destroy());
    raw.write(`${signIn}X-Forwarded-Proto: https\r\nX-Forwarded-For: 203.0.${at % 3}.${at % 100}\r\n`);
    raw.write("Content-Length: 16384\r\n\r\n{");
  }
  await sleep(2_000); // until the service has read their headers
  const body = { language: "python", code: "x", stdin: "y".repeat(200_000) };
  const account = { method: "POST", path: "/api/submit", body, key: await key(), headers: forwarded("198.51.100.1") };
  assert.equal((await ask(account)).status, 202);
  const other = { email: "ada@example.org", password: "wrong" };
  const headers = { ...forwarded("198.51.100.2"), origin: "https://localhost" };
  const { status: answered } = await ask({
    method: "POST",
    path: "/dashboard/api/session",
    body: other,
    headers,
    key: null,
  });
  assert.notEqual(answered, 503);
});

test("a parsed body holds its memory until the route releases it, even after a disconnect", LIMIT, async (t) => {
  const { send, until, handled, largeBodies } = await small(t, 64, 60_000);
  const raw = send("a", `Content-Length: ${6 * MIB}`, JSON.stringify("x".repeat(6 * MIB - 2)));
  while (handled.bodies === 0) await sleep(10);
  raw.socket.destroy();
  await sleep(200);
  assert.equal(largeBodies.held, 6 * MIB);
  handled.go.resolve();
  await until(0);
});

test("a slow body is 408, unless it waits for memory", LIMIT, async (t) => {
  const { send, until, largeBodies } = await small(t, 8, 300);
  const release = await largeBodies.takeInTime("another account", 4 * MIB, new AbortController().signal);
  assert.ok(release);
  // It waits for a second, which is longer than three windows.
  const waiting = send("b", LENGTH, " ".repeat(3 * MIB));
  while (waiting.received === "") await sleep(10);
  assert.equal(status(waiting), "HTTP/1.1 503");
  const slow = send("c", LENGTH, " ".repeat(1_000));
  while (slow.received === "") await sleep(10);
  assert.equal(status(slow), "HTTP/1.1 408");
  release();
  await until(0);
});
