import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { internalError } from "../../../src/domain/outcome.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { addKey, enqueue, temporaryPostgres } from "../../support/store/temporary.ts";

/** One process keeps these rules by its single writer; several processes must keep them by the database. */
const LIMIT = { timeout: 60_000 };
const UUID = "0f8fad5b-d9cb-469f-a165-70867728950e";

async function processes(t: TestContext, count = 4) {
  const { store, another, clock } = await temporaryPostgres(t);
  const stores = [store, ...(await Promise.all(Array.from({ length: count - 1 }, another)))];
  return { stores, store, clock };
}

/** Runs the work `times` times on each store, all concurrently. */
function atOnce<T>(stores: readonly Store[], times: number, work: (store: Store, at: number) => Promise<T>) {
  return Promise.all(stores.flatMap((store) => Array.from({ length: times }, (_, at) => work(store, at))));
}

test("the queue's bound is exact across processes", LIMIT, async (t) => {
  const { stores, store } = await processes(t);
  const key = await addKey(store, "a");
  const results = await atOnce(stores, 25, (one) => enqueue(one, key, { maxPending: 60 }));
  assert.equal(results.filter(({ kind }) => kind === "enqueued").length, 30);
  assert.equal(await store.submissions.depth(), 30);
});

test("concurrent equal requests to several processes are one submission", LIMIT, async (t) => {
  const { stores, store } = await processes(t);
  const key = await addKey(store, "a");
  const results = await atOnce(stores, 10, (one) => enqueue(one, key, { idempotencyKey: UUID }));
  assert.equal(results.filter(({ kind }) => kind === "enqueued").length, 1);
  assert.equal(results.filter(({ kind }) => kind === "duplicate").length, 39);
  assert.equal(await store.submissions.depth(), 1);
});

test("a key's concurrency is never exceeded across processes", LIMIT, async (t) => {
  const { stores, store } = await processes(t);
  const keys = await Promise.all(["a", "b"].map((name) => addKey(store, name, { concurrency: 3 })));
  for (const key of keys) for (let i = 0; i < 25; i++) await enqueue(store, key);
  // Concurrently, each process claims more than both keys allow.
  const first = (await atOnce(stores, 3, (one) => one.submissions.claim("w", 60_000, 10))).flat();
  for (const { keyId } of keys)
    assert.equal(first.filter(({ submission }) => submission.keyId === keyId).length, 3, "running at once");
  for (const { lease } of first) assert.equal(await store.submissions.finish(lease, internalError("x")), true);
  const running = new Map<string, number>();
  let most = 0;
  const count = (claim: Claim, by: number) => {
    const { keyId } = claim.submission;
    const now = (running.get(keyId) ?? 0) + by;
    running.set(keyId, now);
    most = Math.max(most, now);
  };
  const seen = new Set<string>();
  // Counted as running from the return of the claim until the finish is sent, which is never longer than in the database.
  const work = async (one: Store) => {
    for (let idle = 0; idle < 20; ) {
      const claims = await one.submissions.claim("w", 60_000, 2);
      for (const claim of claims) count(claim, 1);
      idle = claims.length === 0 ? idle + 1 : 0;
      for (const claim of claims) {
        assert.ok(!seen.has(claim.submission.id), "claimed twice");
        seen.add(claim.submission.id);
        await sleep(10);
        count(claim, -1);
        assert.equal(await one.submissions.finish(claim.lease, internalError("x")), true);
      }
    }
  };
  await atOnce(stores, 3, work);
  assert.equal(first.length + seen.size, 50);
  assert.ok(most <= 3, `${most} were running at once`);
});

test("concurrent sweeps requeue each expired lease once and never a renewed lease", LIMIT, async (t) => {
  const { stores, store, clock } = await processes(t);
  const key = await addKey(store, "a", { concurrency: 100, profiles: ["judge", "agent"] });
  for (let i = 0; i < 40; i++) await enqueue(store, key, { profile: i % 2 === 0 ? "judge" : "agent" });
  const claims = await store.submissions.claim("w", 1_000, 40);
  await Promise.all(stores.map((one) => one.submissions.sweep(1_000)));
  clock.steadyMs += 1_000;
  const alive = claims.slice(0, 20);
  const [kept, swept] = await Promise.all([
    Promise.all(alive.map(({ lease }) => store.submissions.renew(lease, 60_000))),
    atOnce(stores, 3, (one) => one.submissions.sweep(1_000)),
  ]);
  const taken = swept.flatMap(({ requeued, failed }) => [...requeued, ...failed]);
  assert.equal(new Set(taken).size, taken.length, "requeued twice");
  const lost = alive.filter((_, at) => !kept[at]).map(({ submission }) => submission.id);
  const expected = [...claims.slice(20).map(({ submission }) => submission.id), ...lost];
  assert.deepEqual(taken.sort(), expected.sort());
});

test("concurrent operations end without a deadlock, and every submission ends once", LIMIT, async (t) => {
  const { stores, store, clock } = await processes(t);
  const keys = await Promise.all(["a", "b", "c"].map((name) => addKey(store, name, { concurrency: 4 })));
  const finished: string[] = [];
  const submit = async (one: Store, at: number) => {
    const key = keys[at % keys.length];
    assert.ok(key);
    await one.keys.touch(key.keyId);
    await enqueue(one, key, at % 3 === 0 ? { idempotencyKey: `${key.keyId} ${at}` } : {});
  };
  const work = async (one: Store, at: number) => {
    for (let i = 0; i < 12; i++) {
      clock.nowMs += 20;
      clock.steadyMs += 20;
      for (const { lease, submission } of await one.submissions.claim(`w${at}`, 500, 2)) {
        if (i % 4 === 3) await one.submissions.release(lease, true);
        else if (await one.submissions.finish(lease, internalError("x"))) finished.push(submission.id);
      }
      await one.submissions.sweep(500);
    }
  };
  await Promise.all([atOnce(stores, 15, submit), atOnce(stores, 2, work)]);
  while ((await store.submissions.depth()) > 0) await work(store, 0);
  assert.equal(new Set(finished).size, finished.length);
  // 15 for each process; the 5 with an idempotency key are the same in all four processes.
  assert.equal(finished.length, 4 * 10 + 5);
});
