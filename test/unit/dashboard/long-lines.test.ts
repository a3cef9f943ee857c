import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  continueLines,
  lineNumber,
  originalText,
  shownLine,
  shownPosition,
} from "../../../dashboard/src/components/editor/long-lines.ts";
import { cpuMs } from "../../support/cpu-time.ts";

test("short lines stay as they are", () => {
  assert.deepEqual(continueLines("a\nbc\n", 2), { text: "a\nbc\n", added: [], continuing: [] });
});

test("a long line is continued, and keeps its number", () => {
  const shown = continueLines("a\nbcdef\ng", 2);
  assert.equal(shown.text, "a\nbc\nde\nf\ng");
  assert.deepEqual(
    shown.text.split("\n").map((_, i) => lineNumber(shown, i + 1)),
    [1, 2, null, null, 3],
  );
  assert.deepEqual(
    [1, 2, 3].map((line) => shownLine(shown, line)),
    [1, 2, 5],
  );
});

test("any text: positions, lines and copies are those of the text as it was", () => {
  const part = fc.constantFrom("x", "yy", "\n", "\u{1f600}", "zzzzz");
  fc.assert(
    fc.property(fc.array(part), fc.integer({ min: 2, max: 5 }), (parts, most) => {
      const text = parts.join("");
      const shown = continueLines(text, most);
      for (const line of shown.text.split("\n")) {
        assert.ok(line.length <= most && line.isWellFormed());
      }
      assert.equal(originalText(shown, 0, shown.text.length), text);
      for (let at = 0; at < text.length; at++) {
        assert.equal(shown.text[shownPosition(shown, at)], text[at]);
        const [from, to] = [shownPosition(shown, at), shownPosition(shown, text.length - 1) + 1];
        assert.equal(originalText(shown, from, to), text.slice(at));
      }
      text.split("\n").forEach((line, i) => {
        const at = shownLine(shown, i + 1);
        assert.equal(lineNumber(shown, at), i + 1);
        assert.ok(line.startsWith(shown.text.split("\n")[at - 1] ?? "?"));
      });
    }),
  );
});

for (const text of ["x".repeat(1_048_576), "\n".repeat(1_048_576), `${"x".repeat(1_001)}\n`.repeat(1_000)])
  test(`a text of ${text.length} characters is continued in bounded time: ${JSON.stringify(text.slice(0, 3))}`, () => {
    const before = cpuMs();
    assert.ok(
      continueLines(text)
        .text.split("\n")
        .every(({ length }) => length <= 1_000),
    );
    assert.ok(cpuMs() - before < 1_500);
  });
