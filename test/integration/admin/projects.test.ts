import assert from "node:assert/strict";
import { test } from "node:test";
import { updateAccount } from "../../../src/admin/accounts.ts";
import { AdminError } from "../../../src/admin/error.ts";
import { createKey, revokeKey } from "../../../src/admin/keys.ts";
import {
  archiveProject,
  createProject,
  listProjects,
  renameProject,
  restoreProject,
} from "../../../src/admin/projects.ts";
import { onEachDatabase, START_MS } from "../../support/store/temporary.ts";

onEachDatabase((temporaryStore) => {
  test("a project gets the given account, or one with its own name", async (t) => {
    const { store } = await temporaryStore(t);
    const own = await createProject(store, { name: "shop" }, "alice");
    const createdAt = new Date(START_MS).toISOString();
    assert.deepEqual(own, { id: own.id, name: "shop", account: "shop", createdAt, archivedAt: null });
    const named = await createProject(store, { name: "shop", account: "acme" }, "alice");
    assert.equal(named.account, "acme");
    await assert.rejects(
      createProject(store, { name: "shop", account: "acme" }, "alice"),
      /^AdminError: the account acme already has a project shop$/,
    );
    for (const wrong of [{ name: "" }, { name: "p", account: "" }, { name: "p\u0007" }]) {
      await assert.rejects(createProject(store, wrong, "alice"), AdminError);
    }
    assert.equal((await listProjects(store)).length, 2);
  });

  test("renames a project by name or id, and rejects a name in use", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { id } = await createProject(store, { name: "a", account: "acme" }, "alice");
    clock.nowMs += 1;
    await createProject(store, { name: "b", account: "acme" }, "alice");
    assert.deepEqual(
      [(await renameProject(store, "a", "c", "alice")).id, (await listProjects(store))[1]?.name],
      [id, "c"],
    );
    await assert.rejects(renameProject(store, id, "b", "alice"), /the account acme already has a project b/);
    await assert.rejects(renameProject(store, "a", "d", "alice"), /there is no project a/);
    await assert.rejects(renameProject(store, id, "\t", "alice"), AdminError);
  });

  test("rejects archiving a project with live keys; restores an archived one", async (t) => {
    const { store } = await temporaryStore(t);
    await createProject(store, { name: "shop" }, "alice");
    const key = () => createKey(store, { name: "k", project: "shop", profiles: ["judge"] }, "alice");
    const { id } = await key();
    await assert.rejects(
      archiveProject(store, "shop", "alice"),
      /the project shop has live keys \(1\); revoke them first/,
    );
    await revokeKey(store, id, "alice");
    assert.equal((await archiveProject(store, "shop", "alice")).archivedAt, new Date(START_MS).toISOString());
    await assert.rejects(key(), /the project shop is archived; restore it first/);
    assert.equal((await restoreProject(store, "shop", "alice")).archivedAt, null);
    assert.equal((await key()).project, "shop");
  });

  test("an id takes precedence over a name, so a name cannot hide another project or account", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { id } = await createProject(store, { name: "a", account: "acme" }, "alice");
    clock.nowMs += 1;
    await createProject(store, { name: id, account: "evil" }, "mallory");
    assert.equal((await renameProject(store, id, "b", "alice")).account, "acme");
    const [acme] = await store.accounts.list();
    await store.accounts.ensure(acme?.id ?? "", "beta", "mallory");
    assert.equal((await updateAccount(store, acme?.id ?? "", { name: "still acme" }, "alice")).id, acme?.id);
  });
});
