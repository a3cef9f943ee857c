import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveText } from "../../../dashboard/src/run/live-text.ts";

const KEPT = 262_144;

test("short output is whole", () => {
  const live = new LiveText();
  live.add("one\n");
  live.add("two");
  assert.deepEqual(live.snapshot(), { text: "one\ntwo", firstLine: 1, isCut: false });
  live.clear();
  assert.equal(live.snapshot().text, "");
});

test("of long output the newest lines stay, with their numbers", () => {
  const live = new LiveText();
  const lines = 100_000;
  for (let i = 1; i <= lines; i++) live.add(`line ${i}\n`);
  const { text, firstLine, isCut } = live.snapshot();
  assert.ok(isCut && text.length <= KEPT && text.length > KEPT / 2);
  assert.ok(text.startsWith(`line ${firstLine}\n`) && text.endsWith(`line ${lines}\n`));
  live.clear();
  assert.deepEqual(live.snapshot(), { text: "", firstLine: 1, isCut: false });
});

test("an endless line is bounded as well", () => {
  const live = new LiveText();
  for (let i = 0; i < 2_000; i++) live.add("x".repeat(8_192));
  const { text, firstLine } = live.snapshot();
  assert.deepEqual([text.length <= KEPT, firstLine], [true, 1]);
});
