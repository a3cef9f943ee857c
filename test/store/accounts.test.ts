import assert from "node:assert/strict";
import { test } from "node:test";
import { addKey, START_MS, temporaryStore } from "./temporary.ts";

test("a key's caller has the tier's limits, or its own where it has some", async (t) => {
  const { store } = await temporaryStore(t);
  const plain = await addKey(store, "plain");
  const special = await addKey(store, "special", {
    requestsPerMinute: 5,
    concurrency: 2,
    profiles: ["agent", "judge"],
  });
  const first = await store.accounts.findCaller(plain.hash);
  assert.deepEqual(first, {
    hash: plain.hash,
    caller: {
      keyId: "plain",
      accountId: plain.accountId,
      projectId: null,
      requestsPerMinute: 60,
      concurrency: 10,
      profiles: ["judge"],
      defaultProfile: "judge",
    },
  });
  const second = (await store.accounts.findCaller(special.hash))?.caller;
  assert.deepEqual([second?.requestsPerMinute, second?.concurrency], [5, 2]);
  assert.deepEqual([second?.profiles, second?.defaultProfile], [["agent", "judge"], "agent"]);
});

test("an unknown and a revoked key have no caller", async (t) => {
  const { store } = await temporaryStore(t);
  const key = await addKey(store, "a");
  assert.equal(await store.accounts.findCaller("other"), undefined);
  assert.equal(await store.accounts.revokeKey(key.keyId), true);
  assert.equal(await store.accounts.revokeKey(key.keyId), false);
  assert.equal(await store.accounts.findCaller(key.hash), undefined);
});

test("an account is made once, whoever asks", async (t) => {
  const { store } = await temporaryStore(t);
  const accounts = await Promise.all(Array.from({ length: 5 }, () => store.accounts.ensureAccount("same", "beta")));
  assert.equal(new Set(accounts.map(({ id }) => id)).size, 1);
  await assert.rejects(store.accounts.ensureAccount("other", "no such tier"));
});

test("last use is noted, to the minute", async (t) => {
  const { store, clock } = await temporaryStore(t);
  const key = await addKey(store, "a");
  const lastUsed = async () => (await store.accounts.listKeys())[0]?.lastUsedAtMs;
  assert.equal(await lastUsed(), null);
  await store.accounts.touchKey(key.keyId);
  assert.equal(await lastUsed(), START_MS);
  clock.nowMs += 59_999;
  await store.accounts.touchKey(key.keyId);
  assert.equal(await lastUsed(), START_MS);
  clock.nowMs += 1;
  await store.accounts.touchKey(key.keyId);
  assert.equal(await lastUsed(), START_MS + 60_000);
});
