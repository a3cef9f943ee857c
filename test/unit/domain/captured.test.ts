import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Captured } from "../../../src/domain/captured.ts";

test("captures pieces of any size in order", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 6000 }), { maxLength: 20 }), (pieces) => {
      const captured = new Captured();
      for (const piece of pieces) captured.push(Buffer.from(piece));
      assert.deepEqual(captured.bytes(), Buffer.concat(pieces));
    }),
  );
});

test("copies a piece, so that the caller can overwrite it", () => {
  const captured = new Captured();
  const piece = Buffer.from("kept");
  captured.push(piece);
  piece.fill("x");
  assert.equal(captured.bytes().toString(), "kept");
});
