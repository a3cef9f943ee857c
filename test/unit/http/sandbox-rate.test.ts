import assert from "node:assert/strict";
import { test } from "node:test";
import { SANDBOX_RATES, SandboxRate } from "../../../src/http/access/sandbox-rate.ts";

/** How many of `amount` requests pass. */
function passing(rate: SandboxRate, accountId: string, amount: number, isCostly = false): number {
  let passed = 0;
  for (let n = 0; n < amount; n++) {
    try {
      rate.count({ accountId }, isCostly);
      passed++;
    } catch (error) {
      assert.equal((error as { code?: string }).code, "quotaExceeded");
    }
  }
  return passed;
}

test("an account sends requests to its sandboxes at a rate, and fewer that write", () => {
  let nowMs = 0;
  const rate = new SandboxRate(() => nowMs);
  assert.equal(passing(rate, "one", 1_000, true), SANDBOX_RATES.costly.burst);
  assert.equal(passing(rate, "one", 1_000), SANDBOX_RATES.all.burst - SANDBOX_RATES.costly.burst);
  nowMs += 1_000;
  assert.equal(passing(rate, "one", 1_000, true), SANDBOX_RATES.costly.perSecond);
  assert.equal(passing(rate, "one", 1_000), SANDBOX_RATES.all.perSecond - SANDBOX_RATES.costly.perSecond);
  nowMs += 3_600_000;
  assert.equal(passing(rate, "one", 1_000), SANDBOX_RATES.all.burst);
  assert.equal(passing(rate, "two", 1_000), SANDBOX_RATES.all.burst);
});

test("many accounts share what the service can do", () => {
  let nowMs = 0;
  const rate = new SandboxRate(() => nowMs);
  const accounts = Array.from({ length: 40 }, (_, n) => `account ${n}`);
  for (const account of accounts) passing(rate, account, 400);
  let passed = 0;
  for (let second = 0; second < 5; second++) {
    nowMs += 1_000;
    for (const account of accounts) passed += passing(rate, account, 400);
  }
  assert.ok(passed >= 5 * 350 && passed <= 5 * 500, String(passed));
});
