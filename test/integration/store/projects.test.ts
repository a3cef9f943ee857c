import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../../src/store/store.ts";
import { addKey, onEachDatabase, START_MS } from "../../support/store/temporary.ts";

const trail = async (store: Store) =>
  (await store.audit.list({ max: 100 }))
    .filter(({ action }) => action.startsWith("project."))
    .map(({ action, detail }) => [action, detail]);

onEachDatabase((temporaryStore) => {
  test("project names are unique within an account, not across accounts", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const one = await store.accounts.ensure("one", "beta", "x");
    const two = await store.accounts.ensure("two", "beta", "x");
    const same = await Promise.all(Array.from({ length: 4 }, () => store.projects.create(one.id, "p", "x")));
    const made = same.filter((id) => id !== undefined);
    assert.equal(made.length, 1);
    clock.nowMs += 1;
    const other = await store.projects.create(two.id, "p", "x");
    assert.deepEqual(
      (await store.projects.find("p")).map(({ id }) => id),
      [other, made[0]],
    );
    assert.deepEqual(await store.projects.find(made[0] ?? ""), [
      { id: made[0], accountId: one.id, accountName: "one", name: "p", createdAtMs: START_MS, archivedAtMs: null },
    ]);
    assert.deepEqual(await store.projects.find("q"), []);
    assert.equal((await trail(store)).length, 2);
  });

  test("an unknown account creates neither a project nor an audit entry", async (t) => {
    const { store } = await temporaryStore(t);
    await assert.rejects(store.projects.create("nobody", "p", "x"));
    assert.deepEqual([await store.projects.list(), await store.audit.list({ max: 10 })], [[], []]);
  });

  test("a rename keeps the id and cannot use the name of another project", async (t) => {
    const { store } = await temporaryStore(t);
    const { id: account } = await store.accounts.ensure("one", "beta", "x");
    const id = (await store.projects.create(account, "p", "x")) ?? "";
    await store.projects.create(account, "taken", "x");
    assert.equal(await store.projects.rename(id, "taken", "x"), false);
    assert.equal(await store.projects.rename("nobody", "free", "x"), false);
    assert.equal(await store.projects.rename(id, "free", "x"), true);
    assert.equal(await store.projects.rename(id, "free", "x"), true);
    assert.deepEqual((await store.projects.list()).map(({ name }) => name).toSorted(), ["free", "taken"]);
    assert.equal((await store.projects.find("free"))[0]?.id, id);
    const renames = (await trail(store)).filter(([action]) => action === "project.rename");
    assert.deepEqual(renames, [["project.rename", { name: { from: "p", to: "free" } }]]);
  });

  test("a project is archived only without live keys, and can be restored", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { id: account } = await store.accounts.ensure("one", "beta", "x");
    const projectId = (await store.projects.create(account, "p", "x")) ?? "";
    await addKey(store, "revoked", { account: "one", projectId });
    await store.keys.revoke("revoked", "x");
    await addKey(store, "rotated", { account: "one", projectId });
    await store.keys.rotate("rotated", { id: "new", prefix: "n", hash: "n" }, 1000, "x");
    assert.equal(await store.projects.archive(projectId, "x"), 2);
    await store.keys.revoke("new", "x");
    assert.equal(await store.projects.archive(projectId, "x"), 1);
    assert.equal((await store.projects.list())[0]?.archivedAtMs, null);
    clock.nowMs += 1000;
    assert.equal(await store.projects.archive(projectId, "x"), 0);
    assert.equal((await store.projects.list())[0]?.archivedAtMs, START_MS + 1000);
    await store.projects.archive(projectId, "x");
    await store.projects.restore(projectId, "x");
    await store.projects.restore(projectId, "x");
    assert.equal((await store.projects.list())[0]?.archivedAtMs, null);
    assert.deepEqual(
      (await trail(store)).map(([action]) => action),
      ["project.restore", "project.archive", "project.create"],
    );
  });
});
