import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FRAMES, type FrameName, KEYS, type KeyName } from "../../../src/sandbox/protocol.ts";
import { Entries, type Frame, FrameReader, FrameWriter, ProtocolError } from "../../../src/sandbox/wire.ts";
import { frame, refused, rows, torn } from "../../support/sandbox/frames.ts";

/** An arbitrary frame: its name, and values for all required and some optional keys. */
const anyFrame = fc.constantFrom(...(Object.keys(FRAMES) as FrameName[])).chain((name) => {
  const keys = rows(name).map(([key, { type, count }]) => {
    const value: fc.Arbitrary<bigint | Buffer> =
      type === "int"
        ? fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
        : fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
    const [minLength, maxLength] = { one: [1, 1], optional: [0, 1], many: [0, 4] }[count] as [number, number];
    return fc.array(value, { minLength, maxLength }).map((values) => values.map((v) => [key, v] as const));
  });
  return fc.tuple(...keys).map((entries) => ({ name, entries: entries.flat() }));
});

function written({ name, entries }: { name: FrameName; entries: readonly (readonly [KeyName, bigint | Buffer])[] }) {
  const writer = new FrameWriter(name);
  for (const [key, value] of entries) {
    if (typeof value === "bigint") writer.int(key, value);
    else writer.bytes(key, value);
  }
  return writer.end();
}

/** Splits `bytes` at the given places; pieces can be empty. */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

/** A frame of output, which can be empty. */
function stream(name: "STDOUT" | "STDERR", bytes: Buffer): Buffer {
  const header = Buffer.from([0, 0, 0, 0, FRAMES[name]]);
  header.writeUInt32LE(bytes.length);
  return Buffer.concat([header, bytes]);
}

function read(chunks: readonly Buffer[]): Frame[] {
  const reader = new FrameReader();
  return chunks.flatMap((chunk) => [...reader.push(chunk)]);
}

test("reads everything that was written, however the stream is split", () => {
  const cuts = fc.array(fc.nat(), { maxLength: 30 });
  fc.assert(
    fc.property(fc.array(anyFrame, { maxLength: 4 }), cuts, (frames, places) => {
      const got = read(pieces(Buffer.concat(frames.map(written)), places));
      assert.deepEqual(
        got.map(({ name }) => name),
        frames.map(({ name }) => name),
      );
      for (const [index, { entries }] of frames.entries()) {
        const decoded = new Entries(got[index] as Frame);
        for (const [key, { type }] of rows(frames[index]?.name as FrameName)) {
          const values = entries.filter(([name]) => name === key).map(([, value]) => value);
          if (type === "int") assert.equal(decoded.big(key), values[0] ?? null, key);
          else assert.deepEqual(decoded.texts(key), values.map(String), key);
        }
      }
    }),
    { numRuns: 200 },
  );
});

test("large values are pieces of their own, so that they are not copied", () => {
  const large = Buffer.alloc(65_536, "x");
  for (const value of [large, large.toString()]) {
    const sent = new FrameWriter("FILE")
      .bytes("LEFT_NAME", "é")
      .bytes("LEFT_DATA", value)
      .int("LEFT_MODE", 2 ** 40 + 3);
    const pieces = sent.pieces();
    if (value === large) assert.equal(pieces[1], large);
    assert.deepEqual(
      pieces.map(({ length }) => length),
      [5 + 7 + 5, 65_536, 13],
    );
    const entries = new Entries(read(pieces)[0] as Frame);
    assert.equal(entries.text("LEFT_NAME"), "é");
    assert.ok(entries.bytes("LEFT_DATA").equals(large));
    assert.equal(entries.int("LEFT_MODE"), 2 ** 40 + 3);
  }
});

test("refuses to write a number that is no integer of 64 bits", () => {
  for (const value of [0.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 64, -1n, 2n ** 64n])
    assert.throws(() => new FrameWriter("STEP").int("WALL_MS", value), RangeError, String(value));
});

test("reads single bytes like one chunk", () => {
  const bytes = Buffer.concat([torn(), frame("STDOUT", Buffer.from("é")), torn()]);
  assert.deepEqual(read([...bytes].map((byte) => Buffer.from([byte]))), read([bytes]));
});

test("passes output on in parts of the chunks in which it comes, and all other frames whole", () => {
  const output = Buffer.from(Array.from({ length: 1_000 }, (_, at) => at % 251));
  const cuts = fc.array(fc.nat(), { maxLength: 30 });
  fc.assert(
    fc.property(cuts, fc.nat({ max: output.length }), (places, first) => {
      const [begin, rest] = [output.subarray(0, first), output.subarray(first)];
      const sent = [frame("STDERR", Buffer.from("x")), torn(), stream("STDOUT", begin), stream("STDOUT", rest), torn()];
      const chunks = pieces(Buffer.concat(sent), places);
      const reader = new FrameReader({ inParts: true });
      const got = chunks.flatMap((chunk) => [...reader.push(chunk)]);
      const bytes = (name: FrameName) => Buffer.concat(got.filter((one) => one.name === name).map(({ body }) => body));
      assert.deepEqual([bytes("STDOUT"), bytes("STDERR")], [output, Buffer.from("x")]);
      const others = got.filter(({ name }) => name === "TEARDOWN");
      assert.deepEqual(
        others.map(({ body }) => body),
        [torn().subarray(5), torn().subarray(5)],
      );
      assert.ok(got.indexOf(others[0] as Frame) < got.findIndex(({ name }) => name === "STDOUT"));
      assert.equal(got.at(-1), others[1]);
    }),
    { numRuns: 300 },
  );
});

test("invalid bytes cause only ProtocolError", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(...Object.keys(FRAMES)), (bytes, name) => {
      for (const work of [
        () => read([Buffer.from(bytes)]),
        () => new Entries({ name: name as FrameName, body: Buffer.from(bytes) }),
      ]) {
        try {
          work();
        } catch (error) {
          if (!(error instanceof ProtocolError)) throw error;
        }
      }
    }),
    { numRuns: 500 },
  );
});

test("waits for the rest of an incomplete frame", () => {
  const bytes = torn();
  const reader = new FrameReader();
  assert.deepEqual([...reader.push(bytes.subarray(0, bytes.length - 1))], []);
  assert.deepEqual(
    [...reader.push(bytes.subarray(bytes.length - 1))].map(({ name }) => name),
    ["TEARDOWN"],
  );
});

test("rejects an unknown frame by its header", () => {
  for (const number of [0, Math.max(...Object.values(FRAMES)) + 1, 255]) {
    assert.throws(() => read([Buffer.from([0, 0, 0, 0, number])]), refused(`unknown frame ${number}`));
  }
});

test("accepts a frame of 16 MiB and 1 KiB and rejects one more byte by the header", () => {
  const header = Buffer.from([0, 0, 0, 0, FRAMES.STDOUT]);
  header.writeUInt32LE((1 << 24) + 1024);
  assert.deepEqual(read([header]), []);
  header.writeUInt32LE((1 << 24) + 1025);
  assert.throws(() => read([header]), refused("a STDOUT frame of 16778241 bytes"));
});

const withBody = (name: FrameName, ...parts: Buffer[]) => ({ name, body: Buffer.concat(parts) });
const body = (bytes: Buffer) => bytes.subarray(5);

/** One entry as bytes, with any key number and any length in its header. */
function entry(key: number, value: Buffer, length = value.length): Buffer {
  const head = Buffer.from([key, 0, 0, 0, 0]);
  head.writeUInt32LE(length, 1);
  return Buffer.concat([head, value]);
}

test("rejects a truncated entry", () => {
  assert.throws(
    () => new Entries(withBody("TEARDOWN", body(torn()), Buffer.alloc(4))),
    refused("truncated entry in TEARDOWN"),
  );
  const long = entry(KEYS.GROUP_LEFT.number, Buffer.from("abc"), 4);
  assert.throws(
    () => new Entries(withBody("TEARDOWN", body(torn()), long)),
    refused("GROUP_LEFT is longer than its frame"),
  );
  const huge = entry(KEYS.GROUP_LEFT.number, Buffer.from("abc"), 0xffff_ffff);
  assert.throws(
    () => new Entries(withBody("TEARDOWN", body(torn()), huge)),
    refused("GROUP_LEFT is longer than its frame"),
  );
});

test("rejects an unknown key and a key of another frame", () => {
  const unknown = entry(250, Buffer.alloc(8));
  assert.throws(() => new Entries(withBody("TEARDOWN", body(torn()), unknown)), refused("key 250 in TEARDOWN"));
  const foreign = entry(KEYS.WALL_NS.number, Buffer.alloc(8));
  assert.throws(() => new Entries(withBody("TEARDOWN", body(torn()), foreign)), refused("key 66 in TEARDOWN"));
});

test("rejects a number with the wrong size", () => {
  for (const size of [0, 4, 7, 9]) {
    const short = entry(KEYS.POPULATED.number, Buffer.alloc(size));
    assert.throws(() => new Entries(withBody("TEARDOWN", body(torn()), short)), refused("POPULATED is not 8 bytes"));
  }
});

test("rejects a second value of a single key, and keeps repeated keys in order", () => {
  for (const name of Object.keys(FRAMES) as FrameName[]) {
    for (const [key, { number, type, count }] of rows(name)) {
      const once = body(frame(name));
      const value = Buffer.alloc(type === "int" ? 8 : 1, "x");
      const more = [entry(number, value), entry(number, value)];
      if (count === "many") assert.deepEqual(new Entries(withBody(name, once, ...more)).texts(key), ["x", "x"]);
      else assert.throws(() => new Entries(withBody(name, once, ...more)), refused(`${key} twice in ${name}`));
    }
  }
});

test("requires exactly the required keys", () => {
  for (const name of Object.keys(FRAMES) as FrameName[]) {
    for (const [left, { count }] of rows(name)) {
      const decode = () => new Entries({ name, body: body(frame(name, Buffer.alloc(0), left)) });
      if (count === "one") assert.throws(decode, refused(`${name} without ${left}`));
      else assert.equal(decode().optionalText(left), null);
    }
  }
});

test("numbers of frames and of keys are unique and fit a byte", () => {
  const frames = Object.values(FRAMES);
  const keys = Object.values(KEYS).map(({ number }) => number);
  for (const numbers of [frames, keys] as readonly (readonly number[])[]) {
    assert.equal(new Set(numbers).size, numbers.length);
    assert.ok(numbers.every((number) => number > 0 && number < 256));
  }
});
