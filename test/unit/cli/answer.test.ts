import assert from "node:assert/strict";
import { test } from "node:test";
import { table } from "../../../src/cli/answer.ts";

test("a table cell cannot control the terminal or end its line", () => {
  const shown = table(["NAME", "URL"], [["a\x1b[2J\r\n\t\u202e\u2028b", "https://é.example/"]]);
  assert.equal(shown.split("\n")[1], "a\\u{1b}[2J\\u{d}\\u{a}\\u{9}\\u{202e}\\u{2028}b  https://é.example/");
  assert.equal(shown.split("\n").length, 2);
});

test("a table can have any number of rows", () => {
  const rows = Array.from({ length: 200_000 }, (_, n) => [`${n}`]);
  assert.equal(table(["N"], rows).split("\n").length, 200_001);
});
