import assert from "node:assert/strict";
import { test } from "node:test";
import { dropPending, dropPendingOf, resumeAccount, suspendAccount } from "../../../src/admin/accounts.ts";
import { dropPendingOfKey, revokeKey } from "../../../src/admin/keys.ts";
import { toRecord } from "../../../src/domain/record.ts";
import type { Store } from "../../../src/store/store.ts";
import { addKey, enqueue, onEachDatabase } from "../../support/store/temporary.ts";
import { addEndpoint, addProject, DONE, deliveryBudget, submit } from "../../support/webhooks/project.ts";

async function fill(store: Store, key: { keyId: string; accountId: string }, amount: number): Promise<string[]> {
  const accepted = await Promise.all(Array.from({ length: amount }, () => enqueue(store, key)));
  return accepted.map((one) => (one.kind === "enqueued" ? one.submission.id : one.kind));
}

const actions = async (store: Store) =>
  (await store.audit.list({ max: 100 }))
    .map(({ action, actor, detail }) => `${action} ${actor} ${JSON.stringify(detail)}`)
    .filter((entry) => /suspend|resume|drop/.test(entry));

onEachDatabase((temporaryStore) => {
  test("a suspended account's pending work is held until it is resumed; running work ends", async (t) => {
    const { store } = await temporaryStore(t);
    const one = await addKey(store, "one");
    await fill(store, one, 3);
    const [running] = await store.submissions.claim("w", 60_000, 1);
    assert.ok(running);
    assert.notEqual((await suspendAccount(store, "one", "x")).suspendedAt, null);
    await suspendAccount(store, "one", "x");
    assert.equal((await store.keys.findCaller(one.hash))?.suspended, true);
    await fill(store, await addKey(store, "other"), 1);
    const claims = await store.submissions.claim("w", 60_000, 10);
    assert.deepEqual(
      claims.map(({ submission }) => submission.keyId),
      ["other"],
    );
    assert.equal(await store.submissions.finish(running.lease, DONE), true);
    assert.equal(await store.submissions.depth(), 2);
    const woken = new Promise<void>((resolve) => store.onWork(resolve));
    assert.equal((await resumeAccount(store, "one", "x")).suspendedAt, null);
    await woken;
    assert.equal((await store.submissions.claim("w", 60_000, 10)).length, 2);
    assert.deepEqual(await actions(store), ["account.resume x {}", "account.suspend x {}"]);
  });

  test("a dropped submission ends as IE, wakes its waiters and is delivered; the rest of the queue stays", async (t) => {
    const { store } = await temporaryStore(t);
    const project = await addProject(store, "mine");
    await addEndpoint(store, project);
    const ids = [await submit(store, project), await submit(store, project), await submit(store, project)];
    const other = await addKey(store, "other");
    await fill(store, other, 1);
    const [running] = await store.submissions.claim("w", 60_000, 1);
    assert.ok(running && ids[0] === running.submission.id);
    const { accountId } = project.key;
    const waiting = store.submissions.whenTerminal(ids[2] ?? "", accountId, AbortSignal.timeout(10_000));
    await suspendAccount(store, "mine", "x");
    assert.deepEqual(await dropPendingOf(store, "mine", "x"), { account: "mine", dropped: 2 });
    const dropped = await waiting;
    assert.ok(dropped);
    const record = toRecord(dropped);
    assert.equal(record.status, "error");
    assert.equal(record.result.verdict, "IE");
    assert.equal(record.result.error_message, "dropped by the operator before it ran");
    assert.equal(record.timestamps.started_at, null);
    assert.notEqual(record.timestamps.completed_at, null);
    assert.equal((await store.submissions.get(running.submission.id, accountId))?.status, "running");
    const due = await store.deliveries.claimDue({ leaseMs: 60_000, ...deliveryBudget(10) });
    assert.deepEqual(due.map(({ messageId }) => messageId).sort(), ids.slice(1).sort());
    assert.equal(await store.submissions.depth(), 1);
    assert.deepEqual(await actions(store), ['account.drop-pending x {"pending":2}', "account.suspend x {}"]);
    assert.equal(await store.history.count(100), 2, "they are counted in the history");
  });

  test("a drop works in steps and keeps submissions accepted since its start", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    for (let i = 0; i < 25; i++) await fill(store, key, 10);
    const last = await store.queue.beginDrop(key, "x");
    await fill(store, key, 1);
    const steps: number[] = [];
    for (let gone = -1; gone !== 0; steps.push(gone)) gone = await store.queue.drop(key, last, 100);
    assert.deepEqual(steps, [100, 100, 50, 0]);
    assert.equal(await store.submissions.depth(), 1);
  });

  test("a revoked key's queue runs unless it is dropped, with the revocation or later", async (t) => {
    const { store } = await temporaryStore(t);
    const [one, two] = [await addKey(store, "one", { account: "a" }), await addKey(store, "two", { account: "a" })];
    await fill(store, one, 3);
    await fill(store, two, 2);
    const kept = await revokeKey(store, "one", "x");
    assert.deepEqual([kept.dropped, kept.pending, kept.key.state], [0, 3, "revoked"]);
    assert.equal((await dropPendingOfKey(store, "one", "x")).dropped, 3);
    const gone = await revokeKey(store, "two", "x", { drop: true });
    assert.deepEqual([gone.dropped, gone.pending], [2, 0]);
    assert.equal(await store.submissions.depth(), 0);
    await assert.rejects(dropPendingOfKey(store, "three", "x"), /there is no such key/);
  });

  test("concurrent claims and drops never take the same submission", async (t) => {
    const { store, another } = await temporaryStore(t);
    const key = await addKey(store, "a", { concurrency: 1000 });
    const ids = await fill(store, key, 200);
    const other = store.manyProcesses ? await another() : store;
    const claiming = (async () => {
      const claimed: string[] = [];
      for (let i = 0; i < 20; i++) {
        for (const { submission } of await other.submissions.claim("w", 60_000, 4)) claimed.push(submission.id);
      }
      return claimed;
    })();
    const dropped = await dropPending(store, key, "x");
    const claimed = await claiming;
    assert.equal(claimed.length + dropped, 200);
    for (const id of ids) {
      const status = (await store.submissions.get(id, key.accountId))?.status;
      assert.equal(status, claimed.includes(id) ? "running" : "error", id);
    }
  });
});
