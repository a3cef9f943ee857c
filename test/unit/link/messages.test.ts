import assert from "node:assert/strict";
import { randomBytes, randomInt } from "node:crypto";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { CutOff, MessageReader, MessageWriter, PIECE_BYTES, ProtocolViolation } from "../../../src/link/messages.ts";

const admit = async () => () => {};

function reading(bytes: Buffer, atOnce = bytes.length, end = true) {
  const stream = new PassThrough();
  for (let at = 0; at < bytes.length; at += atOnce) stream.write(bytes.subarray(at, at + atOnce));
  if (end) stream.end();
  return new MessageReader(stream, admit);
}

function message(kind: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content);
  const header = Buffer.alloc(5);
  header.writeUInt8(kind, 0);
  header.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([header, bytes]);
}

async function written(write: (writer: MessageWriter) => Promise<void>): Promise<Buffer> {
  const stream = new PassThrough({ highWaterMark: 2 ** 24 });
  await write(new MessageWriter(stream));
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

test("messages arrive as they were sent, however they are cut into pieces", async () => {
  const long = randomBytes(PIECE_BYTES + 77);
  const bytes = await written(async (writer) => {
    await writer.value({ a: [1, "ü"] });
    await writer.bytes(long);
    await writer.value(null);
    writer.end();
  });
  for (const atOnce of [1, 7, 4096, bytes.length]) {
    const reader = reading(bytes, atOnce);
    assert.deepEqual(await reader.next(100), { kind: "value", value: { a: [1, "ü"] } });
    const pieces: Buffer[] = [];
    for (let size = 0; size < long.length; ) {
      const piece = await reader.next(100);
      assert.ok(piece.kind === "bytes" && piece.bytes.length <= PIECE_BYTES);
      pieces.push(Buffer.from(piece.bytes));
      size += piece.bytes.length;
    }
    assert.ok(Buffer.concat(pieces).equals(long));
    assert.deepEqual(await reader.next(100), { kind: "value", value: null });
    assert.deepEqual(await reader.next(100), { kind: "end" });
  }
});

test("a direction without its end was cut off", async () => {
  await assert.rejects(reading(message(1, "{}").subarray(0, 4)).next(100), CutOff);
  await assert.rejects(reading(message(1, "{}").subarray(0, 6)).next(100), CutOff);
  const reader = reading(message(2, "piece"));
  const pieces = reader.pieces();
  assert.equal((await pieces.next()).value?.toString(), "piece");
  await assert.rejects(pieces.next(), CutOff);
});

test("unknown kinds, long messages and values that are no JSON violate the protocol, before their content is read", async () => {
  const header = (kind: number, length: number) => {
    const bytes = Buffer.alloc(5);
    bytes.writeUInt8(kind, 0);
    bytes.writeUInt32BE(length, 1);
    return bytes;
  };
  for (const bytes of [
    header(0, 0),
    header(9, 1),
    header(1, 101),
    header(2, PIECE_BYTES + 1),
    header(3, 1),
    header(4, 9_000),
    header(1, 0xffff_ffff),
    message(1, "{"),
    message(1, ""),
    message(4, "no"),
  ])
    await assert.rejects(reading(bytes, bytes.length, false).next(100), ProtocolViolation);
});

test("a value waits until there is memory for it, and nothing of it is read before", async () => {
  const stream = new PassThrough();
  const room = Promise.withResolvers<() => void>();
  const asked: number[] = [];
  let isGivenBack = false;
  const reader = new MessageReader(stream, (bytes) => {
    asked.push(bytes);
    return room.promise;
  });
  const value = JSON.stringify("x".repeat(50_000));
  stream.write(message(1, value));
  const next = reader.next(100_000);
  await new Promise(setImmediate);
  assert.deepEqual(asked, [value.length]);
  room.resolve(() => {
    isGivenBack = true;
  });
  assert.deepEqual(await next, { kind: "value", value: "x".repeat(50_000) });
  assert.equal(isGivenBack, true);
});

test("random bytes are read to an error of the protocol or to their end, and nothing else", async () => {
  for (let round = 0; round < 2_000; round++) {
    const bytes = randomBytes(randomInt(1, 64));
    // Half of them begin with a known kind and a short length.
    if (round % 2 === 0) bytes.set([randomInt(1, 5), 0, 0, 0, randomInt(0, 20)].slice(0, bytes.length));
    const reader = reading(bytes, randomInt(1, 9));
    try {
      while ((await reader.next(1_000)).kind !== "end");
    } catch (error) {
      assert.ok(error instanceof ProtocolViolation || error instanceof CutOff, String(error));
    }
  }
});
