import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonPieces, LongText } from "../../../src/domain/json-pieces.ts";

test("long lists are divided into pieces, which are the JSON of the value together", () => {
  const list = Array.from({ length: 1_000 }, (_, at) => ({ name: `${at}.example.org`, ports: [at], more: null }));
  const value = { a: 1, egress: { connections: list, empty: [], none: {} }, absent: undefined, b: [null, "x"] };
  const pieces = [...jsonPieces(value)];
  assert.equal(pieces.join(""), JSON.stringify(value));
  assert.ok(pieces.length > 4 && pieces.every((piece) => piece.length < 3 * 8_192));
  const text = { stdout: new LongText(Buffer.from("é".repeat(10_000))), list };
  assert.equal([...jsonPieces(text)].join(""), JSON.stringify({ stdout: "é".repeat(10_000), list }));
});
