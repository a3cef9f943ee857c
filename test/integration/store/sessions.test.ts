import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SESSION_IDLE_MS, SESSION_LONGEST_MS } from "../../../src/domain/session.ts";
import { openDatabase } from "../../../src/store/open.ts";
import { addPerson, addSession } from "../../support/store/members.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";

onEachDatabase((temporaryStore) => {
  test("a session has its person and their current accounts", async (t) => {
    const { store } = await temporaryStore(t);
    const { id: accountId } = await store.accounts.ensure("club", "beta", "test");
    const ada = await addPerson(store, "ada@example.com");
    const bob = await addPerson(store, "bob@example.com", [accountId]);
    await addSession(store, ada, "a");
    await addSession(store, bob, "b");
    assert.deepEqual(await store.sessions.find("a"), {
      id: ada,
      email: "ada@example.com",
      name: "ada",
      administrator: true,
      accountIds: null,
    });
    assert.deepEqual((await store.sessions.find("b"))?.accountIds, [accountId]);
    await store.people.update(bob, { accountIds: [] }, "test");
    assert.deepEqual((await store.sessions.find("b"))?.accountIds, []);
    assert.equal(await store.sessions.find("c"), undefined);
  });

  test("an idle session expires; a used one lasts up to its maximum", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const ada = await addPerson(store, "ada@example.com");
    const beganMs = clock.nowMs;
    await addSession(store, ada, "idle");
    await addSession(store, ada, "used");
    const use = async () => {
      assert.equal((await store.sessions.find("used"))?.id, ada);
      // The search does not wait long for the time of use to be stored, which it is once per minute.
      while (clock.nowMs - Number((await store.people.get(ada))?.seenAtMs) >= 60_000) await sleep(5);
    };
    clock.nowMs += SESSION_IDLE_MS - 1;
    await use();
    clock.nowMs += 1;
    assert.equal(await store.sessions.find("idle"), undefined);
    const endMs = beganMs + SESSION_LONGEST_MS;
    for (; clock.nowMs < endMs; clock.nowMs += SESSION_IDLE_MS / 2) await use();
    clock.nowMs = endMs - 1;
    assert.equal((await store.sessions.find("used"))?.id, ada);
    clock.nowMs = endMs;
    assert.equal(await store.sessions.find("used"), undefined);
  });

  test("only expired sessions are removed", async (t) => {
    const { store, clock, database } = await temporaryStore(t);
    const ada = await addPerson(store, "ada@example.com");
    await addSession(store, ada, "old");
    clock.nowMs += SESSION_IDLE_MS;
    await addSession(store, ada, "young");
    await store.sessions.forget();
    const engine = await openDatabase(database);
    t.after(() => engine.db.destroy());
    assert.deepEqual(await engine.db.selectFrom("sessions").select("hash").execute(), [{ hash: "young" }]);
  });

  test("a person's last activity is recorded to the minute", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const ada = await addPerson(store, "ada@example.com");
    const seen = async () => (await store.people.get(ada))?.seenAtMs;
    assert.equal(await seen(), null);
    await addSession(store, ada, "a");
    const beganMs = clock.nowMs;
    assert.equal(await seen(), beganMs);
    clock.nowMs += 59_999;
    await store.sessions.find("a");
    assert.equal(await seen(), beganMs);
    clock.nowMs += 1;
    await store.sessions.find("a");
    assert.equal(await seen(), clock.nowMs);
  });

  test("signing out ends one session, a new password all but one, and disabling all", async (t) => {
    const { store } = await temporaryStore(t);
    await addPerson(store, "root@example.com");
    const ada = await addPerson(store, "ada@example.com");
    const other = await addPerson(store, "other@example.com");
    for (const hash of ["a", "b", "c"]) await addSession(store, ada, hash);
    await addSession(store, other, "o");
    const live = async () => {
      const found = await Promise.all(
        ["a", "b", "c", "o"].map(async (hash) => (await store.sessions.find(hash)) && hash),
      );
      return found.filter((hash) => hash !== undefined);
    };
    await store.sessions.end("a");
    assert.deepEqual(await live(), ["b", "c", "o"]);
    assert.equal(await store.people.setPassword(ada, "new", "c", "ada@example.com"), true);
    assert.deepEqual(await live(), ["c", "o"]);
    await store.people.update(ada, { disabled: true }, "test");
    assert.deepEqual(await live(), ["o"]);
    await store.people.update(ada, { disabled: false }, "test");
    assert.deepEqual(await live(), ["o"]);
  });
});
