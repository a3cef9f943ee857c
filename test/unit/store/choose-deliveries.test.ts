import assert from "node:assert/strict";
import { test } from "node:test";
import type { QueueOwner } from "../../../src/fairness/turn.ts";
import { chooseDeliveries, type DueEndpoint } from "../../../src/store/deliveries/choose-deliveries.ts";

const MB = 1e6;
const TICKS_PER_SECOND = 10;
/** Duration of each attempt to a slow receiver. */
const ATTEMPT_TICKS = 100;
const ENDPOINTS = 6;
const ATTEMPTS = 64;
const BUDGET_BYTES = 64 * 1024 * 1024;

interface Attempt {
  readonly endpointId: string;
  readonly accountId: string;
  readonly bodyBytes: number;
  readonly endTick: number;
}

/**
 * Accounts with slow receivers always have bodies of `otherBytes` due. After 100 s another account has one of `bytes`.
 * @returns its wait in seconds; infinite if it does not begin within 100 s.
 */
async function waitSecs(accounts: number, otherBytes: number, bytes: number): Promise<number> {
  const turns = new Map<string, number>();
  let active: Attempt[] = [];
  const startTick = 100 * TICKS_PER_SECOND;
  for (let tick = 0; tick < 2 * startTick; tick++) {
    active = active.filter(({ endTick }) => endTick > tick);
    const heldBytes = new Map<string, number>();
    for (const { accountId, bodyBytes } of active)
      heldBytes.set(accountId, (heldBytes.get(accountId) ?? 0) + bodyBytes);
    const account = (id: string): QueueOwner => ({
      id,
      turn: turns.get(id) ?? 0,
      underWay: active.filter(({ accountId }) => accountId === id).length,
    });
    const endpoint = (id: string, of: QueueOwner): DueEndpoint => ({
      id,
      owner: of,
      oldestMs: 0,
      underWay: active.filter(({ endpointId }) => endpointId === id).length,
    });
    const endpoints = Array.from({ length: accounts }, (_, at) => account(`a${at}`)).flatMap((of) =>
      Array.from({ length: ENDPOINTS }, (_, at) => endpoint(`${of.id}-${at}`, of)),
    );
    if (tick >= startTick) endpoints.push(endpoint("big", account("big")));
    const names: string[] = [];
    let begun = 0;
    const chosen = await chooseDeliveries(
      endpoints,
      { attempts: ATTEMPTS - active.length, perEndpoint: 4, bodies: { budgetBytes: BUDGET_BYTES, heldBytes } },
      async ({ id }) => {
        if (id === "big") return [{ seq: 0, fence: 0, bodyBytes: bytes }];
        // One delivery becomes due in each tick, so that attempts do not end together.
        if (begun++ > 0) return [];
        names.push(id);
        return [{ seq: names.length, fence: 0, bodyBytes: otherBytes }];
      },
    );
    for (const one of chosen) {
      if (one.owner.id === "big") return (tick - startTick) / TICKS_PER_SECOND;
      turns.set(one.owner.id, tick + 1);
      const endpointId = names[one.seq - 1] ?? "";
      active.push({ endpointId, accountId: one.owner.id, bodyBytes: one.bodyBytes, endTick: tick + ATTEMPT_TICKS });
    }
  }
  return Number.POSITIVE_INFINITY;
}

for (const [accounts, otherMb, mb] of [
  [2, 1.05, 12.58],
  [3, 1.05, 8.6],
  [5, 1.05, 12.58],
  [20, 1.05, 12.58],
  [20, 0.5, 12.58],
] as const) {
  test(`a body of ${mb} MB begins while ${accounts} accounts with slow receivers send ${otherMb} MB each`, async () => {
    const secs = await waitSecs(accounts, otherMb * MB, mb * MB);
    assert.ok(secs <= 10, `it waited for ${secs} s`);
  });
}

test("while memory is reserved for a large body, only small bodies begin", async () => {
  const account = (id: string, turn: number, underWay: number): QueueOwner => ({ id, turn, underWay });
  const endpoint = (of: QueueOwner): DueEndpoint => ({ id: of.id, owner: of, oldestMs: 0, underWay: of.underWay });
  const bytes: Record<string, number> = { large: 40, middle: 2, small: 0.5, holder: 2 };
  const endpoints = ["large", "middle", "small", "holder"].map((id, at) =>
    endpoint(account(id, at, id === "holder" ? 1 : 0)),
  );
  const bodies = { budgetBytes: 64 * MB, heldBytes: new Map([["holder", 40 * MB]]) };
  const due = async ({ id }: DueEndpoint) => [{ seq: 1, fence: 0, bodyBytes: (bytes[id] ?? 0) * MB }];
  const chosen = await chooseDeliveries(endpoints, { attempts: 10, perEndpoint: 4, bodies }, due);
  assert.deepEqual(
    chosen.map(({ owner: { id } }) => id),
    ["small"],
  );
  const later = { budgetBytes: 64 * MB, heldBytes: new Map([["holder", 32 * MB]]) };
  const [first] = await chooseDeliveries(endpoints, { attempts: 10, perEndpoint: 4, bodies: later }, due);
  assert.equal(first?.owner.id, "large", "a body over a quarter of the budget needs half of it");
});
