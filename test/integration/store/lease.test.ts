import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { internalError } from "../../../src/domain/outcome.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { addKey, enqueue, onEachDatabase, START_MS, sweepLater } from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";

const LEASE_MS = 1000;
const DONE = buildOutcome({ execute: report({ stdout: Buffer.from([0, 255, 10]), stderr: Buffer.from("e") }) });

async function claimOne(store: Store, workerId = "w"): Promise<Claim> {
  const [claim] = await store.submissions.claim(workerId, LEASE_MS);
  assert.ok(claim, "nothing to claim");
  return claim;
}

onEachDatabase((temporaryStore) => {
  async function running(t: TestContext, profile: "judge" | "agent" = "judge") {
    const { store, clock } = await temporaryStore(t);
    const key = await addKey(store, "a", { profiles: ["judge", "agent"] });
    await enqueue(store, key, { profile });
    const claim = await claimOne(store);
    const read = () => store.submissions.get(claim.submission.id, key.accountId);
    return { store, clock, claim, read };
  }

  test("finish records the outcome unchanged, once", async (t) => {
    const { store, clock, claim, read } = await running(t);
    clock.nowMs += 7;
    assert.equal(await store.submissions.finish(claim.lease, DONE), true);
    const submission = await read();
    assert.equal(submission?.status, "completed");
    assert.equal(submission?.completedAtMs, START_MS + 7);
    assert.deepEqual(submission?.outcome, DONE);
    assert.equal(await store.submissions.finish(claim.lease, internalError("late")), false);
    assert.deepEqual(await read(), submission);
  });

  test("a terminal submission is never claimed, renewed, released or swept", async (t) => {
    const { store, clock, claim, read } = await running(t);
    await store.submissions.finish(claim.lease, DONE);
    const before = await read();
    assert.equal(await store.submissions.renew(claim.lease, LEASE_MS), false);
    assert.equal(await store.submissions.release(claim.lease, false), false);
    assert.deepEqual(await sweepLater(store, clock, LEASE_MS), { requeued: [], failed: [] });
    assert.deepEqual(await store.submissions.sweepAll(), { requeued: [], failed: [] });
    assert.deepEqual(await store.submissions.claim("w", LEASE_MS), []);
    assert.deepEqual(await read(), before);
  });

  test("a lease is swept once it was not renewed for its duration", async (t) => {
    const { store, clock, claim, read } = await running(t);
    const NOTHING = { requeued: [], failed: [] };
    assert.deepEqual(await store.submissions.sweep(LEASE_MS), NOTHING);
    clock.steadyMs += LEASE_MS - 1;
    assert.equal(await store.submissions.renew(claim.lease, LEASE_MS), true);
    assert.deepEqual(await store.submissions.sweep(LEASE_MS), NOTHING);
    clock.steadyMs += LEASE_MS - 1;
    assert.deepEqual(await store.submissions.sweep(LEASE_MS), NOTHING);
    clock.steadyMs += 1;
    assert.deepEqual(await store.submissions.sweep(LEASE_MS), { requeued: [claim.submission.id], failed: [] });
    const submission = await read();
    assert.deepEqual([submission?.status, submission?.startedAtMs], ["pending", null]);
  });

  for (const stepMs of [-3_600_000, 3_600_000]) {
    const when = `a clock that is set ${stepMs < 0 ? "back" : "forward"} by an hour`;
    test(`${when} changes neither renewed nor expired leases`, async (t) => {
      const { store, clock, claim } = await running(t, "agent");
      await store.submissions.sweep(LEASE_MS);
      clock.nowMs += stepMs;
      for (let i = 0; i < 5; i++) {
        clock.steadyMs += LEASE_MS / 2;
        assert.equal(await store.submissions.renew(claim.lease, LEASE_MS), true);
        assert.deepEqual(await store.submissions.sweep(LEASE_MS), { requeued: [], failed: [] });
      }
      clock.nowMs -= stepMs;
      clock.steadyMs += LEASE_MS;
      assert.deepEqual(await store.submissions.sweep(LEASE_MS), { requeued: [], failed: [claim.submission.id] });
    });
  }

  test("a sweep after a gap longer than a lease takes nothing, because renewals could not be seen", async (t) => {
    const { store, clock, claim } = await running(t);
    await store.submissions.sweep(LEASE_MS);
    clock.steadyMs += LEASE_MS + 1;
    assert.deepEqual(await store.submissions.sweep(LEASE_MS), { requeued: [], failed: [] });
    clock.steadyMs += LEASE_MS;
    assert.deepEqual((await store.submissions.sweep(LEASE_MS)).requeued, [claim.submission.id]);
  });

  test("a worker whose lease expired can change nothing", async (t) => {
    const { store, clock, claim, read } = await running(t);
    await sweepLater(store, clock, LEASE_MS);
    const second = await claimOne(store, claim.lease.workerId);
    assert.equal(second.lease.attempt, 2);
    assert.equal(await store.submissions.finish(claim.lease, internalError("late")), false);
    assert.equal(await store.submissions.renew(claim.lease, LEASE_MS), false);
    assert.equal(await store.submissions.release(claim.lease, true), false);
    assert.equal((await read())?.status, "running");
    assert.equal(await store.submissions.finish(second.lease, DONE), true);
  });

  test("judge work that is lost three times ends as an error", async (t) => {
    const { store, clock, claim, read } = await running(t);
    for (const attempt of [1, 2]) {
      assert.equal((await sweepLater(store, clock, LEASE_MS)).requeued.length, 1, `attempt ${attempt}`);
      await claimOne(store);
    }
    assert.deepEqual(await sweepLater(store, clock, LEASE_MS), { requeued: [], failed: [claim.submission.id] });
    const submission = await read();
    assert.equal(submission?.status, "error");
    assert.equal(submission?.outcome?.result.verdict, "IE");
    assert.match(submission?.outcome?.result.errorMessage ?? "", /lost 3 times/);
  });

  test("agent work that is lost is never repeated", async (t) => {
    const { store, clock, claim, read } = await running(t, "agent");
    assert.deepEqual(await sweepLater(store, clock, LEASE_MS), { requeued: [], failed: [claim.submission.id] });
    assert.equal((await read())?.status, "error");
  });

  test("a run that the platform failed is repeated, up to three attempts", async (t) => {
    const { store, claim, read } = await running(t);
    let { lease } = claim;
    for (const attempt of [1, 2]) {
      assert.equal(lease.attempt, attempt);
      assert.equal(await store.submissions.requeue(lease), true);
      const submission = await read();
      assert.deepEqual([submission?.status, submission?.startedAtMs], ["pending", null]);
      assert.equal(await store.submissions.requeue(lease), false, "the lease is void");
      assert.equal(await store.submissions.finish(lease, DONE), false);
      ({ lease } = await claimOne(store));
    }
    assert.equal(await store.submissions.requeue(lease), false);
    assert.equal((await read())?.status, "running");
    assert.equal(await store.submissions.finish(lease, internalError("the third")), true);
  });

  test("an agent run that the platform failed is not repeated", async (t) => {
    const { store, claim, read } = await running(t, "agent");
    assert.equal(await store.submissions.requeue(claim.lease), false);
    assert.equal((await read())?.status, "running");
  });

  test("sweepAll requeues all running work at once", async (t) => {
    const { store, claim, read } = await running(t);
    assert.deepEqual(await store.submissions.sweep(LEASE_MS), { requeued: [], failed: [] });
    assert.deepEqual(await store.submissions.sweepAll(), { requeued: [claim.submission.id], failed: [] });
    assert.equal((await read())?.status, "pending");
    assert.equal(await store.submissions.finish(claim.lease, DONE), false);
  });

  test("released work is pending again and the attempt is not counted", async (t) => {
    const { store, claim, read } = await running(t);
    for (let i = 0; i < 5; i++) {
      const { lease } = i === 0 ? claim : await claimOne(store);
      assert.equal(lease.attempt, 1);
      assert.equal(await store.submissions.release(lease, true), true);
      assert.equal((await read())?.status, "pending");
      assert.equal(await store.submissions.finish(lease, DONE), false);
    }
  });

  test("a released lease stays void when the same worker claims again", async (t) => {
    const { store, claim } = await running(t);
    await store.submissions.release(claim.lease, false);
    const again = await claimOne(store, claim.lease.workerId);
    assert.equal(await store.submissions.finish(claim.lease, internalError("stale")), false);
    assert.equal(await store.submissions.finish(again.lease, DONE), true);
  });

  test("agent work is requeued on release only if it has not begun", async (t) => {
    const { store, claim, read } = await running(t, "agent");
    assert.equal(await store.submissions.release(claim.lease, false), true);
    assert.equal((await read())?.status, "pending");
    const { lease } = await claimOne(store);
    assert.equal(await store.submissions.release(lease, true), true);
    assert.equal((await read())?.status, "error");
  });
});
