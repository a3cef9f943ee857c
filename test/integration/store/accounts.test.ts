import assert from "node:assert/strict";
import { test } from "node:test";
import { addKey, onEachDatabase, START_MS } from "../../support/store/temporary.ts";

/** The limits of sandboxes of a tier that states none. */
const SANDBOX_ALLOWANCE = {
  sandboxes: 10,
  sandboxMemoryBytes: 4_294_967_296,
  sandboxDiskBytes: 16 * 2 ** 30,
  executions: 16,
  snapshots: 20,
  snapshotBytes: 4 * 2 ** 30,
};

onEachDatabase((temporaryStore) => {
  test("concurrent requests create an account once, with one audit entry", async (t) => {
    const { store } = await temporaryStore(t);
    const all = await Promise.all(Array.from({ length: 5 }, (_, i) => store.accounts.ensure("same", "beta", `a${i}`)));
    assert.equal(new Set(all.map(({ id }) => id)).size, 1);
    assert.equal(all.filter(({ made }) => made).length, 1);
    const entries = await store.audit.list({ max: 10 });
    assert.deepEqual(
      entries.map(({ action, subject, accountName, detail }) => ({ action, subject, accountName, detail })),
      [{ action: "account.create", subject: all[0]?.id, accountName: "same", detail: { name: "same", tier: "beta" } }],
    );
  });

  test("an unknown tier creates neither an account nor an audit entry", async (t) => {
    const { store } = await temporaryStore(t);
    await assert.rejects(store.accounts.ensure("other", "no such tier", "a"));
    assert.deepEqual(await store.accounts.list(), []);
    assert.deepEqual(await store.audit.list({ max: 10 }), []);
  });

  test("accounts are listed with the limits of their tier, oldest first", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const first = await store.accounts.ensure("zebra", "beta", "a");
    clock.nowMs += 1;
    const second = await store.accounts.ensure("ant", "beta", "a");
    const limits = { tier: "beta", requestsPerMinute: 60, concurrency: 10, suspendedAtMs: null };
    assert.deepEqual(await store.accounts.list(), [
      { id: first.id, name: "zebra", ...limits, createdAtMs: START_MS },
      { id: second.id, name: "ant", ...limits, createdAtMs: START_MS + 1 },
    ]);
  });

  test("a new tier or tier limit applies to the account's keys at once; overrides stay", async (t) => {
    const { store } = await temporaryStore(t);
    const plain = await addKey(store, "plain", { account: "one" });
    const special = await addKey(store, "special", { account: "one", concurrency: 3 });
    const stranger = await addKey(store, "stranger");
    const limits = async ({ hash }: { hash: string }) => {
      const found = await store.keys.findCaller(hash);
      return [found?.caller.requestsPerMinute, found?.caller.concurrency];
    };
    await store.tiers.set({ name: "large", requestsPerMinute: 600, concurrency: 50 }, "a");
    assert.equal(await store.accounts.setTier(plain.accountId, "large", "a"), true);
    assert.deepEqual(
      [await limits(plain), await limits(special), await limits(stranger)],
      [
        [600, 50],
        [600, 3],
        [60, 10],
      ],
    );
    await store.tiers.set({ name: "large", requestsPerMinute: 700, concurrency: 60 }, "a");
    assert.deepEqual(
      [await limits(plain), await limits(special)],
      [
        [700, 60],
        [700, 3],
      ],
    );
    assert.deepEqual(await store.tiers.list(), [
      { name: "beta", requestsPerMinute: 60, concurrency: 10, ...SANDBOX_ALLOWANCE },
      { name: "large", requestsPerMinute: 700, concurrency: 60, ...SANDBOX_ALLOWANCE },
    ]);
  });

  test("the audit entry of a tier change has both values; an unchanged tier adds no entry", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { id } = await store.accounts.ensure("one", "beta", "a");
    await store.tiers.set({ name: "large", requestsPerMinute: 600, concurrency: 50 }, "a");
    clock.nowMs += 5;
    assert.equal(await store.accounts.setTier(id, "large", "b"), true);
    assert.equal(await store.accounts.setTier(id, "large", "b"), true);
    assert.equal(await store.accounts.setTier("nobody", "large", "b"), false);
    const [changed, made] = await store.audit.list({ max: 10 });
    const owner = { accountId: id, accountName: "one" };
    const detail = { tier: { from: "beta", to: "large" } };
    assert.deepEqual(changed, {
      seq: 3,
      atMs: START_MS + 5,
      actor: "b",
      action: "account.set-tier",
      subject: id,
      ...owner,
      detail,
      address: null,
    });
    assert.deepEqual([made?.action, made?.subject, made?.accountId], ["tier.set", "large", null]);
    await assert.rejects(store.accounts.setTier(id, "no such tier", "b"));
    assert.equal((await store.audit.list({ max: 10 })).length, 3);
  });

  test("the audit entry of a rename has both names, and account names are unique", async (t) => {
    const { store } = await temporaryStore(t);
    const { id } = await store.accounts.ensure("one", "beta", "a");
    await store.accounts.ensure("two", "beta", "a");
    assert.equal(await store.accounts.rename(id, "uno", "b"), true);
    assert.equal(await store.accounts.rename(id, "uno", "b"), true);
    for (const [which, name] of [
      [id, "two"],
      ["nobody", "three"],
    ] as const) {
      assert.equal(await store.accounts.rename(which, name, "b"), false);
    }
    assert.deepEqual((await store.accounts.list()).map(({ name }) => name).sort(), ["two", "uno"]);
    const entries = (await store.audit.list({ max: 10 })).filter(({ action }) => action === "account.rename");
    assert.deepEqual(
      entries.map(({ actor, subject, accountId, detail }) => [actor, subject, accountId, detail]),
      [["b", id, id, { name: { from: "one", to: "uno" } }]],
    );
  });
});
