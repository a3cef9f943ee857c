import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Captured } from "../../src/sandbox/captured.ts";

test("what is captured is what was pushed, in order, whatever the sizes of the pieces", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 6000 }), { maxLength: 20 }), (pieces) => {
      const captured = new Captured();
      for (const piece of pieces) captured.push(Buffer.from(piece));
      assert.deepEqual(captured.bytes(), Buffer.concat(pieces));
    }),
  );
});

test("a piece may be overwritten after it was pushed", () => {
  const captured = new Captured();
  const piece = Buffer.from("kept");
  captured.push(piece);
  piece.fill("x");
  assert.equal(captured.bytes().toString(), "kept");
});
