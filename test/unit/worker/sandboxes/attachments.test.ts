import assert from "node:assert/strict";
import { test } from "node:test";
import { Budget } from "../../../../src/fairness/budget.ts";
import { Attachments } from "../../../../src/worker/sandboxes/attachments.ts";
import { Pace } from "../../../../src/worker/sandboxes/pace.ts";
import { sandboxRequest } from "../../../support/sandboxes/caller.ts";
import { MemoryEngine } from "../../../support/sandboxes/memory-engine.ts";

test("connections wait for the next execution: many shortly, few for longer, and none for long", async () => {
  const box = await new MemoryEngine(async () => ({})).hold(sandboxRequest().limits);
  const account = {
    ...{ running: 0, most: 16, idle: new Set<() => boolean>(), freeingUntilMs: 0 },
    freed: Promise.withResolvers<void>(),
    terminals: new Pace(1, 1),
  };
  const machine = new Budget({ total: 16 });
  const attachments = new Attachments({ box, network: null, accountId: "a", machine, account, onFull: () => {} });
  const taken = await Promise.all(Array.from({ length: 12 }, () => attachments.take()));
  assert.deepEqual([box.attached.size, machine.held, account.running], [12, 12, 12]);
  for (const one of taken) one.give(true);
  const left = () => [box.attached.size, machine.held, account.running];
  assert.deepEqual(left(), [8, 8, 0]);
  const again = await attachments.take();
  assert.deepEqual(left(), [8, 8, 1]);
  again.give(true);
  const nowMs = performance.now();
  attachments.closeUnused(nowMs);
  assert.deepEqual(left(), [8, 8, 0]);
  attachments.closeUnused(nowMs + 2_000);
  assert.deepEqual(left(), [2, 2, 0]);
  const [last] = box.attached;
  (await attachments.take()).give(false);
  assert.equal(box.attached.size, 1);
  assert.equal(last?.alive ?? false, true);
  attachments.closeUnused(nowMs + 59_000);
  assert.deepEqual(left(), [1, 1, 0]);
  attachments.closeUnused(nowMs + 61_000);
  assert.deepEqual(left(), [0, 0, 0]);
});
