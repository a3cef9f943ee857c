import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { dropPendingOf, suspendAccount } from "../../../src/admin/accounts.ts";
import { revokeKey } from "../../../src/admin/keys.ts";
import { internalError } from "../../../src/domain/outcome.ts";
import type { Store } from "../../../src/store/store.ts";
import { addKey, enqueue, onEachDatabase } from "../../support/store/temporary.ts";

const UUID = "0f8fad5b-d9cb-469f-a165-70867728950e";

async function caller(store: Store, name: string): Promise<{ keyId: string; accountId: string }> {
  const found = await store.keys.findCaller(`hash of ${name}`);
  assert.ok(found);
  return found.caller;
}

onEachDatabase((temporaryStore) => {
  test("an accepted submission can be read, and the returned depth includes it", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const first = await enqueue(store, key);
    const second = await enqueue(store, key);
    assert.ok(first.kind === "enqueued" && second.kind === "enqueued");
    assert.deepEqual([first.queueDepth, second.queueDepth], [1, 2]);
    assert.deepEqual(await store.submissions.get(first.submission.id, key.accountId), first.submission);
    assert.equal(await store.submissions.depth(), 2);
  });

  test("another account cannot read a submission", async (t) => {
    const { store } = await temporaryStore(t);
    const mine = await addKey(store, "a");
    const other = await addKey(store, "b");
    const accepted = await enqueue(store, mine);
    assert.ok(accepted.kind === "enqueued");
    assert.equal(await store.submissions.get(accepted.submission.id, other.accountId), undefined);
  });

  test("a full queue rejects new submissions but answers known idempotency keys", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const first = await enqueue(store, key, { maxPending: 1, idempotencyKey: UUID });
    assert.equal(first.kind, "enqueued");
    assert.deepEqual(await enqueue(store, key, { maxPending: 1 }), { kind: "full", queueDepth: 1 });
    assert.equal((await enqueue(store, key, { maxPending: 1, idempotencyKey: UUID })).kind, "duplicate");
  });

  test("a lookup of known submissions accepts nothing new", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const known = { onlyKnown: true, idempotencyKey: UUID };
    assert.deepEqual(await enqueue(store, key, known), { kind: "unknown" });
    assert.deepEqual(await enqueue(store, key, { onlyKnown: true }), { kind: "unknown" });
    assert.equal(await store.submissions.depth(), 0);
    assert.equal((await enqueue(store, key, { idempotencyKey: UUID })).kind, "enqueued");
    assert.equal((await enqueue(store, key, known)).kind, "duplicate");
    assert.equal((await enqueue(store, key, { ...known, code: "print(2)" })).kind, "conflict");
  });

  test("rejects submissions of revoked and expired keys and of suspended accounts", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const [revoked, rotated] = [await addKey(store, "revoked"), await addKey(store, "rotated")];
    const suspended = await addKey(store, "suspended");
    for (const key of [revoked, rotated, suspended]) await enqueue(store, key, { idempotencyKey: UUID });
    await store.keys.revoke(revoked.keyId, "x");
    await store.keys.rotate(rotated.keyId, { id: "next", hash: "next", prefix: "assay_live_1" }, 1_000, "x");
    await store.accounts.setSuspended(suspended.accountId, true, "x");
    assert.equal((await enqueue(store, rotated)).kind, "enqueued", "until it expires");
    clock.nowMs += 1_000;
    for (const idempotencyKey of [UUID, "another"]) {
      assert.deepEqual(await enqueue(store, revoked, { idempotencyKey }), { kind: "revoked" });
      assert.deepEqual(await enqueue(store, rotated, { idempotencyKey }), { kind: "revoked" });
      assert.deepEqual(await enqueue(store, suspended, { idempotencyKey }), { kind: "suspended" });
    }
    await store.accounts.setSuspended(suspended.accountId, false, "x");
    assert.equal((await enqueue(store, suspended, { idempotencyKey: UUID })).kind, "duplicate");
  });

  test("a drop after a revocation or suspension also covers concurrent submissions", async (t) => {
    const { store, another } = await temporaryStore(t);
    const other = store.manyProcesses ? await another() : store;
    for (const how of ["revoke", "suspend"] as const) {
      for (let round = 0; round < 10; round++) {
        const key = await addKey(store, `${how} ${round}`);
        const coming = Array.from({ length: 40 }, async (_, i) => {
          await setTimeout(i / 4);
          return await enqueue(other, key);
        });
        await coming[3 * round];
        if (how === "revoke") await revokeKey(store, key.keyId, "x", { drop: true });
        else {
          await suspendAccount(store, key.accountId, "x");
          await dropPendingOf(store, key.accountId, "x");
        }
        await Promise.all(coming);
        assert.equal(await store.submissions.depth(), 0, `${how} ${round}`);
      }
    }
  });

  test("concurrent submissions never exceed an account's share of the queue", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const results = await Promise.all(Array.from({ length: 100 }, () => enqueue(store, key, { maxPending: 60 })));
    assert.equal(results.filter(({ kind }) => kind === "enqueued").length, 30);
    assert.equal(await store.submissions.depth(), 30);
  });

  test("busy accounts leave places in the queue for the next; their keys count together", async (t) => {
    const { store } = await temporaryStore(t);
    const accepted: number[] = [];
    for (let at = 0; at < 4; at++) {
      const keys = [
        await addKey(store, `${at} a`, { account: `${at}` }),
        await addKey(store, `${at} b`, { account: `${at}` }),
      ] as const;
      const asked = Array.from({ length: 70 }, (_, i) => enqueue(store, keys[i % 2] ?? keys[0], { maxPending: 120 }));
      const results = await Promise.all(asked);
      accepted.push(results.filter(({ kind }) => kind === "enqueued").length);
    }
    assert.deepEqual(accepted, [60, 30, 15, 8]);
    // The share of the first accounts falls as others join: while places in the queue become free, all shares even out.
    for (let round = 0; round < 40; round++) {
      const claims = await store.submissions.claim("w", 60_000, 8);
      for (const { lease } of claims) await store.submissions.finish(lease, internalError("x"));
      for (let at = 0; at < 4; at++) {
        for (let i = 0; i < 5; i++) {
          const { keyId, accountId } = await caller(store, `${at} a`);
          await enqueue(store, { keyId, accountId }, { maxPending: 120 });
        }
      }
    }
    const usage = await store.keys.usage([0, 1, 2, 3].flatMap((at) => [`${at} a`, `${at} b`]));
    const waiting = [0, 1, 2, 3].map(
      (at) => (usage.get(`${at} a`)?.pending ?? 0) + (usage.get(`${at} b`)?.pending ?? 0),
    );
    for (const amount of waiting) assert.ok(Math.abs(amount - 24) <= 6, `${waiting}`);
    assert.ok((await store.submissions.depth()) < 120);
  });

  test("an account never exceeds its share when several processes accept concurrently", async (t) => {
    const { store, another } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const stores = store.manyProcesses ? [store, await another(), await another()] : [store];
    const asked = Array.from({ length: 60 }, (_, i) =>
      enqueue(stores[i % stores.length] ?? store, key, { maxPending: 20 }),
    );
    const results = await Promise.all(asked);
    assert.equal(results.filter(({ kind }) => kind === "enqueued").length, 10);
    assert.equal((await enqueue(store, await addKey(store, "b"), { maxPending: 20 })).kind, "enqueued");
  });

  test("the same idempotency key with the same request is one submission, even concurrently", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const results = await Promise.all(Array.from({ length: 50 }, () => enqueue(store, key, { idempotencyKey: UUID })));
    const ids = results.map((result) => ("submission" in result ? result.submission.id : result.kind));
    assert.equal(new Set(ids).size, 1);
    assert.equal(results.filter(({ kind }) => kind === "enqueued").length, 1);
    assert.equal(await store.submissions.depth(), 1);
  });

  test("concurrent equal requests are one submission, even in the last place of the queue", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "key");
    const ask = () => enqueue(store, key, { idempotencyKey: "same", maxPending: 1 });
    const all = await Promise.all([ask(), ask(), enqueue(store, key, { maxPending: 1 })]);
    assert.deepEqual(
      all.map(({ kind }) => kind),
      ["enqueued", "duplicate", "full"],
    );
  });

  test("the same idempotency key with another request is a conflict", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    await enqueue(store, key, { idempotencyKey: UUID });
    assert.deepEqual(await enqueue(store, key, { idempotencyKey: UUID, code: "print(2)" }), { kind: "conflict" });
    assert.deepEqual(await enqueue(store, key, { idempotencyKey: UUID, stdin: "2" }), { kind: "conflict" });
  });

  test("idempotency keys are scoped to the account, not to its API keys", async (t) => {
    const { store } = await temporaryStore(t);
    const one = await addKey(store, "one", { account: "shared" });
    const two = await addKey(store, "two", { account: "shared" });
    const other = await addKey(store, "other");
    await enqueue(store, one, { idempotencyKey: UUID });
    assert.equal((await enqueue(store, two, { idempotencyKey: UUID })).kind, "duplicate");
    assert.equal((await enqueue(store, other, { idempotencyKey: UUID, code: "x" })).kind, "enqueued");
  });

  test("programs are returned unchanged, U+0000 included", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    await enqueue(store, key, { code: "a\0ü", stdin: "\0".repeat(10) });
    const [claim] = await store.submissions.claim("w", 1000);
    assert.deepEqual(claim?.program.code, Buffer.from("a\0ü"));
    assert.deepEqual(claim?.program.stdin, Buffer.alloc(10));
  });
});
