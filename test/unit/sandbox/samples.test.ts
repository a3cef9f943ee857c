import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MAX_SAMPLES } from "../../../src/domain/samples.ts";
import { decodeSamples } from "../../../src/sandbox/report.ts";
import { ProtocolError } from "../../../src/sandbox/wire.ts";
import { refused } from "../../support/sandbox/frames.ts";

type Reading = readonly [at: number | bigint, cpu: number | bigint, memory: number | bigint];

function bytesOf(...readings: readonly Reading[]): Buffer {
  const bytes = Buffer.alloc(readings.length * 24);
  readings.flat().forEach((value, i) => {
    bytes.writeBigUInt64LE(BigInt(value), i * 8);
  });
  return bytes;
}

test("decodes time, CPU time and memory of each sample", () => {
  assert.deepEqual(decodeSamples(Buffer.alloc(0)), []);
  assert.deepEqual(decodeSamples(bytesOf([10_000, 0, 4_096], [20_001, 9_000, 0])), [
    { atUsec: 10_000, cpuUsec: 0, memoryBytes: 4_096 },
    { atUsec: 20_001, cpuUsec: 9_000, memoryBytes: 0 },
  ]);
});

test("refuses part of a sample, more samples than the most, and numbers that are too large", () => {
  const many = (count: number) => bytesOf(...Array.from({ length: count }, (_, i) => [i, i, i] as const));
  assert.equal(decodeSamples(many(MAX_SAMPLES)).length, MAX_SAMPLES);
  assert.throws(() => decodeSamples(many(MAX_SAMPLES + 1)), refused("SAMPLES of 3096 bytes"));
  assert.throws(() => decodeSamples(many(2).subarray(1)), refused("SAMPLES of 47 bytes"));
  for (const place of [0, 1, 2])
    assert.throws(
      () => decodeSamples(bytesOf([0, 1, 2].map((i) => (i === place ? 1n << 63n : 0)) as unknown as Reading)),
      refused("SAMPLES with too large a number"),
    );
});

test("refuses times that do not increase, and CPU time that decreases", () => {
  assert.throws(() => decodeSamples(bytesOf([5, 0, 0], [5, 0, 0])), refused("SAMPLES whose times do not increase"));
  assert.throws(() => decodeSamples(bytesOf([5, 0, 0], [4, 0, 0])), refused("SAMPLES whose times do not increase"));
  assert.throws(() => decodeSamples(bytesOf([5, 2, 0], [6, 1, 0])), refused("SAMPLES whose CPU time decreases"));
});

test("any bytes are refused or become ordered samples", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 4_000 }), (bytes) => {
      try {
        const samples = decodeSamples(Buffer.from(bytes));
        assert.ok(samples.length <= MAX_SAMPLES);
        assert.ok(samples.every(({ atUsec }, i) => i === 0 || atUsec > (samples[i - 1]?.atUsec ?? 0)));
      } catch (error) {
        assert.ok(error instanceof ProtocolError);
      }
    }),
  );
});
