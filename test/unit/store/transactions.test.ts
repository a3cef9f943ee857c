import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import type { Database } from "../../../src/store/database/database.ts";
import { StoreUnavailable } from "../../../src/store/database/errors.ts";
import { Notifier } from "../../../src/store/database/notifier.ts";
import type { Operation, OperationCall } from "../../../src/store/database/operations.ts";
import { Transactions } from "../../../src/store/database/transactions.ts";

/** A transaction in which every statement succeeds, and returns nothing. */
const TRX = new Kysely({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
}) as never;

type Numbers = readonly number[];
type Fail = (numbers: Numbers) => Error | null;

/** Doubles numbers. */
const doubling = (name: string, fail: Fail): Operation<Numbers, Numbers> => ({
  name,
  run: async (_trx, _locks, numbers) => {
    const error = fail(numbers);
    if (error) throw error;
    return numbers.map((number) => 2 * number);
  },
});

/**
 * Transactions on a database that only records commits: each as the pieces in it, such as "double 1 2" or "function", and whether it was
 * flushed. A commit ends when `open` is called.
 */
function recorded(oneWriter: boolean, fail: Fail = () => null) {
  const commits: string[] = [];
  let underWay = 0;
  let [most, gate] = [0, Promise.withResolvers<void>()];
  const double = doubling("double", fail);
  const other = doubling("other", fail);
  const committed = async <T>(text: string, work: () => Promise<T>): Promise<T> => {
    commits.push(text);
    most = Math.max(most, ++underWay);
    try {
      await gate.promise;
      return await work();
    } finally {
      underWay--;
    }
  };
  const settled = async (call: OperationCall): Promise<PromiseSettledResult<unknown>> => {
    try {
      const { run } = call.operation === "double" ? double : other;
      return { status: "fulfilled", value: await run(null as never, null as never, call.asked as Numbers) };
    } catch (reason) {
      return { status: "rejected", reason };
    }
  };
  const textOf = ({ operation, asked }: OperationCall) => [operation, ...(asked as Numbers)].join(" ");
  const transaction = { execute: (work: (trx: never) => Promise<unknown>) => committed("function", () => work(TRX)) };
  const database = {
    db: { transaction: () => ({ setIsolationLevel: () => transaction }) },
    abilities: {
      oneWriter,
      performAll: oneWriter
        ? (calls: readonly OperationCall[], flushed: boolean) =>
            committed(`${calls.map(textOf).join(", ")}${flushed ? "" : " unflushed"}`, () =>
              Promise.all(calls.map(settled)),
            )
        : null,
      unflushed: (work: (trx: never) => Promise<unknown>) => committed("unflushed", () => work(TRX)),
      isRetryable: () => false,
      notify: null,
    },
  } as unknown as Database;
  const notifier = new Notifier();
  const transactions = new Transactions(database, notifier);
  const groupOf = (operation: Operation<Numbers, Numbers>, isUnflushed = false) =>
    transactions.group({
      operation,
      asked: (numbers: Numbers) => numbers,
      answers: (results) => results,
      notifications: () => [{ kind: "ended", id: operation.name }],
      isUnflushed,
    });
  const open = () => {
    gate.resolve();
    gate = Promise.withResolvers();
    gate.resolve();
  };
  return {
    commits,
    transactions,
    notifier,
    open,
    double: groupOf(double),
    other: groupOf(other),
    unflushed: groupOf(double, true),
    call: (number: number) => transactions.call(other, [number]),
    mostUnderWay: () => most,
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

for (const [kind, oneWriter] of [
  ["one writer", true],
  ["several writers", false],
] as const) {
  test(`${kind}: requests that arrive during a commit share the next one, in their order`, async () => {
    const { double, open, mostUnderWay } = recorded(oneWriter);
    const first = [double(1), double(2)];
    await turn();
    const next = [3, 4, 5].map((number) => double(number));
    await turn();
    open();
    assert.deepEqual(await Promise.all([...first, ...next]), [2, 4, 6, 8, 10]);
    assert.equal(mostUnderWay(), 1);
    assert.equal(await double(6), 12, "it works after it was idle");
  });

  test(`${kind}: a request that fails does not fail the others of its group`, async () => {
    const asked: Numbers[] = [];
    const { double, open } = recorded(oneWriter, (numbers) => {
      asked.push(numbers);
      return numbers.includes(2) ? new Error("not two") : null;
    });
    open();
    const [one, two, three] = await Promise.allSettled([double(1), double(2), double(3)]);
    assert.deepEqual([one?.status, three?.status], ["fulfilled", "fulfilled"]);
    assert.ok(two?.status === "rejected" && two.reason.message === "not two");
    assert.deepEqual(asked, [[1, 2, 3], [1], [2], [3]]);
  });

  test(`${kind}: after a lost connection nothing is repeated, because the result of the commit is unknown`, async () => {
    const { double, commits, open } = recorded(oneWriter, () => new StoreUnavailable("gone"));
    open();
    for (const one of await Promise.allSettled([double(1), double(2)]))
      assert.ok(one.status === "rejected" && one.reason instanceof StoreUnavailable);
    assert.equal(commits.length, 1);
  });

  test(`${kind}: listeners hear of a result when it is durable`, async () => {
    const { double, notifier, open } = recorded(oneWriter);
    let calls = 0;
    notifier.onEnd("double", () => calls++);
    const doubled = double(1);
    await turn();
    assert.equal(calls, 0);
    open();
    await doubled;
    assert.equal(calls, 1);
  });

  test(`${kind}: requests that can wait are committed together: 24 at once, fewer after 60 ms`, async (t) => {
    const { double, commits, open } = waiting(t, oneWriter);
    open();
    const add = () => void double(1, { mayWait: true });
    for (let requests = 0; requests < 23; requests++) add();
    await turn();
    assert.equal(commits.length, 0);
    add();
    await turn();
    assert.equal(commits.length, 1);
    add();
    await turn();
    t.mock.timers.tick(50);
    await turn();
    assert.equal(commits.length, 1);
    t.mock.timers.tick(20);
    // The time of the loop is real.
    for (const until = performance.now() + 70; performance.now() < until; ) await turn();
    t.mock.timers.tick(70);
    await turn();
    assert.equal(commits.length, 2);
  });

  test(`${kind}: one that cannot wait takes them along`, async () => {
    const { double, commits, open } = recorded(oneWriter);
    open();
    const all = [double(1, { mayWait: true }), double(2, { mayWait: true })];
    await turn();
    assert.equal(commits.length, 0);
    assert.deepEqual(await Promise.all([...all, double(3)]), [2, 4, 6]);
    assert.equal(commits.length, 1);
  });
}

function waiting(t: TestContext, oneWriter: boolean) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  return recorded(oneWriter);
}

test("one writer: a commit has at most 64 pieces, a group at most 64 requests, and none is lost", async () => {
  const { double, call, commits, open } = recorded(true);
  const numbers = Array.from({ length: 100 }, (_, number) => number);
  const doubled = [...numbers.map((number) => double(number)), ...numbers.map((number) => call(number))];
  open();
  const results = await Promise.all(doubled);
  assert.deepEqual(
    results.slice(0, 100),
    numbers.map((number) => 2 * number),
  );
  assert.deepEqual(
    results.slice(100),
    numbers.map((number) => [2 * number]),
  );
  assert.deepEqual(
    commits.map((commit) => commit.split(", ").length),
    [64, 38],
  );
  assert.deepEqual(
    commits[0]
      ?.split(", ")
      .slice(0, 2)
      .map((piece) => piece.split(" ").length - 1),
    [64, 36],
  );
});

test("one writer: all kinds of work share a commit, but operations and functions do not", async () => {
  const { double, other, call, transactions, commits, open } = recorded(true);
  open();
  const all = [double(1), other(2), call(3), double(4), transactions.run(async () => {}), call(5)];
  await Promise.all(all);
  assert.deepEqual(commits, ["double 1 4, other 2, other 3", "function", "other 5"]);
});

test("one writer: other work takes along the requests that can wait", async () => {
  const { double, call, commits, open } = recorded(true);
  open();
  const waits = double(1, { mayWait: true });
  await turn();
  await Promise.all([waits, call(2)]);
  assert.deepEqual(commits, ["double 1, other 2"]);
});

test("one writer: a commit is flushed if any of its pieces needs it", async () => {
  const { unflushed, call, commits, open } = recorded(true);
  open();
  await unflushed(1);
  await Promise.all([unflushed(2), call(3)]);
  assert.deepEqual(commits, ["double 1 unflushed", "double 2, other 3"]);
});

test("several writers: each kind of request has one commit under way, and other work has its own at once", async () => {
  const { double, other, call, commits, open, mostUnderWay } = recorded(false);
  const all = [double(1), other(2), call(3), call(4)];
  await turn();
  all.push(double(5), other(6));
  await turn();
  assert.deepEqual([commits.length, mostUnderWay()], [4, 4]);
  open();
  await Promise.all(all);
  assert.equal(commits.length, 6);
});
