import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Store } from "../../../src/store/store.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { addJudgement, finish, LEASE_MS } from "../../support/store/judgements.ts";
import { addKey, onEachDatabase } from "../../support/store/temporary.ts";
import {
  ACTOR,
  addEndpoint,
  addProject,
  DONE,
  deliveryBudget,
  endOne,
  type Project,
  submit,
} from "../../support/webhooks/project.ts";

const DAY_MS = 86_400_000;

onEachDatabase((temporaryStore) => {
  async function fixture(t: TestContext) {
    const { store, clock } = await temporaryStore(t);
    return { store, clock, project: await addProject(store) };
  }

  const get = (store: Store, { key }: Project, id: string) => store.submissions.get(id, key.accountId);
  const delivered = async (store: Store) => {
    for (const claim of await store.deliveries.claimDue({ leaseMs: 1_000, ...deliveryBudget(100) })) {
      const attempt = { atMs: 0, latencyMs: 1, status: 200, error: null, answer: null };
      await store.deliveries.recordAttempt(claim, attempt, { state: "delivered" });
    }
  };

  test("a record stays unchanged until it expires, and is then deleted completely", async (t) => {
    const { store, clock, project } = await fixture(t);
    const first = await endOne(store, project);
    clock.nowMs += DAY_MS;
    const second = await endOne(store, project);
    const whole = await get(store, project, second);
    assert.equal(await store.retention.purge(clock.nowMs - 1, 10), 1);
    assert.equal(await get(store, project, first), undefined);
    assert.deepEqual(await get(store, project, second), whole);
    assert.equal(await store.retention.purge(clock.nowMs, 10), 1);
    assert.equal(await store.retention.purge(clock.nowMs + 1_000 * DAY_MS, 10), 0);
  });

  test("the oldest are deleted first, and never more than the maximum", async (t) => {
    const { store, clock, project } = await fixture(t);
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      ids.push(await endOne(store, project));
      clock.nowMs++;
    }
    assert.equal(await store.retention.purge(clock.nowMs, 2), 2);
    const left = await Promise.all(ids.map((id) => get(store, project, id)));
    assert.deepEqual(
      left.map((record) => record !== undefined),
      [false, false, true, true, true],
    );
  });

  for (const way of ["purge", "erase"] as const)
    test(`${way}: a judgement is deleted at once, and its runs in steps, because they can have 1 GiB of output`, async (t) => {
      const { store, clock } = await temporaryStore(t);
      const key = await addKey(store, "a", { concurrency: 20 });
      const answers = Array.from({ length: 9 }, (_, at) => `${at}`);
      const { id } = await addJudgement(store, key, { answers, stop: "never" });
      for (let claims: readonly unknown[] = [1]; claims.length > 0; ) {
        claims = await store.submissions.claim("w", LEASE_MS, 20);
        for (const claim of claims) await finish(store, claim as Claim, "AC");
      }
      const runs = (await store.judgements.get(id, key.accountId))?.runs ?? [];
      assert.equal(runs.length, 9);
      const left = async () =>
        (await Promise.all(runs.map((run) => store.submissions.get(run.submissionId, key.accountId)))).filter(Boolean)
          .length;
      clock.nowMs += DAY_MS;
      const step = () =>
        way === "purge" ? store.retention.purge(clock.nowMs, 4) : store.retention.erase(key.accountId, clock.nowMs, 4);
      const counts: number[] = [];
      while ((await step()) > 0) counts.push(await left());
      assert.equal(await store.judgements.get(id, key.accountId), undefined);
      assert.deepEqual(counts.slice(0, 3), [5, 1, 0]);
    });

  test("submissions that have not ended are kept, regardless of age", async (t) => {
    const { store, clock, project } = await fixture(t);
    const running = await submit(store, project);
    await store.submissions.claim("w", 1_000);
    const pending = await submit(store, project);
    clock.nowMs += 1_000 * DAY_MS;
    assert.equal(await store.retention.purge(clock.nowMs, 10), 0);
    assert.equal((await get(store, project, running))?.status, "running");
    assert.equal((await get(store, project, pending))?.status, "pending");
  });

  test("a record with a pending delivery is kept until delivery, and its log is deleted with it", async (t) => {
    const { store, clock, project } = await fixture(t);
    await addEndpoint(store, project);
    const id = await endOne(store, project);
    assert.equal(await store.retention.purge(clock.nowMs, 10), 0);
    await delivered(store);
    assert.equal((await store.deliveries.list({ max: 10, submissionId: id })).length, 1);
    assert.equal(await store.retention.purge(clock.nowMs, 10), 1);
    assert.deepEqual(await store.deliveries.list({ max: 10 }), []);
  });

  test("test messages are deleted as well when they expire", async (t) => {
    const { store, clock, project } = await fixture(t);
    const { id } = await addEndpoint(store, project);
    const test = { messageId: "m", body: Buffer.from("{}"), leaseMs: 1_000 };
    const claim = await store.deliveries.addTest(id, test, "test");
    assert.ok(claim);
    assert.equal(await store.retention.purge(clock.nowMs + DAY_MS, 10), 0);
    const attempt = { atMs: 0, latencyMs: 1, status: 200, error: null, answer: null };
    await store.deliveries.recordAttempt(claim, attempt, { state: "delivered" });
    assert.equal(await store.retention.purge(clock.nowMs + DAY_MS, 10), 1);
    assert.deepEqual(await store.deliveries.list({ max: 10 }), []);
  });

  test("an idempotency key is kept as long as its record", async (t) => {
    const { store, clock, project } = await fixture(t);
    const same = { key: "3d0cbb6e-6a5f-4b3c-9d38-3d2e1b3cb6d1", requestHash: "h" };
    const first = await submit(store, project, "judge", same);
    assert.equal(await submit(store, project, "judge", same), first);
    const [claim] = await store.submissions.claim("w", 1_000);
    assert.ok(claim);
    await store.submissions.release(claim.lease, false);
    await endPending(store);
    await store.retention.purge(clock.nowMs, 10);
    assert.notEqual(await submit(store, project, "judge", same), first);
  });

  test("erasing an account deletes its ended records, delivered or not, except later ones", async (t) => {
    const { store, clock, project } = await fixture(t);
    const other = await addProject(store, "other");
    await addEndpoint(store, project);
    const mine = [await endOne(store, project), await endOne(store, project), await endOne(store, project)];
    const theirs = await endOne(store, other);
    const waiting = await submit(store, project);
    const { accountId } = project.key;
    const before = await store.retention.beginErase(accountId, ACTOR);
    assert.equal(before, clock.nowMs);
    assert.equal(await store.retention.erase(accountId, before, 2), 2);
    assert.equal(await store.retention.erase(accountId, before, 2), 1);
    clock.nowMs++;
    await endPending(store);
    assert.equal(await store.retention.erase(accountId, before, 2), 0);
    assert.deepEqual(await Promise.all(mine.map((id) => get(store, project, id))), [undefined, undefined, undefined]);
    assert.equal((await get(store, project, waiting))?.status, "completed");
    assert.equal((await get(store, other, theirs))?.status, "completed");
    const [entry] = await store.audit.list({ max: 1 });
    assert.deepEqual([entry?.action, entry?.subject, entry?.actor], ["account.erase", accountId, ACTOR]);
  });
});

/** Ends the only pending submission. */
async function endPending(store: Store): Promise<void> {
  const [claim] = await store.submissions.claim("w", 1_000);
  assert.ok(claim);
  await store.submissions.finish(claim.lease, DONE);
}
