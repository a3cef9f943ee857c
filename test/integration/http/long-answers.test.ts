import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fastify, { type FastifyReply } from "fastify";
import { jsonPieces, LongText } from "../../../src/domain/json-pieces.ts";
import { NO_METER } from "../../../src/domain/meter.ts";
import { toRecord } from "../../../src/domain/record.ts";
import { EventLoopTurns } from "../../../src/fairness/turn.ts";
import { checkShape, MAX_DEPTH, MAX_VALUES } from "../../../src/http/body/json-shape.ts";
import { endSlowReader } from "../../../src/http/responses/drain.ts";
import { LongAnswers } from "../../../src/http/responses/long-answers.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { Raw } from "../../support/http/raw.ts";
import { runPending, startHttp } from "../../support/http/running.ts";
import { report } from "../../support/verdict/reports.ts";

const LIMIT = { timeout: 60_000 };

test("JSON in pieces equals the JSON of the whole, for any program output", () => {
  const outputs = ["", "plain", "é€𝄞".repeat(9_000), '\u0001\u2028"\\', `${"x".repeat(8_191)}𝄞`].map((s) =>
    Buffer.from(s),
  );
  for (const bytes of [...outputs, randomBytes(50_000), Buffer.from([0xef, 0xbb, 0xbf, 0x41, 0xf0, 0x9d])]) {
    for (const cut of [false, true]) {
      const whole = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: cut });
      const value = { a: [1, new LongText(bytes, cut), null], b: undefined, c: { d: new LongText(bytes, cut) } };
      const pieces = [...jsonPieces(value)];
      assert.equal(pieces.join(""), JSON.stringify({ a: [1, whole, null], c: { d: whole } }));
      assert.ok(pieces.every((piece) => piece.length <= 7 * 8_192));
    }
  }
});

test("sends a long record unchanged", LIMIT, async (t) => {
  const { submit, store, ask } = await startHttp(t);
  const { id } = (await submit()).json;
  const [stdout, stderr] = [randomBytes(300_000), Buffer.alloc(300_000, 1)];
  await runPending(store, () => buildOutcome({ execute: report({ stdout, stderr }) }));
  const { status, text, headers } = await ask({ path: `/api/result/${id}` });
  assert.equal(status, 200);
  assert.equal(headers["content-type"], "application/json; charset=utf-8");
  const accountId = (await store.accounts.list())[0]?.id ?? "";
  const submission = (await store.submissions.get(id, accountId)) ?? assert.fail();
  assert.equal(text, JSON.stringify(toRecord(submission)));
});

test("disconnects a client that reads a long response too slowly, and releases what it held", LIMIT, async (t) => {
  const drain = { windowMs: 500, leastBytes: 500_000 };
  const { submit, store, key, port, caPath, times } = await startHttp(t, { drain });
  const { id } = (await submit()).json;
  const output = Buffer.alloc(1_048_576, 1);
  await runPending(store, () => buildOutcome({ execute: report({ stdout: output, stderr: output }) }));
  const raw = Raw.secure(port, caPath);
  raw.write(
    `GET /api/result/${id} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${await key({ account: "key 0" })}\r\n\r\n`,
  );
  await once(raw.socket, "data");
  raw.socket.pause();
  while (times("connectionsRefused reading") === 0) await sleep(50);
  raw.socket.resume();
  assert.ok((await raw.ended).length < 12_000_000);
});

test("a value of many short texts arrives unchanged, and counts until its reader has it", LIMIT, async (t) => {
  const answers = new LongAnswers(new EventLoopTurns(), NO_METER);
  const server = fastify();
  const value = { messages: Array.from({ length: 100_000 }, (_, at) => `é𝄞 ${at}`) };
  server.get("/", (_, reply) => answers.send("account a", reply as unknown as FastifyReply, value));
  const origin = await server.listen({ port: 0, host: "127.0.0.1" });
  t.after(() => server.close());
  assert.deepEqual(await (await fetch(origin)).json(), value);
  while (answers.budget.held > 0) await sleep(10);
  const raw = Raw.plain(Number(new URL(origin).port));
  raw.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(raw.socket, "data");
  raw.socket.pause();
  const bytes = Buffer.byteLength(JSON.stringify(value));
  assert.equal(answers.budget.heldBy("account a"), bytes);
  raw.socket.destroy();
  while (answers.budget.held > 0) await sleep(10);
});

test("a closed response has no slow reader", LIMIT, async (t) => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const raw = Raw.plain((server.address() as AddressInfo).port);
  raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const [, response] = (await once(server, "request")) as [unknown, ServerResponse];
  raw.socket.destroy();
  await once(response, "close");
  let ended = 0;
  endSlowReader(response, { windowMs: 10, leastBytes: 1 }, () => ended++);
  await sleep(100);
  assert.equal(ended, 0);
});

test("checks JSON before it is parsed", () => {
  const refused = (text: string, error: RegExp) => assert.throws(() => checkShape(Buffer.from(text)), error);
  assert.equal(checkShape(Buffer.from('{"a":"[[[\\"{,:","b":{"c":1}}')), 3);
  assert.equal(checkShape(Buffer.from(`${"[".repeat(MAX_DEPTH)}${"]".repeat(MAX_DEPTH)}`)), 0);
  refused("[".repeat(MAX_DEPTH + 1), /nested more than 8 levels/);
  refused(`[${"0,".repeat(MAX_VALUES)}0]`, new RegExp(`more than ${MAX_VALUES} values`));
  assert.equal(checkShape(Buffer.from('{"a": -1.5e+10, "b": [true, null], "c": 12345678901234567890}')), 3);
  refused(`{"a": ${"1".repeat(33)}}`, /not valid JSON/);
  refused('{"a":"', /not valid JSON/);
  refused('{"a":"\\', /not valid JSON/);
});
