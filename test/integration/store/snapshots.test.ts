import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { NewSnapshot } from "../../../src/domain/sandboxes/snapshot.ts";
import type { Store } from "../../../src/store/store.ts";
import { addKey, onEachDatabase, START_MS } from "../../support/store/temporary.ts";

const MIB = 1_048_576;
const WRITTEN = { bytes: 3 * MIB, files: 7, sha256: "ab".repeat(32) };
type Key = Awaited<ReturnType<typeof addKey>>;

function fresh({ keyId, accountId }: Key, changes: Partial<NewSnapshot> = {}): NewSnapshot {
  return {
    id: randomUUID(),
    accountId,
    projectId: null,
    keyId,
    sandboxId: randomUUID(),
    name: "a name",
    createdAtMs: START_MS,
    storeId: "here",
    ...changes,
  };
}

function begin(store: Store, snapshot: NewSnapshot, leastBytes = MIB) {
  return store.snapshots.begin({ snapshot, leastBytes, untilMs: START_MS + 1_000 }, true);
}

async function taken(store: Store, key: Key, changes: Partial<NewSnapshot> = {}) {
  const snapshot = fresh(key, changes);
  assert.equal((await begin(store, snapshot)).kind, "begun");
  assert.deepEqual(await store.snapshots.complete(snapshot, WRITTEN), { ...snapshot, ...WRITTEN });
  return snapshot;
}

onEachDatabase((temporaryStore) => {
  test("a snapshot exists when it is complete, for its own account alone", async (t) => {
    const { store } = await temporaryStore(t);
    const [key, other] = [await addKey(store, "one"), await addKey(store, "two")];
    const snapshot = fresh(key);
    assert.deepEqual(await begin(store, snapshot), { kind: "begun", mostBytes: 4096 * MIB });
    assert.equal(await store.snapshots.get(snapshot.id, key.accountId), null);
    assert.equal(await store.snapshots.remove(snapshot.id, key.accountId), null);
    assert.deepEqual((await store.snapshots.list(key.accountId, { max: 5 })).snapshots, []);
    assert.deepEqual(await store.snapshots.ofStore("here"), []);
    assert.deepEqual(await store.snapshots.known([snapshot.id, randomUUID()]), new Set([snapshot.id]));
    const complete = { ...snapshot, ...WRITTEN };
    assert.deepEqual(await store.snapshots.complete(snapshot, WRITTEN), complete);
    assert.deepEqual(await store.snapshots.get(snapshot.id, key.accountId), complete);
    assert.equal(await store.snapshots.get(snapshot.id, other.accountId), null);
    assert.equal(await store.snapshots.remove(snapshot.id, other.accountId), null);
    const { id, accountId } = snapshot;
    assert.deepEqual(await store.snapshots.ofStore("here"), [{ id, accountId, bytes: WRITTEN.bytes }]);
    assert.deepEqual(await store.snapshots.ofStore("there"), []);
    await store.snapshots.abandon(id);
    assert.deepEqual(await store.snapshots.remove(id, accountId), complete);
    assert.equal(await store.snapshots.remove(id, accountId), null);
  });

  test("lists are newest first, in pages", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const ids = [];
    for (let n = 0; n < 5; n++) ids.unshift((await taken(store, key)).id);
    const pages: string[][] = [];
    for (let before: number | null | undefined; before !== null; ) {
      const page = await store.snapshots.list(key.accountId, { ...(before && { before }), max: 2 });
      pages.push(page.snapshots.map(({ id }) => id));
      before = page.next;
    }
    assert.deepEqual(pages, [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
  });

  test("number and bytes count for the account before they are written, and again at the end", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const allow = (snapshots: number, snapshotBytes: number) =>
      store.tiers.set({ name: "beta", requestsPerMinute: 60, concurrency: 10, snapshots, snapshotBytes }, "test");
    await allow(2, 10 * MIB);
    assert.deepEqual(await begin(store, fresh(key), 11 * MIB), {
      kind: "quota",
      what: "bytes of snapshots",
      most: 10 * MIB,
    });
    const [one, two] = [fresh(key), fresh(key)];
    assert.deepEqual(await begin(store, one, 4 * MIB), { kind: "begun", mostBytes: 10 * MIB });
    assert.deepEqual(await begin(store, two, 4 * MIB), { kind: "begun", mostBytes: 6 * MIB });
    assert.deepEqual(await begin(store, fresh(key), 0), { kind: "quota", what: "snapshots", most: 2 });
    assert.ok(await store.snapshots.complete(one, { ...WRITTEN, bytes: 5 * MIB }));
    assert.deepEqual(await store.snapshots.complete(two, { ...WRITTEN, bytes: 6 * MIB }), {
      kind: "quota",
      most: 10 * MIB,
    });
    assert.deepEqual(await store.snapshots.known([one.id, two.id]), new Set([one.id]));
    assert.equal((await begin(store, fresh(await addKey(store, "two")), 9 * MIB)).kind, "begun");
    const [race] = await Promise.all([0, 1, 2].map(() => begin(store, fresh(key), MIB)));
    assert.ok(race);
    const many = await Promise.all(Array.from({ length: 8 }, () => begin(store, fresh(key), MIB)));
    assert.ok(many.every(({ kind }) => kind === "quota"));
  });

  test("a suspended account and a revoked key get none", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "one");
    await store.keys.revoke("one", "test");
    assert.equal((await begin(store, fresh(key))).kind, "revoked");
    const own = { snapshot: fresh(key), leastBytes: 0, untilMs: START_MS + 1 };
    assert.equal((await store.snapshots.begin(own, false)).kind, "begun", "the end of a sandbox needs no valid key");
    await store.accounts.setSuspended(key.accountId, true, "test");
    assert.equal((await store.snapshots.begin({ ...own, snapshot: fresh(key) }, false)).kind, "suspended");
  });

  test("old snapshots, and those whose writer is late, are removed", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const old = await taken(store, key, { createdAtMs: START_MS - 10 });
    const kept = await taken(store, key, { createdAtMs: START_MS });
    const late = fresh(key);
    await begin(store, late);
    const sweep = (all: boolean) => store.snapshots.sweep({ beforeMs: START_MS - 1, all, max: 10 });
    clock.nowMs = START_MS + 500;
    assert.equal(await sweep(false), 1);
    assert.deepEqual(await store.snapshots.known([old.id, kept.id, late.id]), new Set([kept.id, late.id]));
    clock.nowMs = START_MS + 1_001;
    assert.equal(await sweep(false), 1);
    assert.equal(await store.snapshots.complete(late, WRITTEN), null);
    await begin(store, late);
    assert.equal(await sweep(true), 1);
    assert.deepEqual(await store.snapshots.known([kept.id, late.id]), new Set([kept.id]));
  });
});
