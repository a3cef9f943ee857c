import assert from "node:assert/strict";
import { test } from "node:test";
import { addKey, enqueue, onEachEngine } from "./temporary.ts";

const UUID = "0f8fad5b-d9cb-469f-a165-70867728950e";

onEachEngine((temporaryStore) => {
  test("an accepted submission can be read back, with the depth that counts it", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const first = await enqueue(store, key);
    const second = await enqueue(store, key);
    assert.ok(first.kind === "enqueued" && second.kind === "enqueued");
    assert.deepEqual([first.queueDepth, second.queueDepth], [1, 2]);
    assert.deepEqual(await store.submissions.get(first.submission.id, key.accountId), first.submission);
    assert.equal(await store.submissions.depth(), 2);
  });

  test("another account does not see it", async (t) => {
    const { store } = await temporaryStore(t);
    const mine = await addKey(store, "a");
    const other = await addKey(store, "b");
    const accepted = await enqueue(store, mine);
    assert.ok(accepted.kind === "enqueued");
    assert.equal(await store.submissions.get(accepted.submission.id, other.accountId), undefined);
  });

  test("a full queue refuses, and a known idempotency key is answered all the same", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const first = await enqueue(store, key, { maxPending: 1, idempotencyKey: UUID });
    assert.equal(first.kind, "enqueued");
    assert.deepEqual(await enqueue(store, key, { maxPending: 1 }), { kind: "full", queueDepth: 1 });
    assert.equal((await enqueue(store, key, { maxPending: 1, idempotencyKey: UUID })).kind, "duplicate");
  });

  test("where only what is known is asked for, nothing new is accepted", async (t) => {
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

  test("the bound holds when many arrive at once", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const results = await Promise.all(Array.from({ length: 100 }, () => enqueue(store, key, { maxPending: 30 })));
    assert.equal(results.filter(({ kind }) => kind === "enqueued").length, 30);
    assert.equal(await store.submissions.depth(), 30);
  });

  test("the same idempotency key with the same request is one submission, also at the same instant", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const results = await Promise.all(Array.from({ length: 50 }, () => enqueue(store, key, { idempotencyKey: UUID })));
    const ids = results.map((result) => ("submission" in result ? result.submission.id : result.kind));
    assert.equal(new Set(ids).size, 1);
    assert.equal(results.filter(({ kind }) => kind === "enqueued").length, 1);
    assert.equal(await store.submissions.depth(), 1);
  });

  test("equal requests of the same instant are one submission, also in the last place of the queue", async (t) => {
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

  test("idempotency keys belong to the account, whichever of its keys is used", async (t) => {
    const { store } = await temporaryStore(t);
    const one = await addKey(store, "one", { account: "shared" });
    const two = await addKey(store, "two", { account: "shared" });
    const other = await addKey(store, "other");
    await enqueue(store, one, { idempotencyKey: UUID });
    assert.equal((await enqueue(store, two, { idempotencyKey: UUID })).kind, "duplicate");
    assert.equal((await enqueue(store, other, { idempotencyKey: UUID, code: "x" })).kind, "enqueued");
  });

  test("programs come back byte for byte, U+0000 included", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    await enqueue(store, key, { code: "a\0ü", stdin: "\0".repeat(10) });
    const [claim] = await store.submissions.claim("w", 1000);
    assert.deepEqual(claim?.program.code, Buffer.from("a\0ü"));
    assert.deepEqual(claim?.program.stdin, Buffer.alloc(10));
  });
});
