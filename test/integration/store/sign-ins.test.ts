import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../../src/store/store.ts";
import { addPerson } from "../../support/store/members.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";

const DAY_MS = 86_400_000;

const signInEntries = async (store: Store) =>
  (await store.audit.list({ max: 1_000 })).filter(({ action }) => /^person\.(sign|refuse)/.test(action));

onEachDatabase((temporaryStore) => {
  test("signing in and out adds audit entries with the address", async (t) => {
    const { store } = await temporaryStore(t);
    const ada = await addPerson(store, "ada@example.com");
    await store.sessions.begin("h", ada, { address: "2001:db8::7", network: "2001:db8:0:0::/64" });
    await store.sessions.end("h", "2001:db8::8");
    await store.sessions.end("h", "2001:db8::8");
    assert.deepEqual(
      (await signInEntries(store)).map(({ action, actor, subject, address }) => [action, actor, subject, address]),
      [
        ["person.sign-out", "ada@example.com", ada, "2001:db8::8"],
        ["person.sign-in", "ada@example.com", ada, "2001:db8::7"],
      ],
    );
  });

  test("rejected attempts add a bounded number of audit entries, with their count and addresses", async (t) => {
    const { store, another, clock } = await temporaryStore(t);
    const other = await another();
    const ada = await addPerson(store, "ada@example.com");
    const attempts = Array.from({ length: 200 }, (_, n) => ({
      network: `192.0.2.${n % 50}`,
      email: n % 2 === 0 ? "ada@example.com" : `${n}@example.com`,
    }));
    await Promise.all(attempts.map((attempt, n) => (n % 3 === 0 ? other : store).signIns.refused(attempt)));
    const entries = await signInEntries(store);
    for (const subject of [ada, "unknown"]) {
      const own = entries.filter((entry) => entry.subject === subject);
      assert.ok(own.length <= 11, `${own.length} entries`);
      assert.equal(own.filter(({ address }) => address === null).length, 1);
      assert.equal(
        own.reduce((sum, { detail }) => sum + Number(detail.attempts), 0),
        100,
      );
    }
    assert.equal(JSON.stringify(entries).includes("1@example.com"), false, "unknown e-mail addresses are not recorded");
    clock.nowMs += DAY_MS;
    await store.signIns.refused({ network: "192.0.2.1", email: "ada@example.com" });
    assert.equal((await signInEntries(store)).length, entries.length + 1);
    clock.nowMs += 89 * DAY_MS;
    await store.signIns.forget();
    assert.equal((await signInEntries(store)).length, 1, "sign-in entries are kept for 90 days");
  });

  test("an administrator's reads are audited hourly for each submission, visible to its account", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { id: accountId } = await store.accounts.ensure("one", "beta", "x");
    const reading = { action: "submission.read", actor: "root@example.com", address: "192.0.2.1", accountId } as const;
    const noted = async () =>
      (await store.audit.list({ max: 10, accountIds: [accountId] })).filter(
        ({ action }) => action === "submission.read",
      );
    for (const subject of ["a", "a", "b"]) await store.audit.noteReading({ ...reading, subject });
    assert.deepEqual(
      (await noted()).map(({ subject, address }) => [subject, address]),
      [
        ["b", "192.0.2.1"],
        ["a", "192.0.2.1"],
      ],
    );
    clock.nowMs += 3_600_000;
    await store.audit.noteReading({ ...reading, subject: "a" });
    assert.equal((await noted()).length, 3);
  });
});
