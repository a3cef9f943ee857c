import assert from "node:assert/strict";
import { test } from "node:test";
import { EventLoopTurns, nextQueue, type OwnedQueue, Turns } from "../../../src/fairness/turn.ts";

test("owners take turns, with one piece of work per turn of the event loop", async () => {
  const turns = new EventLoopTurns();
  const order: string[] = [];
  let turn = 0;
  const count = () => {
    turn++;
    if (order.length < 6) setImmediate(count);
  };
  setImmediate(count);
  const work = ["a", "a", "a", "a", "b", "b"].map((owner) =>
    turns.turn(owner).then(() => order.push(`${owner}${turn}`)),
  );
  await Promise.all(work);
  assert.deepEqual(order.map((one) => one[0]).join(""), "ababaa");
  assert.equal(new Set(order.map((one) => one.slice(1))).size, 6);
});

test("the owner whose service has cost least is next; one that was idle does not come first until it has caught up", () => {
  const turns = new Turns<string>();
  for (const item of ["a1", "a2", "a3"]) turns.add("a", item);
  assert.equal(turns.take(), "a1");
  turns.charge("a", 100);
  for (const item of ["b1", "b2", "b3", "b4"]) turns.add("b", item);
  // "b" starts at the cost of "a". Both are then even, and "a" has waited longer.
  assert.equal(turns.take(), "a2");
  turns.charge("a", 100);
  for (const item of ["b1", "b2", "b3"]) {
    assert.equal(turns.take(), item);
    turns.charge("b", 40);
  }
  assert.equal(turns.take(), "a3");
  assert.equal(turns.take(), "b4");
  assert.equal(turns.take(), undefined);
});

test("thousands of owners that come once take neither time nor memory for good", () => {
  const turns = new Turns<string>();
  turns.add("long", "long", 1e9);
  const before = process.cpuUsage();
  for (let n = 0; n < 20_000; n++) {
    turns.add(`once${n}`, `item${n}`);
    assert.equal(turns.take(), `item${n}`);
    turns.charge(`once${n}`, 1);
  }
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 5_000_000, `${user + system} us`);
});

test("an owner that may not be served keeps its turn, and a removed item is not served", () => {
  const turns = new Turns<string>();
  for (const [owner, item] of [
    ["a", "a1"],
    ["b", "b1"],
    ["b", "b2"],
    ["c", "c1"],
  ] as const)
    turns.add(owner, item);
  assert.equal(
    turns.take((owner) => owner !== "a"),
    "b1",
  );
  turns.remove("c", "c1");
  assert.deepEqual([turns.waiting("b"), turns.waiting("c")], [1, 0]);
  assert.deepEqual([turns.take(), turns.take(), turns.take()], ["a1", "b2", undefined]);
});

test("queues of the owner with the fewest under way are next, and more queues give no more turns", () => {
  const [a, b] = [
    { id: "a", turn: 1, underWay: 0 },
    { id: "b", turn: 2, underWay: 0 },
  ];
  const queues: (OwnedQueue & { readonly name: string })[] = [
    { name: "a1", underWay: 0, owner: a },
    { name: "a2", underWay: 0, owner: a },
    { name: "b1", underWay: 0, owner: b },
  ];
  const served: string[] = [];
  for (let at = 0; at < 4; at++) {
    const next = nextQueue(queues, (one, other) => (one.name < other.name ? -1 : 1)) ?? assert.fail();
    next.underWay++;
    next.owner.underWay++;
    served.push(next.name);
  }
  assert.deepEqual(served, ["a1", "b1", "a2", "b1"]);
  assert.equal(
    nextQueue([], () => 0),
    undefined,
  );
});
