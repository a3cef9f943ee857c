import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type TLSSocket } from "node:tls";
import { PISTON_CONNECT } from "../../../src/compat/piston/conventions.ts";
import { type BoundedService, boundedService } from "./service.ts";

const LIMIT = { timeout: 30_000 };

async function open(t: TestContext, { port, ca }: BoundedService, from: string): Promise<TLSSocket> {
  const raw = connectTcp({ host: "127.0.0.1", port, localAddress: from });
  const socket = connect({ socket: raw, ca, servername: "localhost" });
  t.after(() => socket.destroy());
  raw.setNoDelay(true);
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket.resume();
}

test("a connection with 40,000 records of 48 bytes is closed", LIMIT, async (t) => {
  const service = await boundedService(t, "sqlite");
  const socket = await open(t, service, "127.0.0.2");
  const head = `POST /api/submit HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${service.attacker.key}\r\n`;
  socket.write(`${head}content-type: application/json\r\ncontent-length: 2000000\r\n\r\n`);
  let records = 0;
  const record = " ".repeat(48);
  while (records < 40_000 && (await new Promise((resolve) => socket.write(record, (error) => resolve(!error))))) {
    records++;
  }
  t.diagnostic(`${records} records`);
  assert.ok(records < 40_000, `${records} records`);
});

test("a connection with 1-byte records is closed, and no new one of its address is opened", LIMIT, async (t) => {
  const service = await boundedService(t, "sqlite");
  const socket = await open(t, service, "127.0.0.2");
  socket.write("GET /api/health HTTP/1.1\r\nx: ");
  let records = 0;
  // Each write is a separate record, because it waits for the previous one.
  while (await new Promise((resolve) => socket.write("y", (error) => resolve(!error)))) records++;
  assert.ok(records > 1_000 && records < 100_000, `closed after ${records} records`);
  const again = connectTcp({ host: "127.0.0.1", port: service.port, localAddress: "127.0.0.2" }).resume();
  again.on("error", () => {});
  await new Promise((resolve) => again.once("close", resolve));
  await open(t, service, "127.0.0.3");
});

test("600 connections of one address with one request each are answered", LIMIT, async (t) => {
  const service = await boundedService(t, "sqlite");
  for (let round = 0; round < 30; round++) {
    const opening = Array.from({ length: 20 }, async () => {
      const socket = await open(t, service, "127.0.0.2");
      socket.write(`GET /api/health HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${service.honest.key}\r\n\r\n`);
      const [answer] = (await once(socket, "data")) as [Buffer];
      assert.match(String(answer), /^HTTP\/1\.1 200/);
      socket.destroy();
    });
    await Promise.all(opening);
  }
});

test("an upload in 1 KiB records passes", LIMIT, async (t) => {
  const service = await boundedService(t, "sqlite");
  const socket = await open(t, service, "127.0.0.2");
  const body = JSON.stringify({ language: "python", code: "", stdin: "" }).padEnd(1_900_000, " ");
  socket.write(
    `POST /api/submit HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${service.honest.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  const answered = once(socket, "data") as Promise<[Buffer]>;
  for (let at = 0; at < body.length; at += 1_024)
    await new Promise((resolve) => socket.write(body.slice(at, at + 1_024), resolve));
  const [answer] = await answered;
  assert.match(String(answer), /^HTTP\/1\.1 400/); // read as a whole: the code is empty
});

test("a shared address keeps its quiet connection, and can connect again within 13 s", LIMIT, async (t) => {
  const service = await boundedService(t, "sqlite");
  const quiet = await open(t, service, "127.0.0.2");
  const waster = await open(t, service, "127.0.0.2");
  waster.write("GET /api/health HTTP/1.1\r\nx: ");
  while (await new Promise((resolve) => waster.write("y", (error) => resolve(!error))));
  const closedMs = performance.now();
  quiet.write(`GET /api/health HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${service.honest.key}\r\n\r\n`);
  const [answer] = (await once(quiet, "data")) as [Buffer];
  assert.match(String(answer), /^HTTP\/1\.1 200/);
  while (performance.now() - closedMs < 13_000) {
    const again = connectTcp({ host: "127.0.0.1", port: service.port, localAddress: "127.0.0.2" });
    const socket = connect({ socket: again, ca: service.ca, servername: "localhost" });
    t.after(() => socket.destroy());
    const opened = await new Promise((resolve) => {
      socket.on("error", () => resolve(false)).once("secureConnect", () => resolve(true));
    });
    if (!opened) await sleep(100);
    else return t.diagnostic(`${Math.round(performance.now() - closedMs)} ms`);
  }
  assert.fail("refused for 13 s");
});

test("5,000 requests of 150 bytes on one connection pass", LIMIT, async (t) => {
  const service = await boundedService(t, "sqlite");
  const socket = await open(t, service, "127.0.0.2");
  let [closed, answers] = [false, 0];
  socket.once("close", () => {
    closed = true;
  });
  socket.on("data", () => answers++);
  const request = `GET /api/health HTTP/1.1\r\nhost: localhost\r\nx: ${"x".repeat(90)}\r\n\r\n`;
  for (let sent = 0; sent < 5_000 && !closed; sent++) {
    const answered = once(socket, "data");
    socket.write(request);
    await answered;
  }
  assert.ok(!closed && answers >= 5_000, `${answers} responses`);
});

/** A text message of a WebSocket client, with a mask of zeroes. */
function message(value: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(value));
  assert.ok(text.length < 126);
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), text]);
}

async function sendShortMessages(t: TestContext, service: BoundedService): Promise<void> {
  const socket = await open(t, service, "127.0.0.2");
  const key = Buffer.alloc(16).toString("base64");
  const head = `GET ${PISTON_CONNECT} HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${service.attacker.key}\r\n`;
  const upgrade = `connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${key}`;
  socket.write(`${head}${upgrade}\r\n\r\n`);
  assert.match(String((await once(socket, "data"))[0]), /^HTTP\/1\.1 101/);
  const send = (value: unknown) => new Promise((resolve) => socket.write(message(value), (error) => resolve(!error)));
  await send({ type: "init", language: "python", version: "*", files: [{ content: "input()" }] });
  for (let sent = 0; sent < 8_000; sent++)
    assert.ok(await send({ type: "data", stream: "stdin", data: "x" }), `${sent}`);
}

test("short messages of WebSockets cost others of their address nothing", { timeout: 120_000 }, async (t) => {
  // If the runs ended, the service would close the connections, because they go on sending.
  const service = await boundedService(t, "sqlite", "stay");
  await Promise.all([1, 2, 3, 4].map(() => sendShortMessages(t, service)));
  for (let i = 0; i < 3; i++) {
    const other = await open(t, service, "127.0.0.2");
    other.write(`GET /api/health HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${service.honest.key}\r\n\r\n`);
    assert.match(String((await once(other, "data"))[0]), /^HTTP\/1\.1 200/);
  }
});
