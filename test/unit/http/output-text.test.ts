import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { OutputDecoder } from "../../../src/http/api/sandboxes/output-text.ts";

/** All texts of the pieces of some bytes that begin at `from`. */
function textsOf(bytes: Buffer, sizes: readonly number[], from = 0) {
  const decoder = new OutputDecoder();
  const texts = [];
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    texts.push(...decoder.texts(from + at, bytes.subarray(at, at + size)));
    at = Math.min(bytes.length, at + size);
  }
  return [...texts, ...decoder.end()];
}

test("output is decoded alike in whatever pieces it comes, and a reader can begin at the end of each text", () => {
  const bytes = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }).map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)),
  );
  const property = fc.property(bytes, fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 20 }), (all, sizes) => {
    const texts = textsOf(all, sizes);
    assert.equal(texts.map(({ text }) => text).join(""), all.toString());
    let at = 0;
    for (const text of texts) {
      assert.equal(text.at, at);
      at = text.until;
      const rest = textsOf(all.subarray(at), [], at);
      assert.equal(rest.map(({ text }) => text).join(""), all.subarray(at).toString());
    }
    assert.equal(at, all.length);
  });
  fc.assert(property, { numRuns: 500 });
});

test("bytes that were not kept end a character", () => {
  const decoder = new OutputDecoder();
  assert.deepEqual([...decoder.texts(0, Buffer.from([0x61, 0xc3]))], [{ at: 0, text: "a", until: 1 }]);
  assert.deepEqual(
    [...decoder.texts(9, Buffer.from("b"))],
    [
      { at: 1, text: "\ufffd", until: 2 },
      { at: 9, text: "b", until: 10 },
    ],
  );
});
