import assert from "node:assert/strict";
import { test } from "node:test";
import { ClientError } from "../../../src/domain/error.ts";
import { Bounded } from "../../../src/http/dashboard/bounded.ts";

test("two at once, three behind them in order, and no more; a failure gives its place to the next", async () => {
  const bounded = new Bounded(2, 3);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const asked = Array.from({ length: 6 }, (_, n) =>
    bounded.run(async () => {
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
  assert.equal(await bounded.run(async () => "free again"), "free again");
});
