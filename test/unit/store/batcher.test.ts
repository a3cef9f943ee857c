import assert from "node:assert/strict";
import { test } from "node:test";
import { Batcher } from "../../../src/store/database/batcher.ts";
import { StoreUnavailable } from "../../../src/store/database/errors.ts";

/** Doubles numbers; records each group, which waits until `open` is called. */
function doubling(fail: (group: readonly number[]) => Error | null = () => null) {
  const groups: (readonly number[])[] = [];
  let go = Promise.withResolvers<void>();
  const gathered = new Batcher(async (group: readonly number[]) => {
    groups.push(group);
    await go.promise;
    const error = fail(group);
    if (error) throw error;
    return group.map((number) => 2 * number);
  });
  const open = () => {
    go.resolve();
    go = Promise.withResolvers();
    go.resolve();
  };
  return { gathered, groups, open };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("items added while a group runs form the next group, in order", async () => {
  const { gathered, groups, open } = doubling();
  const first = [gathered.add(1), gathered.add(2)];
  await turn();
  const next = [3, 4, 5].map((number) => gathered.add(number));
  await turn();
  assert.deepEqual(groups, [[1, 2]], "one group at a time");
  open();
  assert.deepEqual(await Promise.all([...first, ...next]), [2, 4, 6, 8, 10]);
  assert.deepEqual(groups, [
    [1, 2],
    [3, 4, 5],
  ]);
  assert.equal(await gathered.add(6), 12, "it works after it was idle");
});

test("groups are bounded, and no item is lost", async () => {
  const { gathered, groups, open } = doubling();
  const all = Array.from({ length: 200 }, (_, number) => gathered.add(number));
  await turn();
  open();
  assert.deepEqual(
    await Promise.all(all),
    Array.from({ length: 200 }, (_, number) => 2 * number),
  );
  assert.deepEqual(
    groups.map(({ length }) => length),
    [64, 64, 64, 8],
  );
});

test("a failed item does not fail the rest of its group", async () => {
  const { gathered, groups, open } = doubling((group) => (group.includes(2) ? new Error("not two") : null));
  const all = Promise.allSettled([1, 2, 3].map((number) => gathered.add(number)));
  await turn();
  open();
  const [one, two, three] = await all;
  assert.deepEqual(
    [one, three],
    [
      { status: "fulfilled", value: 2 },
      { status: "fulfilled", value: 6 },
    ],
  );
  assert.ok(two?.status === "rejected" && two.reason.message === "not two");
  assert.deepEqual(groups, [[1, 2, 3], [1], [2], [3]]);
});

test("nothing is retried after a lost connection, because the commit's result is unknown", async () => {
  const { gathered, groups, open } = doubling(() => new StoreUnavailable("gone"));
  const all = Promise.allSettled([1, 2].map((number) => gathered.add(number)));
  await turn();
  open();
  for (const one of await all) assert.ok(one.status === "rejected" && one.reason instanceof StoreUnavailable);
  assert.deepEqual(groups, [[1, 2]]);
});
