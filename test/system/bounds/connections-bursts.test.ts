import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type TLSSocket } from "node:tls";
import { type BoundedService, boundedService } from "./service.ts";

const LIMIT = { timeout: 120_000 };

/** Longest turn of the event loop, as in event-loop.test.ts. */
const MOST_MS = 60;
const TRIES = 3;

async function open(t: TestContext, { port, ca }: BoundedService, from: string): Promise<TLSSocket> {
  const raw = connectTcp({ host: "127.0.0.1", port, localAddress: from });
  const socket = connect({ socket: raw, ca, servername: "localhost" });
  t.after(() => socket.destroy());
  raw.setNoDelay(true);
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket.resume();
}

const get = (key: string) => `GET /api/health HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${key}\r\n\r\n`;

test("a connection with 10,000 requests at once is closed, and does not block the event loop", LIMIT, async (t) => {
  const service = await boundedService(t, "sqlite");
  for (let tries = 1; ; tries++) {
    const socket = await open(t, service, "127.0.0.1");
    const { mostMs } = await service.during(async () => {
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.write(get(service.attacker.spentKey).repeat(10_000));
      await closed;
    });
    t.diagnostic(`longest turn ${mostMs.toFixed(1)} ms`);
    if (mostMs <= MOST_MS) return;
    assert.ok(tries < TRIES, `${mostMs} ms`);
  }
});

test("16 requests at once on one connection all get a response", LIMIT, async (t) => {
  const service = await boundedService(t, "sqlite");
  const socket = await open(t, service, "127.0.0.1");
  let answers = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    answers += text;
  });
  for (let round = 1; round <= 3; round++) {
    socket.write(get(service.honest.key).repeat(16));
    while (answers.split("HTTP/1.1 200").length - 1 < 16 * round) await sleep(5);
  }
});

const inChunks = (key: string, body: string, length: number) =>
  [
    `POST /api/submit HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\n`,
    "transfer-encoding: chunked\r\n\r\n",
    ...(body.match(new RegExp(`.{1,${length}}`, "gs")) ?? []).map(
      (text) => `${text.length.toString(16)}\r\n${text}\r\n`,
    ),
    "0\r\n\r\n",
  ].join("");

test("a connection with a body in 1-byte chunks is closed, and does not block the event loop", LIMIT, async (t) => {
  const service = await boundedService(t, "sqlite");
  for (let tries = 1; ; tries++) {
    const socket = await open(t, service, "127.0.0.1");
    let answer = "";
    socket.on("data", (data) => {
      answer += data;
    });
    const { mostMs } = await service.during(async () => {
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.write(inChunks(service.attacker.key, " ".repeat(500_000), 1));
      await closed;
    });
    t.diagnostic(`longest turn ${mostMs.toFixed(1)} ms`);
    assert.equal(answer, "");
    if (mostMs <= MOST_MS) return;
    assert.ok(tries < TRIES, `${mostMs} ms`);
  }
});

test("a body of 64 KiB in chunks of 16 bytes is read", LIMIT, async (t) => {
  const service = await boundedService(t, "sqlite");
  const socket = await open(t, service, "127.0.0.1");
  const body = JSON.stringify({ language: "python", code: "#".repeat(65_000) });
  socket.write(inChunks(service.honest.key, body, 16));
  const [answer] = (await once(socket, "data")) as [Buffer];
  assert.match(String(answer), /^HTTP\/1\.1 202/);
});
