import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { KeyedMutex } from "../../../src/fairness/keyed-mutex.ts";

test("runs work of one name in order, also after a failure; other names do not wait", async () => {
  const turns = new KeyedMutex();
  const said: string[] = [];
  const work = (word: string, ms: number, error?: Error) => async () => {
    said.push(`${word} begins`);
    await sleep(ms);
    said.push(`${word} ends`);
    if (error) throw error;
    return word;
  };
  const all = await Promise.allSettled([
    turns.take("a", work("first", 30, new Error("lost"))),
    turns.take("a", work("second", 1)),
    turns.take("b", work("other", 1)),
  ]);
  assert.deepEqual(
    all.map(({ status }) => status),
    ["rejected", "fulfilled", "fulfilled"],
  );
  const others = said.filter((word) => !word.startsWith("other"));
  assert.deepEqual(others, ["first begins", "first ends", "second begins", "second ends"]);
  assert.ok(said.indexOf("other ends") < said.indexOf("first ends"));
});
