import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { sql } from "kysely";
import { internalError } from "../../../src/domain/outcome.ts";
import { openDatabase } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { HEADS } from "../../../src/store/submissions/claim.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { addJudgement, finish } from "../../support/store/judgements.ts";
import { addKey, enqueue, onEachDatabase, START_MS, temporaryPostgres } from "../../support/store/temporary.ts";

const OUTCOME = internalError("x");
/** A notification that never comes would be awaited forever. */
const LIMIT = { timeout: 10_000 };

/** A node of a query plan: rowsRead sums the rows of submissions that its nodes read in all loops. */
interface PlanNode {
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

function rowsRead(node: PlanNode): number {
  const own = (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"];
  const below = (node.Plans ?? []).reduce((sum, one) => sum + rowsRead(one), 0);
  return below + (node["Relation Name"] === "submissions" ? own : 0);
}

test("a claim reads a few rows for each key with pending work, regardless of the number of submissions", async (t) => {
  const { store, database } = await temporaryPostgres(t);
  for (const name of ["a", "b", "c"]) {
    const key = await addKey(store, name);
    await Promise.all(Array.from({ length: 400 }, () => enqueue(store, key, { maxPending: 10_000 })));
  }
  const engine = await openDatabase(database);
  t.after(() => engine.db.destroy());
  const explained = await sql<{ "QUERY PLAN": readonly [{ readonly Plan: PlanNode }] }>`
    explain (analyze, format json) ${HEADS}`.execute(engine.db);
  const plan = explained.rows[0]?.["QUERY PLAN"][0].Plan;
  assert.ok(plan);
  const read = rowsRead(plan);
  assert.ok(read > 0 && read <= 12, `${read} rows of 1,200 were read`);
  assert.equal((await store.submissions.claim("w", 1_000, 3)).length, 3);
});

/** Claims and ends submissions one by one. @returns the keys in the order of service. */
async function serve(store: Store, count: number): Promise<string[]> {
  const served: string[] = [];
  for (let i = 0; i < count; i++) {
    const [claim] = await store.submissions.claim("w", 1000);
    if (!claim) break;
    served.push(claim.submission.keyId);
    await store.submissions.finish(claim.lease, OUTCOME);
  }
  return served;
}

onEachDatabase((temporaryStore) => {
  test("nothing of a barred account is claimed, and the end of another submission announces it", LIMIT, async (t) => {
    const { store } = await temporaryStore(t);
    const [barred, other] = [await addKey(store, "barred"), await addKey(store, "other")];
    let woken = 0;
    t.after(store.onWork(() => woken++));
    const announced = async () => {
      for (woken = 0; woken === 0; ) await turn();
    };
    await Promise.all([announced(), enqueue(store, barred)]);
    await Promise.all([announced(), enqueue(store, other)]);
    const [claim, ...more] = await store.submissions.claim("w", 1000, 5, 5, [barred.accountId]);
    assert.ok(claim && more.length === 0);
    assert.equal(claim.submission.accountId, other.accountId);
    await Promise.all([announced(), store.submissions.finish(claim.lease, OUTCOME)]);
    assert.equal((await store.submissions.claim("w", 1000, 5)).length, 1);
  });

  test("a claimed submission is running, started and leased", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const key = await addKey(store, "a");
    await enqueue(store, key);
    clock.nowMs += 50;
    const [claim, ...more] = await store.submissions.claim("w", 1000, 5);
    assert.ok(claim && more.length === 0);
    assert.equal(claim.submission.status, "running");
    assert.equal(claim.submission.startedAtMs, START_MS + 50);
    assert.equal(claim.submission.attempts, 1);
    assert.equal(claim.lease.attempt, 1);
    assert.equal(await store.submissions.depth(), 0);
    assert.deepEqual(await store.submissions.claim("w", 1000), []);
  });

  test("a submission starts no earlier than it was created, even if the claim began earlier", async (t) => {
    const { store, clock } = await temporaryStore(t);
    await enqueue(store, await addKey(store, "a"));
    clock.nowMs -= 20;
    const [claim] = await store.submissions.claim("w", 60_000, 1);
    assert.equal(claim?.submission.startedAtMs, START_MS);
  });

  test("concurrent claims never return a submission twice", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a", { concurrency: 1000 });
    for (let i = 0; i < 40; i++) await enqueue(store, key);
    const claims = await Promise.all(Array.from({ length: 30 }, (_, i) => store.submissions.claim(`w${i}`, 1000, 2)));
    const ids = claims.flat().map(({ submission }) => submission.id);
    assert.equal(ids.length, 40);
    assert.equal(new Set(ids).size, 40);
  });

  test("within a key the first accepted is claimed first, regardless of the clock", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      const accepted = await enqueue(store, key, { nowMs: START_MS - i * 1000 });
      if (accepted.kind === "enqueued") ids.push(accepted.submission.id);
    }
    const claims = await store.submissions.claim("w", 1000, 5);
    assert.deepEqual(
      claims.map(({ submission }) => submission.id),
      ids,
    );
  });

  test("a key never exceeds its concurrency and does not block other keys", async (t) => {
    const { store } = await temporaryStore(t);
    const greedy = await addKey(store, "greedy", { concurrency: 3 });
    const modest = await addKey(store, "modest");
    for (let i = 0; i < 20; i++) await enqueue(store, greedy);
    await enqueue(store, modest);
    const claims = await store.submissions.claim("w", 1000, 100);
    const byKey = claims.map(({ submission }) => submission.keyId);
    assert.equal(byKey.filter((id) => id === "greedy").length, 3);
    assert.equal(byKey.filter((id) => id === "modest").length, 1);
    assert.deepEqual(await store.submissions.claim("w", 1000, 100), []);
    const mine = claims.find(({ submission }) => submission.keyId === "greedy");
    assert.ok(mine && (await store.submissions.finish(mine.lease, OUTCOME)));
    assert.equal((await store.submissions.claim("w", 1000, 100)).length, 1);
  });

  test("without an override the tier's concurrency of 10 applies", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    for (let i = 0; i < 15; i++) await enqueue(store, key);
    assert.equal((await store.submissions.claim("w", 1000, 100)).length, 10);
  });

  test("a new key waits for one run of a busy key, not for its whole queue", async (t) => {
    const { store } = await temporaryStore(t);
    const busy = await addKey(store, "busy");
    const late = await addKey(store, "late");
    for (let i = 0; i < 30; i++) await enqueue(store, busy);
    assert.deepEqual(await serve(store, 2), ["busy", "busy"]);
    await enqueue(store, late);
    assert.ok((await serve(store, 2)).includes("late"));
  });

  test("keys with pending work take turns", async (t) => {
    const { store } = await temporaryStore(t);
    for (const name of ["a", "b", "c"]) {
      const key = await addKey(store, name);
      for (let i = 0; i < 4; i++) await enqueue(store, key);
    }
    const served = await serve(store, 12);
    for (let round = 0; round < 4; round++) {
      assert.deepEqual(served.slice(round * 3, round * 3 + 3).sort(), ["a", "b", "c"]);
    }
  });

  test("a claim of several serves the key with the fewest running first", async (t) => {
    const { store } = await temporaryStore(t);
    const a = await addKey(store, "a");
    for (let i = 0; i < 6; i++) await enqueue(store, a);
    await store.submissions.claim("w", 1000, 3);
    const b = await addKey(store, "b");
    for (let i = 0; i < 6; i++) await enqueue(store, b);
    const next = await store.submissions.claim("w", 1000, 3);
    assert.deepEqual(
      next.map(({ submission }) => submission.keyId),
      ["b", "b", "b"],
    );
  });

  test("20 keys of one account get no more than the only key of another account", async (t) => {
    const { store } = await temporaryStore(t);
    for (let at = 0; at < 20; at++) {
      const key = await addKey(store, `many${at}`, { account: "many" });
      for (let i = 0; i < 3; i++) await enqueue(store, key);
    }
    const one = await addKey(store, "one");
    for (let i = 0; i < 20; i++) await enqueue(store, one);
    const served = await serve(store, 40);
    assert.equal(served.filter((id) => id === "one").length, 20);
    assert.equal(new Set(served).size, 21, "each key of the busy account was served");
  });

  test("with an odd number of slots, more keys do not always win the odd slot", async (t) => {
    const { store } = await temporaryStore(t);
    const two = [await addKey(store, "a", { account: "two" }), await addKey(store, "b", { account: "two" })];
    const one = await addKey(store, "one");
    for (const key of [...two, one, one]) for (let i = 0; i < 30; i++) await enqueue(store, key);
    const served: string[] = [];
    const running = await store.submissions.claim("w", 1000, 3);
    for (let i = 0; i < 30; i++) {
      const oldest = running.shift();
      assert.ok(oldest && (await store.submissions.finish(oldest.lease, OUTCOME)));
      const [next] = await store.submissions.claim("w", 1000);
      assert.ok(next);
      running.push(next);
      served.push(next.submission.keyId);
    }
    assert.equal(served.filter((id) => id === "one").length, 15);
  });

  test("when one account fills every slot, the next free slot goes to a new account", async (t) => {
    const { store } = await temporaryStore(t);
    for (let at = 0; at < 4; at++) {
      const key = await addKey(store, `busy${at}`, { account: "busy" });
      for (let i = 0; i < 10; i++) await enqueue(store, key);
    }
    const running = await store.submissions.claim("w", 1000, 8);
    assert.equal(running.length, 8);
    await enqueue(store, await addKey(store, "newcomer"));
    const [first] = running;
    assert.ok(first && (await store.submissions.finish(first.lease, OUTCOME)));
    const [next] = await store.submissions.claim("w", 1000);
    assert.equal(next?.submission.keyId, "newcomer");
  });

  test("accounts served in one claim keep their order in the next", async (t) => {
    const { store } = await temporaryStore(t);
    for (const name of ["a", "b", "c", "d"]) {
      const key = await addKey(store, name);
      for (let i = 0; i < 6; i++) await enqueue(store, key);
    }
    const served: string[] = [];
    for (let round = 0; round < 8; round++) {
      for (const { submission, lease } of await store.submissions.claim("w", 1000, 3)) {
        served.push(submission.keyId);
        await store.submissions.finish(lease, OUTCOME);
      }
    }
    assert.equal(served.join(""), "abcd".repeat(6));
  });

  test("submissions are claimed ahead up to the first agent run and 8 MiB of tests", async (t) => {
    const { store } = await temporaryStore(t);
    const claimed = async (max: number, ahead: number) =>
      (await store.submissions.claim("w", 1000, max, ahead)).map(({ submission }) => submission.profile);
    const [plain, agents] = [await addKey(store, "a", { concurrency: 50 }), await addKey(store, "b")];
    for (let number = 0; number < 3; number++) await enqueue(store, plain);
    assert.deepEqual(await claimed(1, 4), ["judge", "judge", "judge"]);
    for (let number = 0; number < 3; number++) await enqueue(store, agents, { profile: "agent" });
    assert.deepEqual(await claimed(1, 4), ["agent"]);
    assert.deepEqual(await claimed(0, 4), []);
    assert.deepEqual(await claimed(2, 4), ["agent", "agent"]);
    const large = await addKey(store, "c", { concurrency: 50 });
    const answers = Array.from({ length: 20 }, (_, at) => `${at} ${"x".repeat(1_048_576)}`);
    await addJudgement(store, large, { answers });
    const [first] = await store.submissions.claim("w", 1000);
    await finish(store, first as Claim, "AC");
    assert.equal((await claimed(2, 16)).length, 9);
    assert.equal((await claimed(0, 16)).length, 7);
  });

  test("an account whose submission is released before its start is next", async (t) => {
    const { store } = await temporaryStore(t);
    const names = ["a", "b", "c", "d"];
    for (const name of names) {
      const key = await addKey(store, name, { concurrency: 50 });
      for (let number = 0; number < 8; number++) await enqueue(store, key);
    }
    const served: string[] = [];
    for (let round = 0; round < 8; round++) {
      const [first, ...ahead] = await store.submissions.claim("w", 1000, 1, 3);
      const release = ({ lease }: Claim) => store.submissions.release(lease, false);
      if (round % 2 === 0) for (const claim of ahead.reverse()) await release(claim);
      else await Promise.all(ahead.reverse().map(release));
      served.push(first?.submission.keyId ?? "");
      await store.submissions.finish((first as Claim).lease, OUTCOME);
    }
    assert.deepEqual(served, [...names, ...names]);
  });

  test("the programs of claims ahead count as well", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a", { concurrency: 50 });
    for (let number = 0; number < 30; number++) await enqueue(store, key, { stdin: "x".repeat(1_048_576) });
    assert.equal((await store.submissions.claim("w", 1000, 0, 30)).length, 7);
  });

  test("the progress of submissions that have given up their slots counts as well", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a", { concurrency: 50 });
    for (let number = 0; number < 30; number++) await enqueue(store, key);
    const nextPass = { input: Buffer.alloc(786_432, "x"), feedback: [] }; // 1 MiB in base64
    const measured = { runs: 1, cpuUsec: 0, memoryPeakBytes: 0 };
    for (const { lease } of await store.submissions.claim("w", 1000, 30))
      await store.submissions.yieldSlot(lease, { runs: 1, measured, nextPass });
    assert.equal((await store.submissions.claim("w", 1000, 0, 30)).length, 7);
  });

  test("a submission that has completed runs keeps the time of the first one when its claim is given back", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const key = await addKey(store, "a");
    await enqueue(store, key);
    const progress = { runs: 1, measured: { runs: 1, cpuUsec: 0, memoryPeakBytes: 0 }, nextPass: null };
    const started: unknown[] = [];
    const claim = async () => {
      const [one] = await store.submissions.claim("w", 1000);
      started.push(one?.submission.startedAtMs);
      return (one as Claim).lease;
    };
    await store.submissions.yieldSlot(await claim(), progress);
    clock.nowMs += 1_000;
    await store.submissions.release(await claim(), true);
    clock.nowMs += 1_000;
    await store.submissions.requeue(await claim());
    clock.nowMs += 1_000;
    await store.submissions.sweepAll();
    await claim();
    assert.deepEqual(started, Array(4).fill(START_MS));
  });
});
