import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Coloured, readColours, styleAt, styleNames } from "../../../dashboard/src/components/editor/ansi.ts";
import { cpuMs } from "../../support/cpu-time.ts";

/** The text in pieces with their words. */
function piecesOf({ text, starts, styles }: Coloured): readonly string[] {
  return [0, ...starts].map((start, i) => {
    const words = i === 0 ? [] : styleNames(styles[i - 1] ?? 0);
    return `${text.slice(start, starts[i] ?? text.length)}|${words.join(" ")}`;
  });
}

const read = (text: string) => piecesOf(readColours(text)).filter((piece) => !piece.startsWith("|"));

test("colours and styles are apart from the text, until they end", () => {
  assert.deepEqual(read("a\x1b[1;31mb\x1b[0mc"), ["a|", "b|bold red", "c|"]);
  assert.deepEqual(read("\x1b[1;2mx\x1b[22;3;4;9my\x1b[23;24;29mz"), [
    "x|bold faint",
    "y|italic underline strike",
    "z|",
  ]);
  assert.deepEqual(read("\x1b[92mx\x1b[39my\x1b[m"), ["x|green", "y|"]);
  assert.deepEqual(read("\x1b[38;5;196mr\x1b[38;2;10;200;20mg\x1b[38:5:250mgrey"), ["r|red", "g|green", "grey|"]);
});

test("text is never hidden: neither by backgrounds nor concealed", () => {
  assert.deepEqual(read("\x1b[30;40;8mx\x1b[48;2;0;0;0;38;2;0;0;0my"), ["x|black", "y|"]);
});

test("every other sequence stays text, with its control character", () => {
  for (const text of [
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1b[31",
    "\x1b[",
    "\x1b",
    "\x1b[31\x1b[",
    "\x1b[?25l",
    `\x1b[${"1;".repeat(33)}m`,
  ])
    assert.deepEqual(readColours(text), { text, starts: [], styles: [] }, JSON.stringify(text));
  assert.deepEqual(read("\x1b[\x1b[31mx"), ["\x1b[|", "x|red"]);
});

test("any text: only whole colour sequences are left out, and the styles are in order", () => {
  const part = fc.constantFrom("\x1b[", "31", ";", "m", "\x1b[0m", "\x1b[1;32m", "x", "\n", "\x1b", "é");
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const text = parts.join("");
      const { text: shown, starts, styles } = readColours(text);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it begins with one
      assert.equal(shown, text.replace(/\x1b\[[\d;:]{0,64}m/g, ""));
      assert.equal(starts.length, styles.length);
      starts.forEach((start, i) => {
        assert.ok(start >= 0 && start <= shown.length && (i === 0 || start > (starts[i - 1] ?? 0)));
        assert.equal(styleAt(starts, start), i);
      });
      assert.equal(styleAt(starts, -1), -1);
    }),
  );
});

for (const [name, text] of Object.entries({
  "500,000 colours": "\x1b[31mx\x1b[0m".repeat(250_000),
  "500,000 without text": "\x1b[31m\x1b[32m".repeat(250_000),
  "unfinished ones": "\x1b[1;".repeat(250_000),
  "one long line": "x".repeat(1_048_576),
  "one long sequence": `\x1b[${"1;".repeat(500_000)}m`,
})) {
  test(`hostile output is read in bounded time and size: ${name}`, () => {
    const before = cpuMs();
    const { starts } = readColours(text);
    assert.ok(cpuMs() - before < 1_500);
    assert.ok(starts.length <= text.length / 5);
  });
}
