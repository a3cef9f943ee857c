import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  encodeHeader,
  encodeQuery,
  encodeWorkerFrame,
  HEADER_BYTES,
  type Header,
  parseHeader,
  queryFrames,
  textOf,
  workerFrames,
} from "../../../src/egress/protocol.ts";
import { destinationBytes } from "../../support/egress/relay.ts";

const TOKEN = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-0123";
const HEADER: Header = {
  kind: "stream",
  token: TOKEN,
  streamId: 0x0102030405060708n,
  cgroupId: 0x1112131415161718n,
  destination: destinationBytes("198.18.1.0"),
  port: 443,
  sourcePort: 40_000,
};

test("the header of a stream has exactly the bytes of the description", () => {
  const expected = Buffer.concat([
    Buffer.from("ASEG"),
    Buffer.of(1, 1, 0, 0),
    Buffer.from(TOKEN),
    Buffer.from("01020304050607081112131415161718", "hex"),
    Buffer.from("00000000000000000000ffffc6120100", "hex"),
    Buffer.of(443 >> 8, 443 & 255, 40_000 >> 8, 40_000 & 255, 0, 0, 0, 0),
  ]);
  assert.equal(expected.length, HEADER_BYTES);
  assert.deepEqual(encodeHeader(HEADER), expected);
  assert.deepEqual(parseHeader(expected), HEADER);
});

test("the header of a control connection has a token and nothing else", () => {
  const control = encodeHeader({ kind: "control", token: TOKEN });
  assert.deepEqual(parseHeader(control), { kind: "control", token: TOKEN });
  for (let at = 40; at < HEADER_BYTES; at++) {
    const bytes = Buffer.from(control);
    bytes[at] = 1;
    assert.equal(parseHeader(bytes), null, `byte ${at}`);
  }
});

test("frames have exactly the bytes of the description", () => {
  const query = { queryId: 0x0102030405060708n, cgroupId: 9n, sourcePort: 0x1234, datagram: Buffer.from("dns") };
  assert.equal(
    encodeQuery(query).toString("hex"),
    "0019" + "0100" + "1234" + "0000" + "0102030405060708" + "0000000000000009" + "646e73",
  );
  const answer = { type: "answer", queryId: 0x0102030405060708n, datagram: Buffer.from("dns") } as const;
  assert.equal(encodeWorkerFrame(answer).toString("hex"), "0011" + "0200" + "00000000" + "0102030405060708" + "646e73");
  const reset = { type: "reset", streamId: 0x0102030405060708n } as const;
  assert.equal(encodeWorkerFrame(reset).toString("hex"), "000e" + "0300" + "00000000" + "0102030405060708");
});

test("frames arrive as they were sent, however they are split", () => {
  const query = fc.record(
    {
      queryId: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      cgroupId: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      sourcePort: fc.nat(65_535),
      datagram: fc.uint8Array({ maxLength: 4_096 }).map((bytes) => Buffer.from(bytes)),
    },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(fc.array(query, { maxLength: 5 }), fc.integer({ min: 1, max: 5_000 }), (queries, size) => {
      const [fromRelay, fromWorker] = [queryFrames(), workerFrames()];
      const relayBytes = Buffer.concat(queries.map(encodeQuery));
      const sent = queries.flatMap(({ queryId, datagram }) => [
        { type: "answer", queryId, datagram } as const,
        { type: "reset", streamId: queryId } as const,
      ]);
      const workerBytes = Buffer.concat(sent.map(encodeWorkerFrame));
      const read = <Frame>(frames: { push(chunk: Buffer): void; next(): Frame | undefined | null }, bytes: Buffer) => {
        const found: Frame[] = [];
        for (let at = 0; at < bytes.length; at += size) {
          frames.push(bytes.subarray(at, at + size));
          for (let frame = frames.next(); frame; frame = frames.next()) found.push(frame);
        }
        return found;
      };
      assert.deepEqual(read(fromRelay, relayBytes), queries);
      assert.deepEqual(read(fromWorker, workerBytes), sent);
    }),
    { numRuns: 100 },
  );
});

test("any bytes are a frame, not complete, or not valid", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.integer({ min: 0, max: 40 }), (bytes, length) => {
      for (const frames of [queryFrames(), workerFrames()]) {
        frames.push(Buffer.from([0, length, ...bytes]));
        const frame = frames.next();
        if (frame === undefined) assert.ok(bytes.length < length);
      }
    }),
    { numRuns: 2_000 },
  );
  for (const frames of [queryFrames(), workerFrames()]) {
    frames.push(Buffer.of(0x20, 0));
    assert.equal(frames.next(), null, "a frame that is too long is refused by its length");
  }
});

test("any bytes are a valid header or null, and a valid one is written in the same way", () => {
  const valid = encodeHeader(HEADER);
  const mutated = fc.array(fc.tuple(fc.nat(79), fc.nat(255)), { maxLength: 3 }).map((changes) => {
    const bytes = Buffer.from(valid);
    for (const [at, value] of changes) bytes[at] = value;
    return bytes;
  });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ minLength: 80, maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
        mutated,
      ),
      (bytes) => {
        const header = parseHeader(bytes);
        if (header) assert.deepEqual(encodeHeader(header), bytes);
      },
    ),
    { numRuns: 3_000 },
  );
});

test("writes addresses in their usual notation, IPv4-mapped ones in decimal", () => {
  for (const text of [
    "198.18.1.0",
    "0.0.0.0",
    "255.255.255.255",
    "fd00:a55a::100",
    "::",
    "::1",
    "::7f00:1",
    "64:ff9b::7f00:1",
    "2001:db8:0:1::",
  ])
    assert.equal(textOf(destinationBytes(text)), text);
  assert.equal(textOf(destinationBytes("::ffff:127.0.0.1")), "127.0.0.1");
});
