import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { within } from "../../../bench/load/database.ts";
import { suspendAccount } from "../../../src/admin/accounts.ts";
import { revokeKey } from "../../../src/admin/keys.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { PistonClient } from "../../support/http/piston-client.ts";
import { Raw } from "../../support/http/raw.ts";
import { type Options, runPending, startHttp } from "../../support/http/running.ts";
import { stopwatch } from "../../support/stopwatch.ts";
import { report } from "../../support/verdict/reports.ts";

const LIMIT = { timeout: 30_000 };
const CONNECT = "/piston/api/v2/connect";
const CODE = "print(1)";

/** A service, and clients of it; the test is its worker. */
async function talks(t: TestContext, options: Options = {}) {
  const running = await startHttp(t, options);
  const own = await running.key();
  const client = (more: { readonly key?: string; readonly headers?: Record<string, string> } = {}) => {
    const made = new PistonClient({ ...running, key: own, ...more });
    t.after(() => made.close());
    return made;
  };
  const claim = async (): Promise<Claim> => {
    for (;;) {
      const [claimed] = await running.store.submissions.claim("w", 60_000);
      if (claimed) return claimed;
      await sleep(5);
    }
  };
  /** A client whose program runs. */
  const begun = async (more = {}) => {
    const made = client(more);
    await made.init("python", CODE);
    return { client: made, claim: await claim() };
  };
  return { ...running, own, client, claim, begun };
}

const piece = (text: string, at = 0) => ({ stream: "stdout", at, bytes: Buffer.from(text) }) as const;
const messageOf = (client: PistonClient) => client.received.find(({ type }) => type === "error")?.message;

/** The first bytes of a client, up to its frames. */
function handshake(key: string): string {
  return [
    `GET ${CONNECT} HTTP/1.1`,
    "Host: localhost",
    `Authorization: ${key}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
  ].join("\r\n");
}

/** A masked frame, whose mask is 0. */
function frame(opcode: number, payload: string, { fin = true } = {}): string {
  return String.fromCharCode((fin ? 0x80 : 0) | opcode, 0x80 | payload.length, 0, 0, 0, 0) + payload;
}

const [CONTINUATION, TEXT, PING] = [0, 1, 9];

test("a session that fails in the middle releases its memory", LIMIT, async (t) => {
  const { store, begun } = await talks(t);
  // Half of the memory for responses is the most of an account: ten looks of 2 MiB.
  for (let n = 0; n < 11; n++) {
    const { client, claim } = await begun();
    await store.live.append(claim.lease, 0, [piece("a")]);
    await client.until(() => client.output() === "a");
    await store.submissions.requeue(claim.lease);
    const [again] = await store.submissions.claim("w", 60_000);
    assert.ok(again);
    await store.live.append(again.lease, 0, [piece("b".repeat(2 * 1_048_576))]);
    assert.equal(await client.closed, "4002 Notified Error", `session ${n}`);
    assert.equal(messageOf(client), "the platform failed and ran the program again");
  }
});

test("the response of a WebSocket is closed with its connection, so that it keeps no memory", LIMIT, async (t) => {
  const { store, begun, ask, own } = await talks(t);
  const large = buildOutcome({
    execute: report({ stdout: Buffer.alloc(1_048_576, "x"), stderr: Buffer.alloc(1_048_576, "x") }),
  });
  for (let n = 0; n < 12; n++) {
    const { client, claim } = await begun();
    await client.until(() => client.received.length > 0);
    // The client leaves while the end is read.
    await store.submissions.finish(claim.lease, large);
    client.close();
    await client.closed;
  }
  const { status } = await ask({ path: `/api/result/x`, key: own });
  assert.equal(status, 404);
  const { client, claim } = await begun();
  await store.live.append(claim.lease, 0, [piece("a")]);
  await client.until(() => client.output() === "a");
});

test("a session ends with its key, its account and its submission", LIMIT, async (t) => {
  const { store, database, begun, key } = await talks(t);
  const revoked = await key({ name: "revoked" });
  const suspended = await key({ name: "suspended" });
  const one = (await begun({ key: revoked })).client;
  const two = (await begun({ key: suspended })).client;
  const three = await begun();
  const running = three.claim.submission.id;
  await revokeKey(store, revoked, "test");
  await suspendAccount(store, "suspended", "test");
  await within(database, ({ db }) => db.deleteFrom("submissions").where("id", "=", running).execute());
  const expected = [
    [one, "Missing or invalid API key"],
    [two, "Missing or invalid API key"],
    [three.client, "not found, or you have no access to it"],
  ] as const;
  for (const [client, message] of expected) {
    assert.equal(await client.closed, "4002 Notified Error");
    assert.equal(messageOf(client), message);
  }
  while ((await store.submissions.depth()) > 0) await sleep(10);
});

test("input of a revoked key does not reach the program, also while output waits for the client", LIMIT, async (t) => {
  const { store, begun, key } = await talks(t);
  const revoked = await key();
  const { client, claim } = await begun({ key: revoked });
  await client.input("a");
  const read = async () => (await store.liveInput.read(claim.lease, 0))?.length ?? 0;
  while ((await read()) === 0) await sleep(5);
  client.socket.pause();
  for (let n = 0; n < 8; n++) await store.live.append(claim.lease, n, [piece("\0".repeat(131_072), n * 131_072)]);
  await sleep(500);
  await revokeKey(store, revoked, "test");
  await sleep(1_100);
  await client.input("b");
  await sleep(500);
  assert.equal(await read(), 1);
});

test("a message without text is no end of the input", LIMIT, async (t) => {
  const { store, begun } = await talks(t);
  const { client, claim } = await begun();
  await client.input("");
  await client.input("a");
  let read = await store.liveInput.read(claim.lease, 0);
  while (read?.length === 0) {
    await sleep(5);
    read = await store.liveInput.read(claim.lease, 0);
  }
  assert.deepEqual(read, [[1, { kind: "bytes", bytes: Buffer.from("a") }]]);
});

const HOSTILE: Readonly<Record<string, readonly [string | Buffer, RegExp]>> = {
  "many values": [`{"type":"init","x":[${"[],".repeat(1_000)}[]]}`, /more than 512 values/],
  "deep values": [`{"type":"init","x":${"[".repeat(20)}${"]".repeat(20)}}`, /nested/],
  "a field twice": ['{"type":"init","language":"python","language":"c"}', /twice|duplicate/i],
  "a long number": [`{"type":"init","x":${"1".repeat(100_000)}}`, /JSON/],
  "binary data": [Buffer.from('{"type":"init"}'), /JSON/],
};

for (const [name, [sent, expected]] of Object.entries(HOSTILE)) {
  test(`a message with ${name} is refused before it is parsed`, LIMIT, async (t) => {
    const { client } = await talks(t);
    const one = client();
    await one.opened;
    one.socket.send(sent);
    assert.equal(await one.closed, "4002 Notified Error");
    assert.match(String(messageOf(one)), expected);
  });
}

test("floods of frames end a connection, and what it keeps is bounded", LIMIT, async (t) => {
  const { port, caPath, own, client, logs } = await talks(t);
  const floods: Readonly<Record<string, string>> = {
    pings: frame(PING, "x".repeat(125)).repeat(2_000),
    fragments: frame(TEXT, "a", { fin: false }) + frame(CONTINUATION, "a", { fin: false }).repeat(6_000),
    "empty fragments": frame(TEXT, "", { fin: false }) + frame(CONTINUATION, "", { fin: false }).repeat(6_000),
    "invalid UTF-8": frame(TEXT, "\xff\xfe"),
    "no mask": "\x81\x01a",
    "a reserved opcode": frame(3, "a"),
    "a huge length": "\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0",
  };
  for (const [name, bytes] of Object.entries(floods)) {
    const raw = Raw.secure(port, caPath);
    raw.write(handshake(own) + bytes);
    const tookMs = stopwatch();
    await raw.ended;
    assert.match(raw.received, /^HTTP\/1.1 101 /, name);
    assert.ok(tookMs() < 3_000, name);
    assert.ok(raw.received.length < 40_000, name);
  }
  const patient = client();
  await patient.opened;
  for (let n = 0; n < 20; n++) patient.socket.ping();
  await new Promise((resolve) => patient.socket.once("pong", resolve));
  assert.equal(patient.socket.readyState, WebSocket.OPEN);
  assert.equal(logs.filter((line) => JSON.parse(line).level >= 50).length, 0);
});

test("messages come one a turn, few after the end of a session, and empty ones are counted", LIMIT, async (t) => {
  const { port, caPath, own } = await talks(t);
  const { emit } = WebSocket.prototype;
  t.after(() => Object.assign(WebSocket.prototype, { emit }));
  let [all, inTurn, most] = [0, 0, 0];
  WebSocket.prototype.emit = function (this: WebSocket, name: string, ...args: unknown[]) {
    if (name === "message") {
      all++;
      most = Math.max(most, ++inTurn);
      setImmediate(() => {
        inTurn = 0;
      });
    }
    return emit.call(this, name, ...args);
  } as typeof emit;
  const send = async (frames: string) => {
    [all, most] = [0, 0];
    const raw = Raw.secure(port, caPath);
    raw.write(handshake(own) + frames);
    await raw.ended;
    // The library still reads what has arrived, which is a few pieces of 64 KiB.
    for (let before = -1; all !== before; await sleep(100)) before = all;
    assert.equal(most, 1);
    return all;
  };
  // The first one ends the session. The client does not answer its close, and goes on.
  const late = await send(frame(TEXT, "").repeat(100_000));
  assert.ok(late < 50_000, `${late} messages`);
  const init = frame(
    TEXT,
    JSON.stringify({ type: "init", language: "python", version: "*", files: [{ content: "1" }] }),
  );
  const empty = await send(init + frame(TEXT, '{"type":"data","stream":"stdin","data":""}').repeat(30_000));
  assert.ok(empty > 10_000 && empty < 20_000, `${empty} messages`);
});

test("a page of another origin cannot connect, even if its browser sends a key", LIMIT, async (t) => {
  const { client, port } = await talks(t);
  for (const origin of ["https://evil.example", "null", `http://127.0.0.1:${port}`])
    await assert.rejects(client({ headers: { origin } }).opened, /403/, origin);
  await client({ headers: { origin: `https://127.0.0.1:${port}` } }).opened;
});

test("a client that reads too slowly is disconnected", LIMIT, async (t) => {
  const { store, begun } = await talks(t, { drain: { windowMs: 100, leastBytes: 200_000 } });
  const { client, claim } = await begun();
  await client.until(() => client.received.length > 0);
  client.socket.pause();
  for (let n = 0; n < 8; n++) await store.live.append(claim.lease, n, [piece("\0".repeat(131_072), n * 131_072)]);
  const left = async () => (await store.submissions.get(claim.submission.id, claim.submission.accountId))?.outcome;
  const tookMs = stopwatch();
  while (!(await left())) await sleep(20);
  assert.ok(tookMs() < 10_000);
});

test("a session without memory for its output fails instead of waiting for ever", LIMIT, async (t) => {
  const { store, begun, port, caPath, own, submit } = await talks(t);
  const { json } = await submit(undefined, { key: own });
  const output = Buffer.alloc(1_048_576, 0);
  await runPending(store, () => buildOutcome({ execute: report({ stdout: output, stderr: output }) }));
  for (let n = 0; n < 10; n++) {
    const raw = Raw.secure(port, caPath);
    t.after(() => raw.socket.destroy());
    raw.write(`GET /api/result/${json.id} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${own}\r\n\r\n`);
    await new Promise((resolve) => raw.socket.once("data", resolve));
    raw.socket.pause();
  }
  const { client, claim } = await begun();
  await store.live.append(claim.lease, 0, [piece("a".repeat(1_048_576))]);
  assert.equal(await client.closed, "4002 Notified Error");
  assert.equal(messageOf(client), "too much data is in transit, try again later");
});

test("a session ends if its program does not start in time, and others continue", LIMIT, async (t) => {
  const { store, client, begun } = await talks(t, { holdMs: 20 });
  const { client: running, claim } = await begun();
  const waiting = client();
  await waiting.init("python", CODE);
  assert.equal(await waiting.closed, "4002 Notified Error");
  assert.equal(messageOf(waiting), "the program did not start within 0.4 s");
  const [{ assay_id: id } = {}] = waiting.received as { assay_id?: string }[];
  while ((await store.submissions.get(`${id}`, claim.submission.accountId))?.outcome?.result.cause !== "cancelled")
    await sleep(20);
  await store.live.append(claim.lease, 0, [piece("a")]);
  await running.until(() => running.output() === "a");
});

test("sessions of all accounts are bounded, and an account leaves some for others", { timeout: 60_000 }, async (t) => {
  const { client, key } = await talks(t);
  const keys = await Promise.all(Array.from({ length: 18 }, () => key()));
  const counts: number[] = [];
  for (const one of keys) {
    const opened = await Promise.allSettled(Array.from({ length: 9 }, () => client({ key: one }).opened));
    counts.push(opened.filter(({ status }) => status === "fulfilled").length);
  }
  assert.ok(counts[0] === 8 && counts.every((count) => count > 0), `${counts}`);
  assert.ok(counts.reduce((sum, count) => sum + count) <= 128, `${counts}`);
});

test("a stop of the service waits for no client of a session", { timeout: 60_000 }, async (t) => {
  const closes = async ({ server }: { server: { close(): Promise<void> } }, name: string, leave: () => void) => {
    const isClosed = await Promise.race([server.close().then(() => true), sleep(5_000, false)]);
    leave();
    assert.ok(isClosed, name);
  };
  const silent = await talks(t);
  const raw = Raw.secure(silent.port, silent.caPath);
  raw.write(handshake(silent.own));
  await new Promise((resolve) => raw.socket.once("data", resolve));
  await closes(silent, "a client that does not answer", () => raw.socket.destroy());
  for (const ms of [2, 4, 6, 8]) {
    const one = await talks(t);
    const client = one.client();
    client.socket.once("open", () => void client.init("python", CODE));
    await sleep(ms);
    await closes(one, `a client that comes ${ms} ms before the stop`, () => client.close());
  }
});
