import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MinuteBudget } from "../../../src/fairness/minute-budget.ts";

test("Retry-After is exact: one second earlier is too early", () => {
  let now = 0;
  const window = new MinuteBudget(() => now);
  assert.equal(window.take("a", 2), 0);
  now = 10_500;
  assert.equal(window.take("a", 2), 0);
  now = 20_000;
  assert.equal(window.take("a", 2), 40);
  now = 59_000;
  assert.equal(window.take("a", 2), 1);
  now = 60_000;
  assert.equal(window.take("a", 2), 0);
  assert.equal(window.take("a", 2), 11);
  assert.equal(window.isFull("a", 2), true);
  assert.equal(window.isFull("b", 2), false);
  assert.equal(window.take("b", 2), 0);
  now = 70_500;
  assert.equal(window.isFull("a", 2), false);
});

test("no minute exceeds the limit, and a request after Retry-After is accepted", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20_000), { maxLength: 200 }), fc.integer({ min: 1, max: 10 }), (gaps, limit) => {
      let now = 0;
      const window = new MinuteBudget(() => now);
      const passed: number[] = [];
      for (const gap of gaps) {
        now += gap;
        const wait = window.take("a", limit);
        if (wait > 0) {
          now += wait * 1000;
          if (window.take("a", limit) !== 0) return false;
        }
        passed.push(now);
        if (passed.filter((time) => time > now - 60_000).length > limit) return false;
      }
      return true;
    }),
  );
});
