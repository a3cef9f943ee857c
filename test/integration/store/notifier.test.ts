import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { internalError } from "../../../src/domain/outcome.ts";
import { Notifier } from "../../../src/store/database/notifier.ts";
import { addKey, enqueue, onEachDatabase, sweepLater } from "../../support/store/temporary.ts";

/** A waiter that is not woken would wait forever. */
const LIMIT = { timeout: 10_000 };
const NEVER = new AbortController().signal;

onEachDatabase((temporaryStore) => {
  test("a waiter is woken only by the end of its submission", LIMIT, async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    await enqueue(store, key);
    await enqueue(store, key);
    const [first, second] = await store.submissions.claim("w", 1000, 2);
    assert.ok(first && second);
    let woken = false;
    const waiting = store.submissions.whenTerminal(second.submission.id, key.accountId, NEVER).then((submission) => {
      woken = true;
      return submission;
    });
    await store.submissions.finish(first.lease, internalError("x"));
    for (let i = 0; i < 5; i++) await turn();
    assert.equal(woken, false);
    await store.submissions.finish(second.lease, internalError("y"));
    assert.equal((await waiting)?.outcome?.result.errorMessage, "y");
  });

  test("a wait that starts after the end returns at once", LIMIT, async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    await enqueue(store, key);
    const [claim] = await store.submissions.claim("w", 1000);
    assert.ok(claim);
    await store.submissions.finish(claim.lease, internalError("x"));
    assert.equal((await store.submissions.whenTerminal(claim.submission.id, key.accountId, NEVER))?.status, "error");
    assert.equal(await store.submissions.whenTerminal("unknown", key.accountId, NEVER), undefined);
  });

  test("an aborted wait returns the submission in its current state", LIMIT, async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const accepted = await enqueue(store, key);
    assert.ok(accepted.kind === "enqueued");
    const stop = new AbortController();
    const waiting = store.submissions.whenTerminal(accepted.submission.id, key.accountId, stop.signal);
    await turn();
    stop.abort();
    assert.equal((await waiting)?.status, "pending");
  });

  test("a sweep that ends a submission wakes its waiters", LIMIT, async (t) => {
    const { store, clock } = await temporaryStore(t);
    const key = await addKey(store, "a", { profiles: ["agent"] });
    await enqueue(store, key, { profile: "agent" });
    const [claim] = await store.submissions.claim("w", 1000);
    assert.ok(claim);
    const waiting = store.submissions.whenTerminal(claim.submission.id, key.accountId, NEVER);
    await sweepLater(store, clock, 1_000);
    assert.equal((await waiting)?.status, "error");
  });

  test("workers are notified of new, released and ended work", LIMIT, async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    let calls = 0;
    const stop = store.onWork(() => calls++);
    const notified = async () => {
      for (calls = 0; calls === 0; ) await turn();
    };
    await Promise.all([notified(), enqueue(store, key)]);
    const [claim] = await store.submissions.claim("w", 1000);
    assert.ok(claim);
    await Promise.all([notified(), store.submissions.release(claim.lease, false)]);
    const [again] = await store.submissions.claim("w", 1000);
    assert.ok(again);
    await enqueue(store, key);
    await Promise.all([notified(), store.submissions.finish(again.lease, internalError("x"))]);
    const idempotencyKey = "8716aa61-b3c9-473f-961a-d3d8661390c4";
    await Promise.all([notified(), enqueue(store, key, { idempotencyKey })]);
    await Promise.all([notified(), enqueue(store, key, { idempotencyKey })]); // the first notification may have been lost
    stop();
    calls = 0;
    await enqueue(store, key);
    for (let i = 0; i < 5; i++) await turn();
    assert.equal(calls, 0);
  });

  test("a listener for additions finds the submission that was added", LIMIT, async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a", { concurrency: 100 });
    for (let count = 1; count <= 10; count++) {
      const found = Promise.withResolvers<void>();
      const stop = store.onAdded(async () => {
        const { matches } = await store.submissionSearch.count({ accountIds: [key.accountId], max: 1 });
        // A late notification of the submission before this one is possible, but no other one follows.
        if (matches === count) found.resolve();
      });
      await enqueue(store, key);
      await found.promise;
      stop();
    }
  });
});

test("repeated notifications of a turn are delivered once, in a later turn", async () => {
  const notifier = new Notifier();
  let calls = 0;
  const stop = notifier.on("work", () => calls++);
  for (let i = 0; i < 10; i++) notifier.publish({ kind: "work" });
  assert.equal(calls, 0);
  await turn();
  assert.equal(calls, 1);
  notifier.sayAll();
  await turn();
  assert.equal(calls, 2);
  stop();
  notifier.publish({ kind: "work" });
  await turn();
  assert.equal(calls, 2);
});
