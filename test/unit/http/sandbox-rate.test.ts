import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BURST_SECS,
  levelOf,
  SANDBOX_RATES,
  SandboxRate,
  TOGETHER_PER_SECOND,
} from "../../../src/http/access/sandbox-rate.ts";

/** What the tiers of a new service permit. */
const EXECUTIONS = 16;

/** How many of `amount` requests pass. */
function passing(rate: SandboxRate, accountId: string, amount: number, isCostly = false, executions = EXECUTIONS) {
  let passed = 0;
  for (let n = 0; n < amount; n++) {
    try {
      rate.count({ accountId, executions }, isCostly);
      passed++;
    } catch (error) {
      assert.equal((error as { code?: string }).code, "quotaExceeded");
    }
  }
  return passed;
}

test("an account sends requests to its sandboxes at a rate that its tier decides, and fewer that write", () => {
  for (const executions of [1, EXECUTIONS]) {
    let nowMs = 0;
    const rate = new SandboxRate(() => nowMs);
    const [all, costly] = [SANDBOX_RATES.all * executions, SANDBOX_RATES.costly * executions];
    assert.equal(passing(rate, "one", 3_000, true, executions), BURST_SECS * costly);
    assert.equal(passing(rate, "one", 3_000, false, executions), BURST_SECS * (all - costly));
    nowMs += 5_000;
    passing(rate, "one", 3_000, true, executions);
    passing(rate, "one", 3_000, false, executions);
    nowMs += 2_000; // not the next second, so that what was asked for in the last one has no effect
    assert.equal(passing(rate, "one", 3_000, true, executions), 2 * costly);
    assert.equal(passing(rate, "one", 3_000, false, executions), 2 * (all - costly));
    assert.equal(passing(rate, "two", 3_000, false, executions), BURST_SECS * all);
  }
});

test("the usual tier suffices for 500 executions a second, and for as many requests for files", () => {
  let nowMs = 0;
  const rate = new SandboxRate(() => nowMs);
  let passed = 0;
  for (let n = 0; n < 10_000; n++, nowMs++) passed += passing(rate, "one", 1, n % 2 === 0);
  assert.ok(passed >= 0.99 * 10_000, String(passed));
});

test("accounts that ask for little get it, and the others share what is left", () => {
  assert.equal(levelOf([10, 20, 30], 60), Number.POSITIVE_INFINITY);
  assert.equal(levelOf([10, 100, 200], 110), 50);
  assert.equal(levelOf([500, 500], 100), 50);
  let nowMs = 0;
  const rate = new SandboxRate(() => nowMs);
  const greedy = Array.from({ length: 8 }, (_, n) => `greedy ${n}`);
  const few = Array.from({ length: 8 }, (_, n) => `few ${n}`);
  const passed = new Map<string, number>();
  const second = (counts: boolean) => {
    for (let part = 0; part < 20; part++, nowMs += 50) {
      for (const account of few) passed.set(account, (passed.get(account) ?? 0) + passing(rate, account, 1));
      for (const account of greedy) {
        const got = passing(rate, account, 12);
        if (counts) passed.set(account, (passed.get(account) ?? 0) + got);
      }
    }
  };
  second(false);
  for (const account of greedy) passing(rate, account, 2_100); // what they may send at once
  for (const account of few) passed.set(account, 0);
  for (let n = 0; n < 5; n++) second(true);
  for (const account of few) assert.equal(passed.get(account), 100, account);
  const share = (5 * TOGETHER_PER_SECOND - 8 * 100) / 8;
  for (const account of greedy) assert.ok(Math.abs((passed.get(account) ?? 0) - share) <= 0.1 * share, account);
});
