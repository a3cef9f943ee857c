import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import type { Store } from "../../../src/store/store.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { ClaimLoop, type ClaimLoopOptions } from "../../../src/worker/claim-loop.ts";
import type { ActiveRun } from "../../../src/worker/leases.ts";

const claimOf = (accountId: string) => ({ submission: { accountId } }) as Claim;

test("while many boxes of an account are ending, none of its submissions starts, and those of others do", async () => {
  const started: string[] = [];
  const barred: (readonly string[])[] = [];
  const ending = new Map([["hostile", 4]]);
  const claims = [claimOf("hostile"), claimOf("honest")];
  const slots = {
    capacity: 2,
    freeCount: 2,
    alive: 2,
    take: () => ({}),
    endingOf: (least: number) => [...ending].flatMap(([account, amount]) => (amount >= least ? account : [])),
  };
  const loop = new ClaimLoop({
    store: {
      onWork: () => () => {},
      submissions: {
        claim: async (...[, , , , accounts]: Parameters<Store["submissions"]["claim"]>) => {
          barred.push(accounts ?? []);
          return claims.splice(0);
        },
      },
    } as unknown as Store,
    workerId: "w",
    leaseMs: 60_000,
    log: pino({ enabled: false }),
    slots: slots as unknown as ClaimLoopOptions["slots"],
    leases: {
      comparing: () => [],
      byAccount: () => new Map(),
      hold: (claim: Claim) => ({ claim, abandoned: false, heldSinceMs: performance.now() }) as ActiveRun,
      giveBack: async () => {},
    } as unknown as ClaimLoopOptions["leases"],
    ahead: { amount: 0, holdMs: 60_000, pause: () => {} },
    choose: () => undefined,
    serve: ({ claim }) => started.push(claim.submission.accountId),
  });
  loop.wake();
  while (barred.length === 0 || started.length === 0) await new Promise((turn) => setImmediate(turn));
  // The submission was claimed before its account had so many: it waits in this worker, or is given back.
  assert.deepEqual([barred[0], started, loop.held], [["hostile"], ["honest"], 1]);
  ending.set("hostile", 3);
  loop.startHeld();
  assert.deepEqual([started, loop.held], [["honest", "hostile"], 0]);
  await loop.stop();
});
