import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { LiveOutputWriter } from "../../../src/conversation/stored.ts";
import { StoreUnavailable } from "../../../src/store/database/errors.ts";
import type { LiveStore } from "../../../src/store/live/output.ts";
import { addKey, enqueue, temporaryStore } from "../../support/store/temporary.ts";

const EVERY_MS = 20;

/** A run that is watched, and its output. Appends go through `wrap`. */
async function watched(t: TestContext, wrap: (live: LiveStore) => LiveStore = (live) => live) {
  const { store } = await temporaryStore(t);
  await enqueue(store, await addKey(store, "key"), { live: true });
  const [claim] = await store.submissions.claim("w", 60_000);
  assert.ok(claim);
  const logs: string[] = [];
  const log = pino({}, { write: (line: string) => logs.push(line) });
  const live = new LiveOutputWriter({ live: wrap(store.live) }, claim, log, EVERY_MS);
  const look = async () => (await store.live.readAfter(claim.submission.id, null))?.pieces ?? [];
  return { live, look, logs };
}

test("output within a short time is one piece of each stream, and pieces have no gaps", async (t) => {
  const { live, look } = await watched(t);
  for (let n = 0; n < 1_000; n++) live.push(n % 2 ? "stdout" : "stderr", Buffer.from(n % 2 ? "o" : "e"));
  while ((await look()).length < 2) await sleep(5);
  live.push("stdout", Buffer.from("more"));
  while ((await look()).length < 3) await sleep(5);
  await live.stop();
  assert.deepEqual(
    (await look()).map(({ stream, at, n, bytes }) => [stream, at, n, bytes.length]),
    [
      ["stderr", 0, 0, 500],
      ["stdout", 0, 1, 500],
      ["stdout", 500, 2, 4],
    ],
  );
});

test("copies the bytes, so that the caller can reuse its buffer", async (t) => {
  const { live, look } = await watched(t);
  const bytes = Buffer.from("first");
  live.push("stdout", bytes);
  bytes.fill("x");
  while ((await look()).length < 1) await sleep(5);
  await live.stop();
  assert.equal((await look())[0]?.bytes.toString(), "first");
});

test("stopping waits for appends under way and prevents later ones", async (t) => {
  const added: number[] = [];
  const { live, look } = await watched(t, (store) => ({
    ...store,
    append: async (...args) => {
      await sleep(100);
      const answer = await store.append(...args);
      added.push(args[1]);
      return answer;
    },
  }));
  live.push("stdout", Buffer.from("a"));
  await sleep(3 * EVERY_MS);
  live.push("stdout", Buffer.from("b"));
  await live.stop();
  assert.deepEqual(added, [0]);
  live.push("stdout", Buffer.from("c"));
  await sleep(5 * EVERY_MS);
  assert.equal((await look()).length, 1);
});

test("a failing store loses the live output only, and is logged once", async (t) => {
  let calls = 0;
  const { live, logs } = await watched(t, (store) => ({
    ...store,
    append: async () => {
      calls++;
      throw new StoreUnavailable("away");
    },
  }));
  for (let n = 0; n < 5; n++) {
    live.push("stdout", Buffer.from("a"));
    await sleep(2 * EVERY_MS);
  }
  await live.stop();
  assert.deepEqual([calls, logs.length], [1, 1]);
});
