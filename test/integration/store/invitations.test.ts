import assert from "node:assert/strict";
import { test } from "node:test";
import type { NewInvitation } from "../../../src/store/people/types.ts";
import type { Store } from "../../../src/store/store.ts";
import { addPerson, addSession } from "../../support/store/members.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";

const HOUR_MS = 3_600_000;
const chosen = { email: "chosen@example.com", name: "Chosen", password: "hash" };

function add(store: Store, hash: string, what: NewInvitation): Promise<number | undefined> {
  return store.invitations.add({ id: `id of ${hash}`, hash, lastsMs: HOUR_MS }, what, "test");
}

function forEmail(email: string, accountId: string | null = null): NewInvitation {
  return { kind: "invite", email, accountId, administrator: accountId === null };
}

onEachDatabase((temporaryStore) => {
  test("the first link creates one administrator with a chosen e-mail, only while there are no people", async (t) => {
    const { store, clock } = await temporaryStore(t);
    assert.equal(await add(store, "lost", { kind: "first" }), clock.nowMs + HOUR_MS);
    assert.equal(await add(store, "first", { kind: "first" }), clock.nowMs + HOUR_MS);
    assert.equal(await store.invitations.find("lost"), undefined);
    assert.deepEqual(await store.invitations.list(), []);
    const id = (await store.invitations.accept("first", chosen)) ?? "";
    const { email, administrator } = (await store.people.get(id)) ?? {};
    assert.deepEqual({ email, administrator }, { email: "chosen@example.com", administrator: true });
    assert.equal(await store.invitations.accept("first", { ...chosen, email: "two@example.com" }), undefined);
    assert.equal(await add(store, "again", { kind: "first" }), undefined);
  });

  test("a first link is void once any person exists", async (t) => {
    const { store } = await temporaryStore(t);
    await add(store, "first", { kind: "first" });
    await addPerson(store, "ada@example.com");
    assert.equal(await store.invitations.accept("first", chosen), undefined);
    assert.equal((await store.people.list()).length, 1);
  });

  test("concurrent uses of one link create one person", async (t) => {
    const { store, another } = await temporaryStore(t);
    const other = await another();
    await add(store, "first", { kind: "first" });
    const made = await Promise.all(
      [store, other, store, other].map((one, at) =>
        one.invitations.accept("first", { ...chosen, email: `${at}@example.com` }),
      ),
    );
    assert.equal(made.filter((id) => id !== undefined).length, 1);
    assert.equal((await store.people.list()).length, 1);
  });

  test("an invitation is bound to its e-mail and account, and only the newest is valid", async (t) => {
    const { store } = await temporaryStore(t);
    const { id: club } = await store.accounts.ensure("club", "beta", "test");
    await addPerson(store, "ada@example.com");
    assert.equal(await add(store, "taken", forEmail("ada@example.com", club)), undefined);
    await add(store, "old", forEmail("bob@example.com", club));
    const expiresAtMs = await add(store, "new", forEmail("bob@example.com", club));
    assert.equal(await store.invitations.accept("old", chosen), undefined);
    const invitation = {
      id: "id of new",
      kind: "invite",
      email: "bob@example.com",
      personId: null,
      account: { id: club, name: "club" },
      administrator: false,
      expiresAtMs,
    };
    assert.deepEqual(await store.invitations.find("new"), invitation);
    assert.deepEqual(await store.invitations.list(), [invitation]);
    const id = (await store.invitations.accept("new", chosen)) ?? "";
    const { email, name, accounts, administrator } = (await store.people.get(id)) ?? {};
    assert.deepEqual(
      { email, name, accounts, administrator },
      { email: "bob@example.com", name: "Chosen", accounts: [{ id: club, name: "club" }], administrator: false },
    );
    assert.equal(await store.invitations.accept("new", chosen), undefined);
  });

  test("an expired link is invalid and is removed", async (t) => {
    const { store, clock } = await temporaryStore(t);
    await add(store, "h", forEmail("bob@example.com"));
    clock.nowMs += HOUR_MS - 1;
    await store.invitations.forget();
    assert.equal((await store.invitations.list()).length, 1);
    clock.nowMs += 1;
    assert.equal(await store.invitations.find("h"), undefined);
    assert.deepEqual(await store.invitations.list(), []);
    assert.equal(await store.invitations.accept("h", chosen), undefined);
    await store.invitations.forget();
    clock.nowMs -= 1;
    assert.equal(await store.invitations.find("h"), undefined);
  });

  test("a reset changes the password, ends sessions and unbinds the identity provider", async (t) => {
    const { store } = await temporaryStore(t);
    await addPerson(store, "root@example.com");
    const ada = await addPerson(store, "ada@example.com");
    await store.people.enterWithProvider({ email: "ada@example.com", name: "x", subject: "s" });
    await addSession(store, ada, "open");
    await add(store, "reset", { kind: "reset", personId: ada });
    assert.equal(await store.invitations.accept("reset", { ...chosen, password: "new hash" }), ada);
    assert.deepEqual(await store.people.passwordOf("ada@example.com"), { personId: ada, hash: "new hash" });
    assert.equal(await store.sessions.find("open"), undefined);
    const { name, hasProvider } = (await store.people.get(ada)) ?? {};
    assert.deepEqual({ name, hasProvider }, { name: "ada", hasProvider: false });
    assert.equal(await store.invitations.accept("reset", chosen), undefined);
  });

  test("a disabled person cannot be reset, even by an earlier link", async (t) => {
    const { store } = await temporaryStore(t);
    await addPerson(store, "root@example.com");
    const ada = await addPerson(store, "ada@example.com");
    await add(store, "reset", { kind: "reset", personId: ada });
    await store.people.update(ada, { disabled: true }, "test");
    assert.equal(await store.invitations.accept("reset", chosen), undefined);
    assert.equal(await add(store, "later", { kind: "reset", personId: ada }), undefined);
    assert.equal(await add(store, "nobody", { kind: "reset", personId: "nobody" }), undefined);
  });

  test("a new password invalidates earlier reset links", async (t) => {
    const { store } = await temporaryStore(t);
    const ada = await addPerson(store, "ada@example.com");
    await add(store, "reset", { kind: "reset", personId: ada });
    await store.people.setPassword(ada, "own choice", null, "ada@example.com");
    assert.equal(await store.invitations.accept("reset", chosen), undefined);
  });

  test("creating, withdrawing and using links adds audit entries without their hashes", async (t) => {
    const { store } = await temporaryStore(t);
    await add(store, "hash-1", { kind: "first" });
    const ada = (await store.invitations.accept("hash-1", chosen)) ?? "";
    await add(store, "hash-2", forEmail("bob@example.com"));
    assert.equal(await store.invitations.withdraw("id of hash-2", "ada"), true);
    assert.equal(await store.invitations.withdraw("id of hash-2", "ada"), false);
    await add(store, "hash-3", { kind: "reset", personId: ada });
    await store.invitations.accept("hash-3", { ...chosen, password: "a hash" });
    const entries = (await store.audit.list({ max: 100 })).reverse();
    assert.deepEqual(
      entries.map(({ action, actor, subject }) => [action, actor, subject]),
      [
        ["person.invite", "test", "id of hash-1"],
        ["person.create", "chosen@example.com", ada],
        ["person.invite", "test", "id of hash-2"],
        ["person.withdraw", "ada", "id of hash-2"],
        ["person.reset", "test", ada],
        ["person.set-password", "chosen@example.com", ada],
      ],
    );
    const text = JSON.stringify(entries.map(({ detail }) => detail));
    assert.doesNotMatch(text, /hash/);
  });
});
