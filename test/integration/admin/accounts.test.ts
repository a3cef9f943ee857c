import assert from "node:assert/strict";
import { test } from "node:test";
import { createAccount, eraseRecords, listAccounts, updateAccount } from "../../../src/admin/accounts.ts";
import { AdminError } from "../../../src/admin/error.ts";
import { listTiers, setTier } from "../../../src/admin/tiers.ts";
import { onEachDatabase, START_MS } from "../../support/store/temporary.ts";
import { addProject, endOne, submit } from "../../support/webhooks/project.ts";

onEachDatabase((temporaryStore) => {
  test("creates an account once, in the tier beta by default", async (t) => {
    const { store } = await temporaryStore(t);
    const made = await createAccount(store, { name: "acme" }, "alice");
    const { id, ...rest } = made;
    const beta = { tier: "beta", requestsPerMinute: 60, concurrency: 10 };
    assert.deepEqual(rest, { name: "acme", ...beta, createdAt: new Date(START_MS).toISOString(), suspendedAt: null });
    await setTier(store, { name: "large", requestsPerMinute: 600, concurrency: 50 }, "alice");
    assert.equal((await createAccount(store, { name: "other", tier: "large" }, "alice")).requestsPerMinute, 600);
    assert.deepEqual(
      (await listAccounts(store)).find((account) => account.id === id),
      made,
    );
    const refused: [{ name: string; tier?: string }, RegExp][] = [
      [{ name: "acme" }, /the account acme already exists/],
      [{ name: "new", tier: "huge" }, /there is no tier huge; there are beta, large/],
      [{ name: "" }, /the name must have 1 to 100/],
    ];
    for (const [request, message] of refused) {
      await assert.rejects(createAccount(store, request, "alice"), (error: Error) => {
        assert.ok(error instanceof AdminError);
        assert.match(error.message, message);
        return true;
      });
    }
    assert.equal((await listAccounts(store)).length, 2);
  });

  test("changes an account's tier by name or id; reports unknown names", async (t) => {
    const { store } = await temporaryStore(t);
    const { id } = await createAccount(store, { name: "acme" }, "alice");
    await setTier(store, { name: "large", requestsPerMinute: 600, concurrency: 50 }, "alice");
    assert.equal((await updateAccount(store, "acme", { tier: "large" }, "alice")).concurrency, 50);
    assert.equal((await updateAccount(store, id, { tier: "beta" }, "alice")).concurrency, 10);
    await assert.rejects(
      updateAccount(store, "nobody", { tier: "beta" }, "alice"),
      /^AdminError: there is no account nobody$/,
    );
    await assert.rejects(updateAccount(store, "acme", { tier: "huge" }, "alice"), /^AdminError: there is no tier huge/);
  });

  test("erases an account's records in many steps and counts pending and running ones", async (t) => {
    const { store } = await temporaryStore(t);
    const project = await addProject(store, "acme");
    for (let n = 0; n < 35; n++) await endOne(store, project);
    await submit(store, project);
    assert.deepEqual(await eraseRecords(store, "acme", "alice"), { account: "acme", erased: 35, notEnded: 1 });
    assert.deepEqual(await eraseRecords(store, "acme", "alice"), { account: "acme", erased: 0, notEnded: 1 });
    await assert.rejects(eraseRecords(store, "nobody", "alice"), /^AdminError: there is no account nobody$/);
  });

  test("rejects tier limits out of range", async (t) => {
    const { store } = await temporaryStore(t);
    const tier = { name: "beta", requestsPerMinute: 60, concurrency: 10 };
    for (const change of [
      { requestsPerMinute: 0 },
      { concurrency: 1.5 },
      { requestsPerMinute: 1_000_001 },
      { name: " " },
    ]) {
      await assert.rejects(setTier(store, { ...tier, ...change }, "alice"), AdminError);
    }
    for (const change of [{ sandboxes: 0 }, { sandboxMemoryBytes: 0.5 }, { executions: 1e9 }])
      await assert.rejects(setTier(store, { ...tier, ...change }, "alice"), AdminError);
    const allowance = {
      sandboxes: 10,
      sandboxMemoryBytes: 4_294_967_296,
      sandboxDiskBytes: 16 * 2 ** 30,
      executions: 16,
      snapshots: 20,
      snapshotBytes: 4 * 2 ** 30,
    };
    assert.deepEqual(await listTiers(store), [{ ...tier, ...allowance }]);
  });

  test("changes an account's name and tier, or neither", async (t) => {
    const { store } = await temporaryStore(t);
    const { id } = await createAccount(store, { name: "acme" }, "alice");
    await createAccount(store, { name: "other" }, "alice");
    const all = () => store.accounts.list();
    const before = await all();
    const both = { name: "new", tier: "huge" };
    await assert.rejects(updateAccount(store, id, both, "alice"), /there is no tier huge/);
    await assert.rejects(
      updateAccount(store, id, { name: "other", tier: "beta" }, "alice"),
      /the account other already exists/,
    );
    assert.deepEqual(await all(), before);
    await store.tiers.set({ name: "huge", requestsPerMinute: 9, concurrency: 9 }, "alice");
    const { name, tier } = await updateAccount(store, id, both, "alice");
    assert.deepEqual({ name, tier }, both);
  });
});
