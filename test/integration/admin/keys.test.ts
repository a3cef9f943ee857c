import assert from "node:assert/strict";
import { test } from "node:test";
import { updateAccount } from "../../../src/admin/accounts.ts";
import { AdminError } from "../../../src/admin/error.ts";
import { createKey, listKeys, type NewKey, revokeKey, rotateKey, updateKey } from "../../../src/admin/keys.ts";
import { archiveProject, createProject } from "../../../src/admin/projects.ts";
import { setTier } from "../../../src/admin/tiers.ts";
import { hashKey } from "../../../src/domain/key.ts";
import type { Store } from "../../../src/store/store.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";

const create = (store: Store, request: Partial<NewKey> = {}) =>
  createKey(store, { name: "n", profiles: ["judge"], ...request }, "alice");
const callerOf = async (store: Store, key: string) => (await store.keys.findCaller(hashKey(key)))?.caller;

onEachDatabase((temporaryStore) => {
  test("a new key works, and only its hash is stored", async (t) => {
    const { store } = await temporaryStore(t);
    const { key } = await create(store);
    assert.deepEqual((await callerOf(store, key))?.profiles, ["judge"]);
    const stored = await store.keys.list();
    assert.equal(JSON.stringify(stored).includes(key), false);
    assert.ok(key.startsWith(stored[0]?.prefix ?? "?"));
    const shown = JSON.stringify([await listKeys(store), await store.audit.list({ max: 10 })]);
    assert.equal(
      shown.includes(key) || shown.includes(hashKey(key)),
      false,
      "neither list nor trail shows key or hash",
    );
  });

  test("keys with different names get separate accounts; the same name or --account shares one", async (t) => {
    const { store } = await temporaryStore(t);
    const account = async (request: Partial<NewKey>) =>
      (await callerOf(store, (await create(store, request)).key))?.accountId;
    const first = await account({ name: "first" });
    assert.notEqual(await account({ name: "second" }), first);
    assert.equal(await account({ name: "first" }), first);
    assert.equal(await account({ name: "third", account: "first" }), first);
  });

  test("a project's key belongs to the project and its account, regardless of its name", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const project = await createProject(store, { name: "shop", account: "acme" }, "alice");
    for (const which of ["shop", project.id]) {
      clock.nowMs += 1;
      const made = await create(store, { name: `by ${which}`, project: which });
      assert.deepEqual([made.account, made.project, made.projectId], ["acme", "shop", project.id]);
      assert.equal((await callerOf(store, made.key))?.projectId, project.id);
    }
    await create(store, { name: "apart" });
    assert.deepEqual(
      (await listKeys(store, { project: "shop" })).map(({ name }) => name),
      [`by ${project.id}`, "by shop"],
    );
  });

  test("rejects a key for a project that is unknown, ambiguous, archived or of another account", async (t) => {
    const { store } = await temporaryStore(t);
    await createProject(store, { name: "p", account: "one" }, "alice");
    await createProject(store, { name: "p", account: "two" }, "alice");
    await createProject(store, { name: "old", account: "one" }, "alice");
    await archiveProject(store, "old", "alice");
    const refused: [Partial<NewKey>, string][] = [
      [{ project: "q" }, "there is no project q"],
      [{ project: "p" }, "several accounts have a project p; use its id"],
      [{ project: "old" }, "the project old is archived; restore it first"],
      [{ project: "old", account: "two" }, "there is no project old in the account two"],
      [{ project: "p", account: "three" }, "there is no account three"],
    ];
    for (const [request, message] of refused) {
      await assert.rejects(create(store, request), (error: Error) => {
        assert.ok(error instanceof AdminError);
        assert.equal(error.message, message);
        return true;
      });
    }
    assert.deepEqual(await listKeys(store), []);
    assert.equal((await create(store, { project: "p", account: "two" })).account, "two");
  });

  test("the first profile is the default unless another is given; duplicates are removed", async (t) => {
    const { store } = await temporaryStore(t);
    const first = await create(store, { profiles: ["agent", "judge", "agent"] });
    assert.deepEqual([first.profiles, first.defaultProfile], [["agent", "judge"], "agent"]);
    const named = await create(store, { profiles: ["agent", "judge"], defaultProfile: "judge" });
    assert.deepEqual([named.profiles, named.defaultProfile], [["agent", "judge"], "judge"]);
    await assert.rejects(
      create(store, { defaultProfile: "agent" }),
      /agent is not one of the allowed profiles: judge$/,
    );
  });

  test("rejects values out of range before any write", async (t) => {
    const { store } = await temporaryStore(t);
    const wrong = [
      { name: " " },
      { name: " a" },
      { name: "a\nb" },
      { name: "a\u0000" },
      { name: "a\u202eb" },
      { name: "\ud800" },
      { name: "x".repeat(101) },
      { account: "" },
      { requestsPerMinute: 0 },
      { requestsPerMinute: 1.5 },
      { concurrency: 10_001 },
      { profiles: [] },
    ];
    for (const change of wrong) await assert.rejects(create(store, change), AdminError, JSON.stringify(change));
    assert.deepEqual([await listKeys(store), await store.audit.list({ max: 10 })], [[], []]);
  });

  test("revokes a key once, by the key, its id or its visible prefix", async (t) => {
    const { store } = await temporaryStore(t);
    for (const by of ["key", "id", "prefix"] as const) {
      const made = await create(store, { name: by });
      const { key: revoked } = await revokeKey(store, made[by], "alice");
      assert.deepEqual([revoked.id, revoked.state], [made.id, "revoked"]);
      assert.equal(await callerOf(store, made.key), undefined);
      await assert.rejects(revokeKey(store, made[by], "alice"), /^AdminError: there is no such live key$/);
    }
  });

  test("rejects a prefix that two live keys share", async (t) => {
    const { store } = await temporaryStore(t);
    const { id: accountId } = await store.accounts.ensure("one", "beta", "x");
    const settings = {
      requestsPerMinute: null,
      concurrency: null,
      profiles: ["judge"],
      defaultProfile: "judge",
    } as const;
    for (const id of ["a", "b"]) {
      await store.keys.add({ id, accountId, projectId: null, name: id, prefix: "same", hash: id, ...settings }, "x");
    }
    await assert.rejects(revokeKey(store, "same", "alice"), /several keys have this prefix; use the id/);
    await revokeKey(store, "a", "alice");
    assert.equal((await revokeKey(store, "same", "alice")).key.id, "b");
  });

  test("a rotated key has a successor with the same settings, and stops after the overlap", async (t) => {
    const { store, clock } = await temporaryStore(t);
    await createProject(store, { name: "shop" }, "alice");
    const settings = { project: "shop", requestsPerMinute: 5, concurrency: 2, profiles: ["agent", "judge"] } as const;
    const first = await create(store, { ...settings, defaultProfile: "judge" });
    clock.nowMs += 1;
    const { made, old } = await rotateKey(store, first.key, 60_000, "bob");
    assert.notEqual(made.key, first.key);
    assert.deepEqual([made.replaces, old.id, old.state], [first.id, first.id, "live"]);
    assert.equal(old.expiresAt, new Date(clock.nowMs + 60_000).toISOString());
    const before = await callerOf(store, first.key);
    assert.deepEqual(await callerOf(store, made.key), { ...before, keyId: made.id });
    clock.nowMs += 60_000;
    assert.equal(await callerOf(store, first.key), undefined);
    assert.ok(await callerOf(store, made.key));
    assert.deepEqual(
      (await listKeys(store)).map(({ state }) => state),
      ["live", "expired"],
    );
    const [entry] = await store.audit.list({ max: 1 });
    assert.deepEqual([entry?.actor, entry?.action, entry?.detail.successor], ["bob", "key.rotate", made.id]);
    assert.equal(JSON.stringify(entry).includes(made.key), false);
  });

  test("rejects rotation of rotated, revoked and unknown keys, and an invalid overlap", async (t) => {
    const { store } = await temporaryStore(t);
    const { key } = await create(store);
    for (const overlap of [-1, 0.5, 90 * 86_400_000 + 1, Number.NaN]) {
      await assert.rejects(rotateKey(store, key, overlap, "alice"), /the overlap must be from 0 to 90 days/);
    }
    const { made } = await rotateKey(store, key, 60_000, "alice");
    await assert.rejects(rotateKey(store, key, 60_000, "alice"), /was already rotated; rotate its replacement/);
    const again = await rotateKey(store, made.key, 0, "alice");
    await assert.rejects(rotateKey(store, made.key, 0, "alice"), /there is no such live key/);
    await revokeKey(store, again.made.id, "alice");
    await assert.rejects(rotateKey(store, again.made.id, 0, "alice"), /there is no such live key/);
    assert.equal(
      (await listKeys(store)).filter(({ state }) => state === "live").length,
      1,
      "the first is in its overlap",
    );
    await revokeKey(store, key, "alice");
    assert.equal((await listKeys(store)).filter(({ state }) => state === "live").length, 0);
  });

  test("an update changes only the given fields; null restores the tier's limit", async (t) => {
    const { store } = await temporaryStore(t);
    const { key, id } = await create(store, { requestsPerMinute: 5, concurrency: 2, profiles: ["judge", "agent"] });
    await setTier(store, { name: "large", requestsPerMinute: 600, concurrency: 50 }, "alice");
    await updateAccount(store, "n", { tier: "large" }, "alice");
    const updated = await updateKey(store, key, { requestsPerMinute: null, defaultProfile: "agent" }, "alice");
    assert.deepEqual(
      [updated.id, updated.requestsPerMinute, updated.concurrency, updated.profiles, updated.defaultProfile],
      [id, null, 2, ["judge", "agent"], "agent"],
    );
    const caller = await callerOf(store, key);
    assert.deepEqual([caller?.requestsPerMinute, caller?.concurrency, caller?.defaultProfile], [600, 2, "agent"]);
    const refused: [Parameters<typeof updateKey>[2], RegExp][] = [
      [{}, /nothing to change/],
      [{ profiles: ["judge"] }, /default profile agent is not one/],
      [{ concurrency: 0 }, /concurrency must be/],
    ];
    for (const [change, message] of refused) await assert.rejects(updateKey(store, key, change, "alice"), message);
    assert.deepEqual(await callerOf(store, key), caller);
  });
});
