import assert from "node:assert/strict";
import { test } from "node:test";
import { ClientError } from "../../../../src/domain/error.ts";
import { Semaphore } from "../../../../src/fairness/semaphore.ts";

test("runs two at once, queues three in order and rejects more; a failure frees its place", async () => {
  const bounded = new Semaphore(2, 3);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const asked = Array.from({ length: 6 }, (_, n) =>
    bounded.run("one", async () => {
      begun.push(n);
      await new Promise<void>((resolve) => ends.push(resolve));
      if (n === 0) throw new Error("failed");
      return n;
    }),
  );
  const all = Promise.allSettled(asked);
  await assert.rejects(asked[5] as Promise<number>, (error) => error instanceof ClientError && error.status === 429);
  assert.deepEqual(begun, [0, 1]);
  for (let n = 0; n < 5; n++) {
    ends[n]?.();
    await new Promise(setImmediate);
    assert.deepEqual(
      begun,
      Array.from({ length: Math.min(n + 3, 5) }, (_, at) => at),
    );
  }
  assert.deepEqual(
    (await all).map((one) => (one.status === "fulfilled" ? one.value : "failed")),
    ["failed", 1, 2, 3, 4, "failed"],
  );
  assert.equal(await bounded.run("one", async () => "free again"), "free again");
});

test("lanes take turns, and a full lane rejects only its own work", async () => {
  const bounded = new Semaphore(1, 3);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const run = (lane: string, name: string) =>
    bounded.run(lane, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
  const flood = Array.from({ length: 10 }, (_, n) => run("strangers", `s${n}`));
  const known = [run("ada", "a0"), run("ada", "a1"), run("bob", "b0")];
  const all = Promise.allSettled([...flood, ...known]);
  while (begun.length < 7) {
    ends[begun.length - 1]?.();
    await new Promise(setImmediate);
  }
  ends.at(-1)?.();
  assert.deepEqual(begun, ["s0", "s1", "a0", "b0", "s2", "a1", "s3"]);
  const refused = (await all).map(({ status }) => status === "rejected");
  assert.deepEqual(refused, [...Array(4).fill(false), ...Array(6).fill(true), false, false, false]);
});

test("a lane runs no more than its own limit, leaves the rest to other lanes, and rejects what does not fit", async () => {
  const bounded = new Semaphore(2, 2, "queueFull", 1);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (lane: string, name: string) =>
    bounded.run(lane, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const all = [run("ada", "a0"), run("ada", "a1"), run("ada", "a2"), run("ada", "a3"), run("bob", "b0")];
  const settled = Promise.allSettled(all);
  assert.deepEqual(begun, ["a0", "b0"]);
  await assert.rejects(all[3] as Promise<void>, (error) => error instanceof ClientError && error.status === 503);
  for (const [name, next] of Object.entries({
    b0: ["a0", "b0"],
    a0: ["a0", "b0", "a1"],
    a1: ["a0", "b0", "a1", "a2"],
  })) {
    ends.get(name)?.();
    await new Promise(setImmediate);
    assert.deepEqual(begun, next);
  }
  ends.get("a2")?.();
  await settled;
});
