import assert from "node:assert/strict";
import { test } from "node:test";
import { styleNames } from "../../../dashboard/src/components/editor/ansi.ts";
import { nameOf } from "../../../dashboard/src/components/editor/control-characters.ts";
import { readInput, readOutput } from "../../../dashboard/src/components/editor/printable-text.ts";
import { cpuMs } from "../../support/cpu-time.ts";

test("control characters are shown by name, and colours keep their text", () => {
  const { text, starts, styles, names, codes } = readOutput("\x07a\x1b[31mb\u202ec\x1b[0m\x1b[2Jd\ne");
  assert.equal(text, "BELabU+202EcESC[2Jd\ne");
  assert.deepEqual(
    starts.map((start, i) => `${text.slice(start, starts[i + 1])}|${styleNames(styles[i] ?? 0)}`),
    ["bU+202Ec|red", "ESC[2Jd\ne|"],
  );
  assert.deepEqual(
    names.map((start, i) => {
      const { name, title } = nameOf(codes[i] ?? 0);
      return `${text.slice(start, start + name.length)} ${title}`;
    }),
    ["BEL U+0007", "U+202E U+202E", "ESC U+001B"],
  );
});

test("a source keeps its sequences as text", () => {
  assert.equal(readInput("\x1b[31mx\ty\r\n").text, "ESC[31mx\tyCR\n");
});

test("hostile output is named in bounded time", () => {
  for (const text of ["\u202e\x07".repeat(262_144), "\x1b[1;".repeat(262_144), "\x1b[31mx\x07".repeat(150_000)]) {
    const before = cpuMs();
    readOutput(text);
    assert.ok(cpuMs() - before < 2_000);
  }
});
