import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type TLSSocket } from "node:tls";
import { startHttp } from "../../support/http/running.ts";

const LIMIT = { timeout: 30_000 };

/** Sends everything before it reads anything, as many HTTP libraries do. @returns the response. */
async function sendThenRead(port: number, caPath: string, head: string, body: Buffer): Promise<string> {
  const socket: TLSSocket = connect({ host: "127.0.0.1", port, ca: readFileSync(caPath), servername: "localhost" });
  await once(socket, "secureConnect");
  socket.pause();
  const failed = once(socket, "error").then(([error]) => Promise.reject(error));
  const work = async () => {
    socket.write(head);
    for (let at = 0; at < body.length; at += 65_536) {
      const flushed = new Promise((resolve) => socket.write(body.subarray(at, at + 65_536), resolve));
      await flushed;
      if (at % 1_048_576 === 0) await sleep(5);
    }
    let text = "";
    socket.setEncoding("latin1").on("data", (piece: string) => {
      text += piece;
    });
    socket.resume();
    while (!/\r\n\r\n.*}$/s.test(text)) await sleep(10);
    return text;
  };
  try {
    return await Promise.race([work(), failed]);
  } finally {
    socket.on("error", () => {}).destroy();
  }
}

test("a client that is still sending a too large body receives its response, over TLS", LIMIT, async (t) => {
  const { port, caPath, key } = await startHttp(t);
  const mine = await key();
  for (const bytes of [5_000_000, 8_000_000, 20_000_000]) {
    const head = `POST /api/submit HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${mine}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
    for (let n = 0; n < 3; n++) {
      const answer = await sendThenRead(port, caPath, head, Buffer.alloc(bytes, 0x20));
      assert.match(answer, /^HTTP\/1\.1 400 .*request body must be at most 4194304 bytes/s);
    }
  }
});

test("a client that is still sending too large headers receives its response, over TLS", LIMIT, async (t) => {
  const { port, caPath } = await startHttp(t);
  for (let n = 0; n < 5; n++) {
    const head = "GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-Long: ";
    assert.match(await sendThenRead(port, caPath, head, Buffer.alloc(1_000_000, 0x78)), /^HTTP\/1\.1 431 /);
  }
});

test(
  "a client that sends Expect gets the final status at once, and 100 only if the body is accepted",
  LIMIT,
  async (t) => {
    const { port, caPath, key } = await startHttp(t);
    const mine = await key();
    const cases = [
      [mine, 5_000_000, /^HTTP\/1\.1 400 [\s\S]*connection: close/i],
      ["assay_live_wrong", 100, /^HTTP\/1\.1 401 [\s\S]*connection: close/i],
      [mine, 2, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 400 /],
    ] as const;
    for (const [known, bytes, expected] of cases) {
      const socket = connect({ host: "127.0.0.1", port, ca: readFileSync(caPath), servername: "localhost" });
      let text = "";
      socket.setEncoding("latin1").on("data", (piece: string) => {
        text += piece;
        if (text === "HTTP/1.1 100 Continue\r\n\r\n") socket.write("{}");
      });
      socket.write(
        `POST /api/submit HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${known}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${bytes}\r\n\r\n`,
      );
      while (!text.endsWith("}")) await sleep(10);
      assert.match(text, expected);
      socket.destroy();
    }
  },
);
