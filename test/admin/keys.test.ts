import assert from "node:assert/strict";
import { test } from "node:test";
import { AdminError, createKey, listKeys, revokeKey } from "../../src/admin/keys.ts";
import { hashKey } from "../../src/domain/key.ts";
import { temporaryStore } from "../store/temporary.ts";

test("a new key works, and of the key itself only its hash is stored", async (t) => {
  const { store } = await temporaryStore(t);
  const { key } = await createKey(store, { name: "n", profiles: ["judge"] }, 0);
  const found = await store.accounts.findCaller(hashKey(key));
  assert.deepEqual(found?.caller.profiles, ["judge"]);
  const stored = await store.accounts.listKeys();
  assert.equal(JSON.stringify(stored).includes(key), false);
  assert.ok(key.startsWith(stored[0]?.prefix ?? "?"));
  assert.equal("hash" in ((await listKeys(store))[0] ?? {}), false, "a list shows no hash");
});

test("keys of different names have accounts of their own; the same name or --account shares one", async (t) => {
  const { store } = await temporaryStore(t);
  const account = async (request: { name: string; account?: string }) => {
    const { key } = await createKey(store, { ...request, profiles: ["judge"] }, 0);
    return (await store.accounts.findCaller(hashKey(key)))?.caller.accountId;
  };
  const first = await account({ name: "first" });
  assert.notEqual(await account({ name: "second" }), first);
  assert.equal(await account({ name: "first" }), first);
  assert.equal(await account({ name: "third", account: "first" }), first);
});

test("the first profile is the default, and none is named twice", async (t) => {
  const { store } = await temporaryStore(t);
  await createKey(store, { name: "n", profiles: ["agent", "judge", "agent"] }, 0);
  const [view] = await listKeys(store);
  assert.deepEqual([view?.profiles, view?.defaultProfile], [["agent", "judge"], "agent"]);
});

test("values out of range are refused before anything is written", async (t) => {
  const { store } = await temporaryStore(t);
  const wrong = [
    { name: " " },
    { name: "x".repeat(101) },
    { requestsPerMinute: 0 },
    { requestsPerMinute: 1.5 },
    { concurrency: 10_001 },
    { profiles: [] },
  ];
  for (const change of wrong) {
    await assert.rejects(createKey(store, { name: "n", profiles: ["judge"], ...change }, 0), AdminError);
  }
  assert.deepEqual(await listKeys(store), []);
});

test("a key is revoked by itself, its id or its visible start, once", async (t) => {
  const { store } = await temporaryStore(t);
  for (const by of ["key", "id", "prefix"] as const) {
    const { key, id } = await createKey(store, { name: by, profiles: ["judge"] }, 0);
    const view = (await listKeys(store)).find((one) => one.id === id);
    const which = { key, id, prefix: view?.prefix ?? "" }[by];
    assert.equal((await revokeKey(store, which)).id, id);
    assert.equal(await store.accounts.findCaller(hashKey(key)), undefined);
    await assert.rejects(revokeKey(store, which), /no such live key/);
  }
});
