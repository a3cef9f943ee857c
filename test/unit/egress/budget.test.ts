import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { ByteBudget, type ByteLender, type Lease, MemoryLender } from "../../../src/egress/budget.ts";

/** A lender in another process: it answers after some turns of the event loop, and counts what it was asked. */
class SlowLender implements ByteLender {
  readonly #lender: MemoryLender;
  readonly #turns: () => number;
  leases = 0;
  given = 0;

  constructor(lender: MemoryLender, turns: () => number = () => 1) {
    this.#lender = lender;
    this.#turns = turns;
  }

  async lease(wanted: number): Promise<Lease> {
    this.leases++;
    for (let left = this.#turns(); left > 0; left--) await turn();
    const lease = await this.#lender.lease(wanted);
    this.given += lease.bytes;
    return lease;
  }
}

/** Takes until the budget is used up, as a connection does. @returns what it got. */
async function drain(budget: ByteBudget, sizes: () => number): Promise<number> {
  let got = 0;
  for (;;) {
    const wanted = sizes();
    const taken = await budget.take(wanted);
    assert.ok(taken >= 0 && taken <= wanted);
    got += taken;
    if (taken < wanted) return got;
    await turn();
  }
}

/** Numbers that are the same in each run with the same seed. */
function random(seed: number): (below: number) => number {
  let state = seed + 1;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

test("64 connections that race for the last byte use exactly the budget, in each of 100 runs", async () => {
  for (let run = 0; run < 100; run++) {
    const next = random(run);
    // In half of the runs, all of them take single bytes, and in the others whole chunks.
    const most = run % 2 === 0 ? 3 : 65_536;
    const limit = next(most * 200);
    const budget = new ByteBudget(limit);
    const got = await Promise.all(Array.from({ length: 64 }, () => drain(budget, () => 1 + next(most))));
    assert.equal(
      got.reduce((sum, bytes) => sum + bytes, 0),
      limit,
      `run ${run}`,
    );
    assert.equal(budget.used, limit);
    assert.equal(budget.left, 0);
  }
});

test("sandboxes of two workers that share a lender use exactly what it has, in each of 100 runs", async () => {
  for (let run = 0; run < 100; run++) {
    const next = random(run);
    const limit = next(100_000);
    const lender = new MemoryLender(limit);
    const budgets = Array.from(
      { length: 4 },
      () => new ByteBudget(100_000, { lender: new SlowLender(lender, () => next(3)), blockBytes: 1 + next(5_000) }),
    );
    const got = await Promise.all(
      Array.from({ length: 64 }, (_, at) => drain(budgets[at % 4] as ByteBudget, () => 1 + next(4_000))),
    );
    const used = got.reduce((sum, bytes) => sum + bytes, 0);
    assert.equal(
      used,
      budgets.reduce((sum, budget) => sum + budget.used, 0),
    );
    await Promise.all(budgets.map((budget) => budget.close()));
    assert.equal(lender.leased, used, `run ${run}: what was leased is what was used`);
    assert.equal(used, limit, `run ${run}: everything was used`);
  }
});

test("the limit of the sandbox holds also if the lender has more", async () => {
  const lender = new MemoryLender(1_000_000);
  const budget = new ByteBudget(10_001, { lender: new SlowLender(lender), blockBytes: 1_000 });
  const next = random(5);
  const got = await Promise.all(Array.from({ length: 64 }, () => drain(budget, () => 1 + next(100))));
  assert.equal(
    got.reduce((sum, bytes) => sum + bytes, 0),
    10_001,
  );
  assert.equal(lender.leased, 10_001, "the last leases were not larger than the rest of the budget");
});

test("a lease serves many takes, and the next one comes before it is used up, so that no take waits", async () => {
  const lender = new SlowLender(new MemoryLender(10_000));
  const budget = new ByteBudget(5_000, { lender, blockBytes: 1_000 });
  assert.equal(await budget.take(10), 10);
  for (let at = 0; at < 49; at++) assert.equal(budget.take(10), 10);
  assert.equal(lender.leases, 1);
  for (let at = 0; at < 250; at++) {
    assert.equal(budget.take(10), 10, "without a promise");
    if (at % 25 === 0) for (let turns = 0; turns < 5; turns++) await turn();
  }
  assert.ok(lender.leases >= 3 && lender.leases <= 5, `${lender.leases} leases`);
  assert.equal(await budget.take(1_500), 1_500, "more than a block");
  assert.ok(lender.given <= 5_000, "never more than the budget");
});

test("without a size, a lease is a sixteenth of the limit, within bounds", async () => {
  const first = async (limit: number) => {
    const lender = new SlowLender(new MemoryLender(2 ** 44));
    await new ByteBudget(limit, { lender }).take(1);
    return lender.given;
  };
  const MiB = 2 ** 20;
  assert.deepEqual(await Promise.all([1_000, MiB, 2 * MiB, 64 * MiB, 2 ** 40].map(first)), [
    1_000,
    65_536,
    131_072,
    4 * MiB,
    16 * MiB,
  ]);
});

test("what an earlier process has used counts, and is not leased again", async () => {
  const lender = new SlowLender(new MemoryLender(1_000));
  const budget = new ByteBudget(100, { lender, used: 70, blockBytes: 50 });
  assert.deepEqual([budget.used, budget.left], [70, 30]);
  assert.equal(await budget.take(50), 30);
  assert.equal(lender.given, 30);
  assert.equal(new ByteBudget(100, { used: 150 }).take(1), 0, "the limit was lowered");
});

test("a lender that has nothing left is not asked for each take", async () => {
  const lender = new SlowLender(new MemoryLender(10));
  const budget = new ByteBudget(1_000, { lender, blockBytes: 10 });
  assert.equal(await budget.take(20), 10);
  const { leases } = lender;
  for (let at = 0; at < 100; at++) assert.equal(await budget.take(1), 0);
  assert.equal(lender.leases, leases);
  assert.equal(budget.left, 990, "of its own");
});

test("a process that dies has used no more than it had leased, and what it leased counts", async () => {
  const lender = new MemoryLender(1_000);
  const dead = new ByteBudget(1_000, { lender, blockBytes: 100 });
  assert.equal(await dead.take(120), 120); // and then it dies
  const next = new ByteBudget(1_000, { lender, used: lender.leased, blockBytes: 100 });
  const got = await drain(next, () => 7);
  assert.equal(120 + got + (lender.leased - 120 - got), 1_000);
  assert.equal(lender.leased, 1_000);
  assert.ok(120 + got <= 1_000 && got >= 700, `${got} bytes`);
});

test("takes that wait are served in order", async () => {
  const budget = new ByteBudget(100, { lender: new SlowLender(new MemoryLender(100), () => 5), blockBytes: 10 });
  const order: number[] = [];
  const takes = Array.from({ length: 20 }, async (_, at) => {
    const taken = await budget.take(10);
    order.push(at);
    return taken;
  });
  assert.deepEqual(await Promise.all(takes), [...Array(10).fill(10), ...Array(10).fill(0)]);
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  );
});

test("what was not used is given back once", async () => {
  const lender = new MemoryLender(1_000);
  const budget = new ByteBudget(500, { lender, blockBytes: 100 });
  assert.equal(await budget.take(30), 30);
  assert.equal(lender.leased, 100);
  await budget.close();
  assert.equal(lender.leased, 30);
  await budget.close();
  assert.equal(lender.leased, 30);
  assert.equal(await budget.take(1), 0, "a closed budget has nothing");
  const lease = await lender.lease(10);
  await lease.giveBack(4);
  await assert.rejects(lease.giveBack(4), /cannot be given back/);
  await assert.rejects((await lender.lease(10)).giveBack(11), /cannot be given back/);
});

test("a budget that is closed while it waits for a lease gives the lease back", async () => {
  const lender = new MemoryLender(1_000);
  const budget = new ByteBudget(500, { lender: new SlowLender(lender, () => 3), blockBytes: 100 });
  const taking = Promise.resolve(budget.take(30));
  await budget.close();
  assert.equal(lender.leased, await taking);
});

test("bytes that others gave back can be taken", async () => {
  const lender = new MemoryLender(100);
  const [first, second] = [
    new ByteBudget(100, { lender, blockBytes: 100 }),
    new ByteBudget(100, { lender, blockBytes: 100 }),
  ];
  assert.equal(await first.take(10), 10);
  assert.equal(await second.take(1), 0);
  await first.close();
  let got = 0; // the lender is asked again after a moment
  while (got === 0) {
    await sleep(20);
    got = await second.take(200);
  }
  assert.equal(got, 90);
});

test("a lender that fails reserves nothing, and the next take asks again", async () => {
  let isBroken = true;
  const lender = new MemoryLender(100);
  const flaky: ByteLender = {
    lease: async (wanted) => (isBroken ? Promise.reject(new Error("no database")) : lender.lease(wanted)),
  };
  const budget = new ByteBudget(100, { lender: flaky, blockBytes: 10 });
  const failed = await Promise.allSettled([budget.take(5), budget.take(5)]);
  assert.deepEqual(
    failed.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  assert.equal(budget.used, 0);
  isBroken = false;
  assert.equal(await budget.take(5), 5);
});

test("a changed limit holds at once, and what was used stays used", () => {
  const budget = new ByteBudget(100);
  assert.equal(budget.take(60), 60);
  budget.setLimit(50);
  assert.equal(budget.take(1), 0);
  assert.equal(budget.left, 0);
  budget.setLimit(70);
  assert.equal(budget.take(20), 10);
  assert.equal(budget.used, 70);
});

test("any sequence of takes and limits never uses more than the highest limit", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ wanted: fc.integer({ min: 1, max: 100 }), limit: fc.option(fc.nat(300)) }), {
        maxLength: 50,
      }),
      (steps) => {
        const budget = new ByteBudget(150);
        let [limit, sum] = [150, 0];
        for (const step of steps) {
          if (step.limit !== null) {
            limit = step.limit;
            budget.setLimit(limit);
          }
          const before = sum;
          sum += budget.take(step.wanted) as number;
          assert.equal(sum - before, Math.min(step.wanted, Math.max(0, limit - before)));
        }
        assert.equal(budget.used, sum);
      },
    ),
  );
});
