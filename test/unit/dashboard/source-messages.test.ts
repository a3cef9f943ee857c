import assert from "node:assert/strict";
import { test } from "node:test";
import { decidingMessage, findMessages, lastLine } from "../../../dashboard/src/run/source-messages.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import { COMPILER_OUTPUTS } from "./compiler-outputs.ts";

for (const [name, { source, code = "", text, line, says }] of Object.entries(COMPILER_OUTPUTS)) {
  test(`${name}: finds the line that decided`, () => {
    const messages = findMessages(text, source, code);
    const found = decidingMessage(messages, /compile|link/.test(name)) ?? assert.fail();
    assert.equal(found.line, line);
    assert.ok(found.text.includes(says), found.text);
    for (const message of messages)
      assert.match(text.slice(message.from, message.to), new RegExp(`${message.line}|symbol`));
  });
}

test("a traceback is one message, a chained exception is another, and warnings decide nothing", () => {
  const { text = "" } = COMPILER_OUTPUTS["python chained"] ?? {};
  assert.deepEqual(
    findMessages(text, "main.py", "").map(({ line, text: said }) => `${line} ${said}`),
    ["2 ZeroDivisionError: division by zero", "4 ValueError: invalid literal for int() with base 10: 'x'"],
  );
  const warned = "main.c:2:1: warning: unused\nmain.c:3:1: note: declared here\n";
  const messages = findMessages(warned, "main.c", "");
  assert.deepEqual(
    messages.map(({ line, column, isError }) => [line, column, isError]),
    [
      [2, 1, false],
      [3, 1, false],
    ],
  );
  assert.equal(decidingMessage(messages, true), undefined);
});

test("without a message about a line: the first error of a compiler, the last words of a program", () => {
  const linked =
    "/usr/bin/ld: in function `_start':\nld: error: undefined symbol: main\ncollect2: error: ld returned 1\n";
  assert.equal(lastLine(linked, true), "ld: error: undefined symbol: main");
  assert.equal(lastLine("terminate called\n  what():  bad_alloc\n", false), "what():  bad_alloc");
  assert.equal(lastLine("no such account\n\nNode.js v24.21.0\n", false), "no such account");
  for (const text of ["", "\n---\n"]) assert.equal(lastLine(text, false), undefined);
  assert.equal(lastLine("x".repeat(2_000_000), false)?.length, 300);
});

test("other files are not the source, and a name is no pattern", () => {
  for (const text of ["xmain.c:1:1: error: a", "lib/main.c:1: error: a", "mainxc:1: error: a", "main.c:0: error: a"])
    assert.deepEqual(findMessages(text, "main.c", ""), [], text);
  assert.equal(findMessages("lib/a+b.py:3: error: x", "lib/a+b.py", "").length, 1);
});

const MIB = 1_048_576;
for (const [name, text] of Object.entries({
  "one line": "main.py:1: ".repeat(MIB / 11),
  places: "main.py:1: error: x\n".repeat(MIB / 20),
  frames: 'Traceback\n  File "main.py", line 1\n'.repeat(MIB / 35),
  "frames of one exception": `${"x".repeat(1_900)}Error: a\n${'  File "main.py", line 1\n'.repeat(38)}`.repeat(300),
  "almost exceptions": `${`${"A.".repeat(990)}\n`.repeat(39)}\tat main.py:1\n`.repeat(13),
  symbols: "mold: error: undefined symbol: nowhere\n".repeat(MIB / 39),
  "digits only": "main.py:".repeat(MIB / 8) + "1".repeat(1_000),
})) {
  test(`hostile output is read in bounded time: ${name}`, () => {
    const before = cpuMs();
    const messages = findMessages(text, "main.py", "a\n".repeat(32_768));
    assert.ok(cpuMs() - before < 1_500);
    assert.ok(messages.length <= 100 && messages.every(({ text: said }) => said.length <= 300));
  });
}
