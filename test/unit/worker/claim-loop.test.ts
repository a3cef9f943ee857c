import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import type { Store } from "../../../src/store/store.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { ClaimLoop, type ClaimLoopOptions } from "../../../src/worker/claim-loop.ts";
import type { ActiveRun } from "../../../src/worker/leases.ts";

type Answer = (readonly string[])[] | Error;

/**
 * A loop with two slots. `answers` has what each claim finds: the accounts of submissions, or an error. `log` says what the loop does.
 */
function loopOf({ answers, holdMs = 60_000, free = 2 }: { answers: Answer[]; holdMs?: number; free?: number }) {
  const log: string[] = [];
  const slots = {
    headroom: free,
    freeCount: free,
    alive: 2,
    take: () => {
      slots.headroom--;
      slots.freeCount--;
      return {};
    },
    endingByAccount: () => new Map<string, number>(),
  };
  let answered = Promise.withResolvers<void>();
  const loop = new ClaimLoop({
    store: {
      onWork: () => () => {},
      submissions: {
        claim: async (...[, , startable, ahead]: Parameters<Store["submissions"]["claim"]>) => {
          log.push(`claim ${startable}+${ahead}`);
          await answered.promise;
          const answer = answers.shift() ?? [];
          if (answer instanceof Error) throw answer;
          return answer.map(([id, accountId]) => ({ submission: { id, accountId } }) as Claim);
        },
      },
    } as unknown as Store,
    workerId: "w",
    leaseMs: 60_000,
    workers: 2,
    ahead: { amount: 2, holdMs },
    givesNetworks: () => false,
    log: pino({ enabled: false }),
    slots: slots as unknown as ClaimLoopOptions["slots"],
    leases: {
      comparingByAccount: () => new Map(),
      runningByAccount: () => new Map(),
      hold: (claim: Claim) => ({ claim, abandoned: false, heldSinceMs: performance.now() }) as ActiveRun,
      drop: ({ claim }: ActiveRun) => log.push(`drop ${claim.submission.id}`),
      giveBack: async ({ claim }: ActiveRun) => void log.push(`give back ${claim.submission.id}`),
    } as unknown as ClaimLoopOptions["leases"],
    choose: () => undefined,
    serve: ({ claim }) => log.push(`start ${claim.submission.id}`),
  });
  const answer = async () => {
    answered.resolve();
    for (let turn = 0; turn < 10; turn++) await new Promise((next) => setImmediate(next));
    answered = Promise.withResolvers();
  };
  const until = async (line: string) => {
    while (!log.includes(line)) await new Promise((next) => setImmediate(next));
  };
  return { loop, log, slots, answer, until };
}

test("claimed submissions start on free slots, and the others when a slot becomes free", async () => {
  const { loop, log, slots, answer } = loopOf({
    answers: [
      [
        ["a1", "a"],
        ["a2", "a"],
        ["b1", "b"],
      ],
    ],
  });
  loop.wake();
  await answer();
  assert.deepEqual([log, loop.held], [["claim 2+2", "start a1", "start b1"], 1]);
  Object.assign(slots, { headroom: 1, freeCount: 1 });
  loop.advance();
  assert.deepEqual([log.slice(3), loop.held], [["start a2"], 0]);
  await loop.stop();
  assert.equal(log.length, 4);
});

test("a notification during a claim causes another claim, and two of them cause one", async () => {
  const { loop, log, answer } = loopOf({ answers: [[], []] });
  loop.wake();
  loop.wake();
  loop.wake();
  assert.deepEqual(log, ["claim 2+2"]);
  await answer();
  assert.deepEqual(log, ["claim 2+2", "claim 2+2"]);
  await answer();
  assert.equal(log.length, 2, "nobody has woken it since");
  await loop.stop();
});

test("submissions that cannot start in time are given back, the last claimed first, and none is claimed ahead until a run ends", async () => {
  const { loop, log, answer, until } = loopOf({
    answers: [
      [
        ["a1", "a"],
        ["b1", "b"],
      ],
    ],
    holdMs: 20,
    free: 0,
  });
  loop.wake();
  await answer();
  await until("give back a1");
  assert.deepEqual([log, loop.held], [["claim 0+2", "give back b1", "give back a1"], 0]);
  loop.wake();
  assert.equal(log.length, 3);
  loop.ran(1_000);
  loop.wake();
  assert.deepEqual(log.slice(3), ["claim 0+2"]);
  const stopped = loop.stop();
  await answer();
  await stopped;
});

test("a claim that fails is tried again after a second without a notification", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { loop, log, answer } = loopOf({ answers: [new Error("the database is away"), [["a1", "a"]]] });
  loop.wake();
  await answer();
  assert.deepEqual(log, ["claim 2+2"]);
  t.mock.timers.tick(999);
  assert.equal(log.length, 1);
  t.mock.timers.tick(1);
  assert.equal(log.length, 2);
  await answer();
  assert.deepEqual(log.slice(2), ["start a1"]);
  await loop.stop();
});

test("a stop waits for the claim under way, and gives back what it brought", async () => {
  const { loop, log, answer } = loopOf({ answers: [[["a1", "a"]]] });
  loop.wake();
  let hasStopped = false;
  const stopped = loop.stop().then(() => {
    hasStopped = true;
  });
  await Promise.resolve();
  assert.equal(hasStopped, false);
  await answer();
  await stopped;
  assert.deepEqual(log, ["claim 2+2", "give back a1"]);
  loop.wake();
  assert.equal(log.length, 2);
});
