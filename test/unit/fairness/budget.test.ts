import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Budget } from "../../../src/fairness/budget.ts";

const LIMIT = { timeout: 20_000 };
const never = new AbortController().signal;

test("an owner leaves as much free as it holds, and a waiting owner proceeds as soon as its bytes fit", async () => {
  const budget = new Budget({ total: 100, perOwner: "shared", waitMs: 50 });
  const first = (await budget.takeInTime("a", 50, never)) ?? assert.fail();
  assert.equal(await budget.takeInTime("a", 1, never), undefined);
  const other = (await budget.takeInTime("b", 25, never)) ?? assert.fail();
  assert.equal(await budget.takeInTime("b", 1, never), undefined);
  const waiting = budget.takeInTime("c", 37, never);
  first();
  first();
  const last = (await waiting) ?? assert.fail();
  assert.equal(budget.held, 62);
  const gone = new AbortController();
  const abandoned = budget.takeInTime("c", 100, gone.signal);
  gone.abort();
  assert.equal(await abandoned, undefined);
  for (const give of [other, last]) give();
  assert.equal(budget.held, 0);
});

test("an owner that has gone does not wait", LIMIT, async () => {
  // Longer than the limit of the test.
  const budget = new Budget({ total: 100, perOwner: "shared", waitMs: 3_600_000 });
  const give = (await budget.takeInTime("a", 50, never)) ?? assert.fail();
  assert.equal(await budget.takeInTime("a", 50, AbortSignal.abort()), undefined);
  give();
  assert.equal(budget.held, 0);
});

test("a shared budget is never used up, and an owner takes no more than stays free for others", () => {
  const step = fc.record({ owner: fc.nat(4), amount: fc.integer({ min: 1, max: 60 }), isRelease: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const budget = new Budget({ total: 100, perOwner: "shared" });
      const taken: { owner: number; amount: number; release: () => void }[] = [];
      const sum = (some: typeof taken) => some.reduce((all, { amount }) => all + amount, 0);
      for (const { owner, amount, isRelease } of steps) {
        const [held, free] = [sum(taken.filter((one) => one.owner === owner)), 100 - sum(taken)];
        if (isRelease) taken.shift()?.release();
        else {
          const release = budget.take(String(owner), amount);
          if ((release !== undefined) !== held + amount <= free - amount) return false;
          if (release) taken.push({ owner, amount, release });
        }
        if (budget.held !== sum(taken) || budget.held >= 100) return false;
      }
      return true;
    }),
  );
});

test("a limit for each owner leaves the rest to others, and giving back twice has no effect", () => {
  const budget = new Budget({ total: 3, perOwner: 2 });
  const first = budget.take("a", 1) ?? assert.fail();
  budget.take("a", 1) ?? assert.fail();
  assert.equal(budget.take("a", 1), undefined);
  budget.take("b", 1) ?? assert.fail();
  assert.equal(budget.take("b", 1), undefined);
  first();
  first();
  assert.equal(budget.held, 2);
});

test("an owner that holds little may take a little more, whatever others hold", () => {
  const budget = new Budget({ total: 100, perOwner: "shared", inAnyCase: 5 });
  for (const [owner, amount] of [
    ["a", 50],
    ["b", 25],
    ["c", 12],
    ["d", 6],
  ] as const)
    budget.take(owner, amount) ?? assert.fail(owner);
  assert.equal(budget.take("e", 6), undefined);
  const first = budget.take("e", 3) ?? assert.fail();
  assert.ok(budget.take("e", 2));
  assert.equal(budget.take("e", 1), undefined);
  first();
  for (let owner = 0; owner < 20; owner++) assert.ok(budget.take(`f${owner}`, 5), "beyond the total");
  assert.equal(budget.take("a", 1), undefined);
});

test("what becomes free goes first to the owner that holds least", async () => {
  const budget = new Budget({ total: 100, perOwner: "shared" });
  const [first, second] = [budget.take("a", 30) ?? assert.fail(), budget.take("b", 20) ?? assert.fail()];
  const served: string[] = [];
  const wait = (owner: string, amount: number) =>
    budget.takeInTime(owner, amount, never).then((release) => release && served.push(owner));
  const all = [wait("b", 20), wait("c", 26)];
  first();
  await new Promise(setImmediate);
  assert.deepEqual(served, ["c"]);
  second();
  await Promise.all(all);
  assert.deepEqual(served, ["c", "b"]);
});

test("with `firstIfFree`, an owner that holds nothing may take all that is free, and nobody more than that", () => {
  const budget = new Budget({ total: 10, perOwner: "shared", firstIfFree: true });
  const release = budget.take("a", 10);
  assert.ok(release);
  assert.equal(budget.take("b", 1), undefined);
  release();
  assert.ok(budget.take("a", 4));
  assert.equal(budget.take("a", 4), undefined);
  assert.ok(budget.take("b", 6));
  assert.equal(budget.held, 10);
});
