import assert from "node:assert/strict";
import { test } from "node:test";
import { addPerson } from "../../support/store/members.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";

onEachDatabase((temporaryStore) => {
  test("people are listed newest first, with the names of their accounts", async (t) => {
    const { store, clock } = await temporaryStore(t);
    assert.equal(await store.people.any(), false);
    const { id: zoo } = await store.accounts.ensure("zoo", "beta", "test");
    const { id: club } = await store.accounts.ensure("club", "beta", "test");
    const ada = await addPerson(store, "ada@example.com");
    clock.nowMs += 1;
    const bob = await addPerson(store, "bob@example.com", [zoo, club]);
    assert.equal(await store.people.any(), true);
    const base = { hasPassword: true, hasProvider: false, seenAtMs: null, disabledAtMs: null };
    assert.deepEqual(await store.people.list(), [
      {
        ...base,
        id: bob,
        email: "bob@example.com",
        name: "bob",
        administrator: false,
        accounts: [
          { id: club, name: "club" },
          { id: zoo, name: "zoo" },
        ],
        createdAtMs: clock.nowMs,
      },
      {
        ...base,
        id: ada,
        email: "ada@example.com",
        name: "ada",
        administrator: true,
        accounts: [],
        createdAtMs: clock.nowMs - 1,
      },
    ]);
    assert.deepEqual(await store.people.get("nobody"), undefined);
    for (const which of [ada, "ada@example.com"]) assert.equal((await store.people.find(which))?.id, ada);
    assert.deepEqual(await store.people.find("ada"), undefined);
  });

  test("a password is found by e-mail unless the person is disabled", async (t) => {
    const { store } = await temporaryStore(t);
    await addPerson(store, "root@example.com");
    const ada = await addPerson(store, "ada@example.com");
    const hash = "password of ada@example.com";
    assert.deepEqual(await store.people.passwordOf("ada@example.com"), { personId: ada, hash });
    assert.equal(await store.people.passwordOf("eve@example.com"), undefined);
    await store.people.rehash(ada, "not this one", "new");
    assert.deepEqual(await store.people.passwordOf("ada@example.com"), { personId: ada, hash });
    await store.people.rehash(ada, hash, "new");
    assert.deepEqual(await store.people.passwordOf("ada@example.com"), { personId: ada, hash: "new" });
    await store.people.update(ada, { disabled: true }, "test");
    assert.equal(await store.people.passwordOf("ada@example.com"), undefined);
  });

  test("the audit entry of a change has both values; an unchanged update adds no entry", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { id: club } = await store.accounts.ensure("club", "beta", "test");
    await addPerson(store, "root@example.com");
    const ada = await addPerson(store, "ada@example.com");
    const changes = { name: "Ada", administrator: false, disabled: true, accountIds: [club] };
    assert.equal(await store.people.update(ada, changes, "root@example.com"), "updated");
    assert.equal(await store.people.update(ada, changes, "root@example.com"), "updated");
    const entries = (await store.audit.list({ max: 100 })).filter(({ action }) => action === "person.update");
    assert.deepEqual(
      entries.map(({ seq, ...entry }) => entry),
      [
        {
          atMs: clock.nowMs,
          actor: "root@example.com",
          action: "person.update",
          subject: ada,
          accountId: null,
          accountName: null,
          address: null,
          detail: {
            name: { from: "ada", to: "Ada" },
            administrator: { from: true, to: false },
            disabled: { from: false, to: true },
            accountIds: { from: [], to: [club] },
          },
        },
      ],
    );
    assert.equal(await store.people.update("nobody", changes, "x"), "unknown");
  });

  test("the last administrator remains, even if two concurrently remove each other", async (t) => {
    const { store, another } = await temporaryStore(t);
    const other = await another();
    const ada = await addPerson(store, "ada@example.com");
    const bob = await addPerson(store, "bob@example.com");
    const ends = await Promise.all([
      store.people.update(ada, { disabled: true }, "bob@example.com"),
      other.people.update(bob, { administrator: false }, "ada@example.com"),
    ]);
    assert.deepEqual(ends.sort(), ["last", "updated"]);
    const [left, ...more] = (await store.people.list()).filter((one) => one.administrator && one.disabledAtMs === null);
    assert.deepEqual(more, []);
    assert.equal(await store.people.update(left?.id ?? "", { name: "Last" }, "x"), "updated");
  });

  test("the identity provider signs in existing and invited people and binds the first subject", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { id: club } = await store.accounts.ensure("club", "beta", "test");
    await addPerson(store, "root@example.com");
    const ada = await addPerson(store, "ada@example.com");
    const enter = (email: string, subject: string) =>
      store.people.enterWithProvider({ email, name: "From There", subject });
    assert.equal(await enter("eve@example.com", "s-eve"), undefined);
    assert.equal(await enter("ada@example.com", "s-ada"), ada);
    assert.equal(await enter("ada@example.com", "s-ada"), ada);
    assert.equal(await enter("ada@example.com", "s-new-owner-of-the-address"), undefined);
    assert.equal(await enter("ada.married@example.com", "s-ada"), ada);
    assert.equal(await enter("root@example.com", "s-ada"), undefined);

    const invitation = { kind: "invite", email: "bob@example.com", accountId: club, administrator: false } as const;
    await store.invitations.add({ id: "i", hash: "h", lastsMs: 1_000 }, invitation, "test");
    clock.nowMs += 1_000;
    assert.equal(await enter("bob@example.com", "s-bob"), undefined);
    await store.invitations.add({ id: "j", hash: "j", lastsMs: 1_000 }, invitation, "test");
    const bob = (await enter("bob@example.com", "s-bob")) ?? "";
    const { name, accounts, hasPassword, hasProvider } = (await store.people.get(bob)) ?? {};
    assert.deepEqual(
      { name, accounts, hasPassword, hasProvider },
      { name: "From There", accounts: [{ id: club, name: "club" }], hasPassword: false, hasProvider: true },
    );
    assert.equal(await store.invitations.find("j"), undefined);
    assert.equal(await store.people.passwordOf("bob@example.com"), undefined);
    await store.people.update(bob, { disabled: true }, "test");
    assert.equal(await enter("bob@example.com", "s-bob"), undefined);
  });
});
