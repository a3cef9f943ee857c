import assert from "node:assert/strict";
import { test } from "node:test";
import type { KeyBounds } from "../../../src/store/access/types.ts";
import type { Store } from "../../../src/store/store.ts";
import { addKey, enqueue, onEachDatabase, START_MS } from "../../support/store/temporary.ts";

const SETTINGS = {
  requestsPerMinute: null,
  concurrency: null,
  profiles: ["judge"],
  defaultProfile: "judge",
} as const;
const SUCCESSOR = { id: "new", prefix: "assay_live_111111", hash: "hash of new" };

const live = async (store: Store, hash: string) => (await store.keys.findCaller(hash)) !== undefined;
const actions = async (store: Store) => (await store.audit.list({ max: 100 })).map(({ action }) => action);

const boundsOf = (live: number | null): KeyBounds | null => (live === null ? null : { liveKeys: live, aDay: 100 });

onEachDatabase((temporaryStore) => {
  test("a key's caller has the tier's limits unless the key overrides them", async (t) => {
    const { store } = await temporaryStore(t);
    const plain = await addKey(store, "plain");
    const limits = { requestsPerMinute: 5, concurrency: 2 };
    const special = await addKey(store, "special", { ...limits, profiles: ["agent", "judge"] });
    assert.deepEqual(await store.keys.findCaller(plain.hash), {
      hash: plain.hash,
      caller: {
        keyId: "plain",
        accountId: plain.accountId,
        projectId: null,
        requestsPerMinute: 60,
        concurrency: 10,
        executions: 16,
        profiles: ["judge"],
        defaultProfile: "judge",
      },
      suspended: false,
    });
    const second = (await store.keys.findCaller(special.hash))?.caller;
    assert.deepEqual([second?.requestsPerMinute, second?.concurrency], [5, 2]);
    assert.deepEqual([second?.profiles, second?.defaultProfile], [["agent", "judge"], "agent"]);
  });

  test("unknown and revoked keys have no caller", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    assert.equal(await store.keys.findCaller("other"), undefined);
    assert.equal(await store.keys.revoke(key.keyId, "x"), true);
    assert.equal(await store.keys.revoke(key.keyId, "x"), false);
    assert.equal(await store.keys.findCaller(key.hash), undefined);
    assert.deepEqual((await actions(store)).filter((action) => action === "key.revoke").length, 1);
  });

  test("the last use is recorded to the minute", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const lastUsed = async () => (await store.keys.list())[0]?.lastUsedAtMs;
    assert.equal(await lastUsed(), null);
    await store.keys.touch(key.keyId);
    assert.equal(await lastUsed(), START_MS);
    clock.nowMs += 59_999;
    await store.keys.touch(key.keyId);
    assert.equal(await lastUsed(), START_MS);
    clock.nowMs += 1;
    await store.keys.touch(key.keyId);
    assert.equal(await lastUsed(), START_MS + 60_000);
  });

  test("a key has its project; projects that are archived, unknown or of another account accept none", async (t) => {
    const { store } = await temporaryStore(t);
    const { id: accountId } = await store.accounts.ensure("one", "beta", "x");
    const projectId = (await store.projects.create(accountId, "p", "x")) ?? "";
    const key = await addKey(store, "a", { account: "one", projectId });
    assert.equal((await store.keys.findCaller(key.hash))?.caller.projectId, projectId);
    const [listed] = await store.keys.list();
    assert.deepEqual([listed?.accountName, listed?.projectName], ["one", "p"]);
    await addKey(store, "b", { account: "other", projectId });
    await addKey(store, "c", { account: "one", projectId: "no such project" });
    await store.keys.revoke("a", "x");
    assert.equal(await store.projects.archive(projectId, "x"), 0);
    await addKey(store, "d", { account: "one", projectId });
    assert.deepEqual(
      (await store.keys.list()).map(({ id }) => id),
      ["a"],
    );
    assert.equal((await actions(store)).filter((action) => action === "key.create").length, 1);
  });

  test("keys are found by id, hash or prefix, including revoked keys", async (t) => {
    const { store } = await temporaryStore(t);
    const a = await addKey(store, "a");
    await addKey(store, "b");
    await store.keys.revoke("b", "x");
    const none = { id: "?", hash: "?", prefix: "?" };
    const ids = async (which: Partial<typeof none>) =>
      (await store.keys.match({ ...none, ...which })).map(({ id, isLive }) => `${id} ${isLive}`);
    assert.deepEqual(await ids({}), []);
    assert.deepEqual(await ids({ id: "b" }), ["b false"]);
    assert.deepEqual(await ids({ hash: a.hash }), ["a true"]);
    assert.deepEqual(await ids({ prefix: "assay_live_000000" }), ["b false", "a true"]);
  });

  test("a rotated key and its successor are both valid until the end of the overlap", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { id: accountId } = await store.accounts.ensure("one", "beta", "x");
    const projectId = (await store.projects.create(accountId, "p", "x")) ?? "";
    const settings = { account: "one", projectId, requestsPerMinute: 7, concurrency: 3 };
    const old = await addKey(store, "old", { ...settings, profiles: ["agent", "judge"] });
    await store.keys.touch("old");
    const before = (await store.keys.findCaller(old.hash))?.caller;
    clock.nowMs += 10;
    assert.equal(await store.keys.rotate("old", SUCCESSOR, 1000, "x"), START_MS + 1010);
    const after = (await store.keys.findCaller(SUCCESSOR.hash))?.caller;
    assert.deepEqual(after, { ...before, keyId: "new" }, "the same settings");
    const [made] = await store.keys.list();
    assert.deepEqual(
      [made?.name, made?.prefix, made?.replaces, made?.createdAtMs, made?.lastUsedAtMs, made?.expiresAtMs],
      ["old", SUCCESSOR.prefix, "old", START_MS + 10, null, null],
    );
    clock.nowMs = START_MS + 1009;
    assert.deepEqual([await live(store, old.hash), await live(store, SUCCESSOR.hash)], [true, true]);
    clock.nowMs = START_MS + 1010;
    assert.deepEqual([await live(store, old.hash), await live(store, SUCCESSOR.hash)], [false, true]);
    assert.equal((await store.keys.list())[1]?.isLive, false);
  });

  test("without an overlap the old key expires at once", async (t) => {
    const { store } = await temporaryStore(t);
    const old = await addKey(store, "old");
    await store.keys.rotate("old", SUCCESSOR, 0, "x");
    assert.deepEqual([await live(store, old.hash), await live(store, SUCCESSOR.hash)], [false, true]);
  });

  test("concurrent requests rotate a key once; revoked and unknown keys are not rotated", async (t) => {
    const { store } = await temporaryStore(t);
    await addKey(store, "old");
    const tries = ["1", "2", "3"].map((id) => store.keys.rotate("old", { id, prefix: id, hash: id }, 1000, "x"));
    assert.equal((await Promise.all(tries)).filter((end) => end !== undefined).length, 1);
    assert.equal((await store.keys.list()).length, 2);
    await addKey(store, "dead");
    await store.keys.revoke("dead", "x");
    assert.equal(await store.keys.rotate("dead", { ...SUCCESSOR, id: "y" }, 1000, "x"), undefined);
    assert.equal(await store.keys.rotate("nobody", { ...SUCCESSOR, id: "y" }, 1000, "x"), undefined);
    assert.equal((await actions(store)).filter((action) => action === "key.rotate").length, 1);
  });

  test("an idempotency key survives the rotation of its API key", async (t) => {
    const { store } = await temporaryStore(t);
    const old = await addKey(store, "old");
    const first = await enqueue(store, old, { idempotencyKey: "i" });
    await store.keys.rotate("old", SUCCESSOR, 0, "x");
    const again = await enqueue(store, { ...old, keyId: "new" }, { idempotencyKey: "i" });
    assert.ok(first.kind === "enqueued" && again.kind === "duplicate");
    assert.equal(again.submission.id, first.submission.id);
  });

  test("pending work of a rotated key and of its successor runs, each within its limit", async (t) => {
    const { store } = await temporaryStore(t);
    const old = await addKey(store, "old", { concurrency: 2 });
    for (let i = 0; i < 5; i++) await enqueue(store, old);
    await store.keys.rotate("old", SUCCESSOR, 0, "x");
    for (let i = 0; i < 5; i++) await enqueue(store, { ...old, keyId: "new" });
    const claims = await store.submissions.claim("w", 1000, 100);
    const byKey = claims.map(({ submission }) => submission.keyId);
    assert.deepEqual(byKey.toSorted(), ["new", "new", "old", "old"]);
  });

  test("two keys of one project take turns", async (t) => {
    const { store } = await temporaryStore(t);
    const { id: accountId } = await store.accounts.ensure("one", "beta", "x");
    const projectId = (await store.projects.create(accountId, "p", "x")) ?? "";
    const greedy = await addKey(store, "greedy", { account: "one", projectId });
    const modest = await addKey(store, "modest", { account: "one", projectId });
    for (let i = 0; i < 8; i++) await enqueue(store, greedy);
    await enqueue(store, modest);
    const first = await store.submissions.claim("w", 1000, 2);
    assert.deepEqual(first.map(({ submission }) => submission.keyId).toSorted(), ["greedy", "modest"]);
  });

  test("an update applies to the next request, and its audit entry has both values", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a", { requestsPerMinute: 5 });
    const settings = { requestsPerMinute: null, concurrency: 4, profiles: ["judge"], defaultProfile: "judge" } as const;
    assert.equal(await store.keys.update("a", settings, "x"), true);
    const found = (await store.keys.findCaller(key.hash))?.caller;
    assert.deepEqual([found?.requestsPerMinute, found?.concurrency], [60, 4]);
    const [entry] = await store.audit.list({ max: 1 });
    assert.deepEqual([entry?.action, entry?.subject, entry?.accountId], ["key.update", "a", key.accountId]);
    assert.deepEqual(entry?.detail, { requestsPerMinute: { from: 5, to: null }, concurrency: { from: null, to: 4 } });
    assert.equal(await store.keys.update("a", settings, "x"), true);
    assert.deepEqual(
      (await actions(store)).filter((action) => action === "key.update").length,
      1,
      "no change, no entry",
    );
    await store.keys.revoke("a", "x");
    assert.equal(await store.keys.update("a", settings, "x"), false);
  });

  test("concurrent requests never exceed an account's maximum of live keys", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { accountId } = await addKey(store, "first", { account: "one" });
    const settings = {
      requestsPerMinute: null,
      concurrency: null,
      profiles: ["judge"],
      defaultProfile: "judge",
    } as const;
    const add = (id: string, live: number | null = 3) =>
      store.keys.add(
        { id, accountId, projectId: null, name: id, prefix: id, hash: id, ...settings },
        "x",
        boundsOf(live),
      );
    const answers = await Promise.all(["a", "b", "c", "d"].map((id) => add(id)));
    assert.deepEqual(answers.sort(), ["added", "added", "full", "full"]);
    assert.equal(await store.keys.rotate("first", SUCCESSOR, 1_000, "x", boundsOf(3)), "full");
    await store.keys.revoke("first", "x");
    assert.equal(await add("e"), "added");
    assert.equal(await store.keys.rotate("e", SUCCESSOR, 1_000, "x", boundsOf(4)), clock.nowMs + 1_000);
    assert.equal(await add("f", 4), "full");
    clock.nowMs += 1_000;
    assert.equal(await add("f", 4), "added");
    assert.equal(await add("g", null), "added");
  });

  test("keys created in 24 hours are limited across all processes, including revoked and rotated keys", async (t) => {
    const { store, another, clock } = await temporaryStore(t);
    const { accountId } = await addKey(store, "first", { account: "one" });
    await addKey(store, "neighbour", { account: "two" });
    const other = another ? await another() : store;
    const bounds = { liveKeys: 3, aDay: 8 };
    const mint = async (from: Store, name: string) => {
      const made: string[] = [];
      for (let at = 0; at < 6; at++) {
        const id = `${name} ${at}`;
        const key = { id, accountId, projectId: null, name, prefix: id, hash: id, ...SETTINGS };
        made.push(await from.keys.add(key, "x", bounds));
        await from.keys.revoke(id, "x");
      }
      return made;
    };
    const answers = (await Promise.all([mint(store, "a"), mint(other, "b")])).flat();
    assert.equal(answers.filter((answer) => answer === "added").length, 7, "the first key counts as well");
    assert.equal(answers.filter((answer) => answer === "spent").length, 5);
    assert.equal(await store.keys.rotate("first", SUCCESSOR, 0, "x", bounds), "spent");
    clock.nowMs += 86_400_000;
    assert.equal(await store.keys.rotate("first", SUCCESSOR, 0, "x", bounds), clock.nowMs);
  });

  test("lists are paged by account, newest first, without gaps or repeats", async (t) => {
    const { store, clock } = await temporaryStore(t);
    for (let at = 0; at < 12; at++) {
      await addKey(store, `k${at}`, { account: ["one", "two", "three"][at % 3] ?? "" });
      if (at % 2 === 0) clock.nowMs += 1; // pairs have the same millisecond
    }
    const accounts = await store.accounts.list();
    const idOf = (name: string) => accounts.find((account) => account.name === name)?.id ?? "";
    const walk = async (accountIds: readonly string[] | null, max: number) => {
      const ids: string[] = [];
      for (let after: string | undefined; ; after = ids.at(-1)) {
        const part = await store.keys.list({ accountIds, after, max });
        assert.ok(part.length <= max);
        if (part.length === 0) return ids;
        ids.push(...part.map(({ id }) => id));
      }
    };
    for (const accountIds of [null, [idOf("one")], [idOf("one"), idOf("three")], []]) {
      const whole = (await store.keys.list({ accountIds })).map(({ id }) => id);
      assert.equal(whole.length, accountIds === null ? 12 : 4 * accountIds.length);
      for (const max of [1, 3, 5, 12]) assert.deepEqual(await walk(accountIds, max), whole);
    }
    const newest = await store.keys.list({ max: 3 });
    assert.ok(newest.every((key, at) => at === 0 || key.createdAtMs <= (newest[at - 1]?.createdAtMs ?? 0)));
    assert.deepEqual(await store.keys.list({ after: "none" }), []);
    await store.keys.revoke("k0", "x");
    assert.equal((await store.keys.list({ live: true })).length, 11);
  });

  test("usage is counted by key", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const [one, two] = [await addKey(store, "one"), await addKey(store, "two")];
    await addKey(store, "idle");
    for (let at = 0; at < 2; at++) await store.quota.take("one", 10);
    for (let at = 0; at < 3; at++) await enqueue(store, one);
    await enqueue(store, two);
    await store.submissions.claim("w", 60_000, 1);
    const second = { requests: 0, pending: 1, running: 0 };
    assert.deepEqual([...(await store.keys.usage(["one", "two", "idle"]))].sort(), [
      ["one", { requests: 2, pending: 2, running: 1 }],
      ["two", second],
    ]);
    assert.deepEqual([...(await store.keys.usage(["two"]))], [["two", second]]);
    assert.deepEqual([...(await store.keys.usage([]))], []);
    clock.nowMs += 59_999;
    assert.equal((await store.keys.usage(["one", "two", "idle"])).get("one")?.requests, 2);
    clock.nowMs += 1;
    assert.equal((await store.keys.usage(["one", "two", "idle"])).get("one")?.requests, 0);
  });
});
