import assert from "node:assert/strict";
import { test } from "node:test";
import { addPerson } from "../../support/store/members.ts";
import { addKey, onEachDatabase } from "../../support/store/temporary.ts";

onEachDatabase((temporaryStore) => {
  test("entries are listed newest first, up to the maximum, of one account or of all", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const a = await addKey(store, "a");
    clock.nowMs -= 1_000; // the order does not depend on the clock
    await addKey(store, "b");
    const subjects = (entries: readonly { action: string; accountName: string | null }[]) =>
      entries.map(({ action, accountName }) => `${action} ${accountName}`);
    const all = await store.audit.list({ max: 100 });
    assert.deepEqual(subjects(all), ["key.create b", "account.create b", "key.create a", "account.create a"]);
    assert.deepEqual(await store.audit.list({ max: 2 }), all.slice(0, 2));
    assert.deepEqual(await store.audit.list({ max: 100, accountIds: [a.accountId] }), all.slice(2));
  });

  test("no change is made if its audit entry cannot be written", async (t) => {
    const { store } = await temporaryStore(t);
    const { accountId } = await addKey(store, "a");
    await store.tiers.set({ name: "large", requestsPerMinute: 600, concurrency: 50 }, "x");
    const projectId = (await store.projects.create(accountId, "p", "x")) ?? "";
    const archived = (await store.projects.create(accountId, "archived", "x")) ?? "";
    await store.projects.archive(archived, "x");
    const endpoint = {
      id: "e",
      projectId,
      url: "https://example.com/",
      seal: () => Buffer.from("s"),
      signing: "standard",
    } as const;
    await store.endpoints.add(endpoint, 10, "x");
    const ada = await addPerson(store, "ada@example.com");
    const bob = await addPerson(store, "bob@example.com");
    const link = { id: "link", hash: "link", lastsMs: 1_000 };
    const invitation = { kind: "invite", email: "eve@example.com", accountId, administrator: false } as const;
    await store.invitations.add(link, invitation, "x");
    const everything = async () =>
      JSON.stringify([
        await store.people.list(),
        await store.people.passwordOf("ada@example.com"),
        await store.invitations.list(),
        await store.accounts.list(),
        await store.tiers.list(),
        await store.projects.list(),
        await store.keys.list(),
        await store.endpoints.list(),
        await store.audit.list({ max: 100 }),
      ]);
    const before = await everything();
    // The table refuses an entry without an actor.
    const withoutActor = { name: null as unknown as string, address: "192.0.2.1" };
    const settings = { requestsPerMinute: 1, concurrency: 1, profiles: ["judge"], defaultProfile: "judge" } as const;
    const key = { id: "b", hash: "b", prefix: "b" };
    const changes: readonly (() => Promise<unknown>)[] = [
      () => store.accounts.ensure("new", "beta", withoutActor),
      () => store.accounts.rename(accountId, "new", withoutActor),
      () => store.accounts.setTier(accountId, "large", withoutActor),
      () => store.accounts.setSuspended(accountId, true, withoutActor),
      () => store.queue.beginDrop({ accountId }, withoutActor),
      () => store.tiers.set({ name: "beta", requestsPerMinute: 1, concurrency: 1 }, withoutActor),
      () => store.projects.create(accountId, "q", withoutActor),
      () => store.projects.rename(projectId, "q", withoutActor),
      () => store.projects.archive(projectId, withoutActor),
      () => store.projects.restore(archived, withoutActor),
      () => store.keys.add({ ...key, accountId, projectId, name: "b", ...settings }, withoutActor),
      () => store.keys.update("a", settings, withoutActor),
      () => store.keys.rotate("a", key, 1000, withoutActor),
      () => store.keys.revoke("a", withoutActor),
      () => store.endpoints.add({ ...endpoint, id: "f" }, 10, withoutActor),
      () => store.endpoints.setActive("e", false, withoutActor),
      () => store.endpoints.setSigning("e", "raw", withoutActor),
      () => store.endpoints.setSecret("e", () => Buffer.from("t"), { overlapMs: 1, mostFormer: 1 }, withoutActor),
      () => store.endpoints.remove("e", withoutActor),
      () => store.people.update(bob, { disabled: true }, withoutActor),
      () => store.people.setPassword(ada, "new", null, withoutActor),
      () => store.invitations.add({ ...link, id: "m", hash: "m" }, { kind: "reset", personId: ada }, withoutActor),
      () => store.invitations.withdraw("link", withoutActor),
    ];
    for (const change of changes) {
      await assert.rejects(change, String(change));
      assert.equal(await everything(), before, String(change));
    }
  });

  test("pages of the trail have each entry once, for several accounts, all or none", async (t) => {
    const { store } = await temporaryStore(t);
    const accounts = [await addKey(store, "a"), await addKey(store, "b"), await addKey(store, "c")];
    const accountIds = accounts.slice(0, 2).map(({ accountId }) => accountId);
    const all = await store.audit.list({ max: 100 });
    const parts = [];
    for (let before: number | undefined, part = all; part.length > 0; before = part.at(-1)?.seq) {
      part = await store.audit.list({ max: 4, before });
      parts.push(...part);
    }
    assert.deepEqual(parts, all);
    const [newest] = await store.audit.list({ max: 1, accountIds });
    assert.deepEqual(await store.audit.list({ max: 9, accountIds, before: newest?.seq }), all.slice(3));
    assert.deepEqual(await store.audit.list({ max: 9, accountIds: [] }), []);
    assert.deepEqual(await store.audit.list({ max: 9, accountIds: null }), all);
  });

  test("a search finds entries by account, actor, action, subject and time, in bounded steps", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { accountId: a } = await addKey(store, "a");
    const { accountId: b } = await addKey(store, "b");
    const start = clock.nowMs;
    for (let n = 0; n < 6; n++) {
      clock.nowMs += 600_000;
      await store.projects.create(a, `of a ${n}`, n % 2 === 0 ? "ada@example.com" : "bob@example.com");
      await store.projects.create(b, `of b ${n}`, "bob@example.com");
    }
    const all = await store.audit.list({ max: 100 });
    const found = async (which: object, lookAt?: number) => {
      const entries = [];
      let steps = 0;
      for (let next: number | null | undefined; next !== null; steps++) {
        const step = await store.audit.search({ max: 3, accountIds: null, ...which, before: next }, lookAt);
        assert.ok(step.entries.length <= 3);
        entries.push(...step.entries);
        next = step.next;
      }
      return { entries, steps };
    };
    const matches = (test: (entry: (typeof all)[number]) => boolean) => all.filter(test);
    const subject = all[3]?.subject ?? "";
    const cases = [
      [{}, () => true],
      [{ accountIds: [a] }, (entry) => entry.accountId === a],
      [{ accountIds: [a, b] }, (entry) => entry.accountId !== null],
      [{ actor: "ada@example.com" }, (entry) => entry.actor === "ada@example.com"],
      [{ accountIds: [a], actor: "bob@example.com" }, (entry) => entry.accountId === a && /^bob/.test(entry.actor)],
      [{ action: "account.create" }, (entry) => entry.action === "account.create"],
      [{ action: "project.create", actor: "ada@example.com" }, (entry) => entry.actor === "ada@example.com"],
      [{ subject }, (entry) => entry.subject === subject],
      [{ subject, accountIds: [a] }, (entry) => entry.subject === subject && entry.accountId === a],
      [
        { sinceMs: start + 1_200_000, untilMs: start + 3_000_000 },
        ({ atMs }) => atMs >= start + 1_200_000 && atMs < start + 3_000_000,
      ],
    ] as const satisfies readonly (readonly [object, (entry: (typeof all)[number]) => boolean])[];
    for (const [which, test] of cases) {
      for (const lookAt of [2, 5_000])
        assert.deepEqual((await found(which, lookAt)).entries, matches(test), `${JSON.stringify(which)} by ${lookAt}`);
    }
    // A rare match is searched in steps of bounded size.
    assert.ok((await found({ action: "account.create", accountIds: [a, b] }, 2)).steps > 3);
    assert.deepEqual(await store.audit.search({ max: 3, accountIds: [] }), { entries: [], next: null });
  });

  test("ids in entries have names, of the own accounts only", async (t) => {
    const { store } = await temporaryStore(t);
    const { accountId } = await addKey(store, "a");
    const other = await addKey(store, "b");
    const ada = await addPerson(store, "ada@example.com");
    const projectId = (await store.projects.create(accountId, "p", "x")) ?? "";
    const ids = [accountId, other.accountId, "a", "b", projectId, ada, "nothing"];
    const named = async (accountIds: readonly string[] | null) =>
      Object.fromEntries(
        [...(await store.audit.named(ids, accountIds))].map(([id, { kind, name }]) => [id, `${kind} ${name}`]),
      );
    const own = { [accountId]: "account a", a: "key a", [projectId]: "project p" };
    assert.deepEqual(await named([accountId]), own);
    const others = { [other.accountId]: "account b", b: "key b", [ada]: "person ada@example.com" };
    assert.deepEqual(await named(null), { ...own, ...others });
  });
});
