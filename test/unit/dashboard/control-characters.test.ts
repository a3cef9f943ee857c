import assert from "node:assert/strict";
import { test } from "node:test";
import { showControlCharacters } from "../../../dashboard/src/components/editor/control-characters.ts";

const NAMED: readonly [string, string, string][] = [
  ["\0", "NUL", "U+0000"],
  ["\x1b", "ESC", "U+001B"],
  ["\r", "CR", "U+000D"],
  ["\x7f", "DEL", "U+007F"],
  ["\x9b", "U+009B", "U+009B"],
  ["\u202e", "U+202E", "U+202E"],
  ["\u200b", "U+200B", "U+200B"],
  ["\u2028", "U+2028", "U+2028"],
  ["\u2066", "U+2066", "U+2066"],
  ["\ufeff", "U+FEFF", "U+FEFF"],
  ["\u{e0041}", "U+E0041", "U+E0041"],
];

for (const [character, text, control] of NAMED) {
  test(`shows ${control} by name and keeps the surrounding text`, () => {
    assert.deepEqual(showControlCharacters(`a${character}b`), [{ text: "a" }, { text, control }, { text: "b" }]);
  });
}

test("shows text, line feeds, tabs and characters beyond the first plane unchanged", () => {
  const text = "a\tb\nc — ü 漢 😀 \u0301";
  assert.deepEqual(showControlCharacters(text), [{ text }]);
  assert.deepEqual(showControlCharacters(""), []);
});

test("leaves no control character in a piece of text", () => {
  const all = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code)).join("");
  const left = showControlCharacters(all)
    .filter(({ control }) => !control)
    .map(({ text }) => text)
    .join("");
  assert.deepEqual(left.match(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu), ["\t", "\n"]);
});
