import assert from "node:assert/strict";
import { test } from "node:test";
import { AdminError } from "../../../src/admin/error.ts";
import { listKeys } from "../../../src/admin/keys.ts";
import { emailOf, firstLink, invite, listPeople, nameOr, reset, updatePerson } from "../../../src/admin/people.ts";
import { listProjects } from "../../../src/admin/projects.ts";
import { addPerson } from "../../support/store/members.ts";
import { addKey, temporaryStore } from "../../support/store/temporary.ts";

const BY = { origin: "https://judge.example.com", actor: "cli" };

test("compares e-mail addresses in lower case and rejects invalid ones", () => {
  assert.equal(emailOf(" Ada.Lovelace+x@Example.COM "), "ada.lovelace+x@example.com");
  const wrong = [
    "",
    "ada",
    "@example.com",
    "ada@",
    "a b@example.com",
    "a@b@c",
    "a@b\n",
    "<a@b>",
    "a@b,c@d",
    `${"x".repeat(65)}@b`,
  ];
  for (const text of wrong.filter((one) => one !== "a@b\n")) {
    assert.throws(() => emailOf(text), AdminError, JSON.stringify(text));
  }
  assert.equal(emailOf("a@b\n"), "a@b");
  assert.throws(() => emailOf("a\n@b"), AdminError);
  assert.throws(() => emailOf("a\u202e@b"), AdminError);
});

test("accepts a provider's name if it is valid", () => {
  assert.equal(nameOr(" Ada ", "a@b"), "Ada");
  for (const none of [undefined, 1, "", "  ", "a\nb", "x".repeat(101)]) assert.equal(nameOr(none, "ada@b"), "ada");
});

test("the command restores access: a new administrator, a reset, an enabled member", async (t) => {
  const { store, clock } = await temporaryStore(t);
  await firstLink(store, BY);
  const ada = await addPerson(store, "ada@example.com");
  clock.nowMs += 1;
  await addPerson(store, "bob@example.com");
  await assert.rejects(firstLink(store, BY), /'members invite EMAIL --administrator'.*'members reset EMAIL'/);
  await invite(store, { email: "new@example.com", administrator: true }, BY);
  await updatePerson(store, "ada@example.com", { disabled: true }, "cli");
  await assert.rejects(reset(store, ada, BY), /ada@example.com is disabled; enable them first/);
  await updatePerson(store, ada, { disabled: false }, "cli");
  const { url } = await reset(store, "ADA@example.com", BY);
  assert.match(url, /^https:\/\/judge\.example\.com\/dashboard\/welcome#/);
  assert.deepEqual(
    (await listPeople(store)).map(({ email, disabledAt, signsInWith }) => [email, disabledAt, signsInWith]),
    [
      ["bob@example.com", null, ["password"]],
      ["ada@example.com", null, ["password"]],
    ],
  );
});

test("a page of people, keys or projects of an account continues only after a row of that account", async (t) => {
  const { store } = await temporaryStore(t);
  const [mine, other] = [await addKey(store, "mine"), await addKey(store, "other")];
  const [ada, eve] = await Promise.all(
    [mine, other].map(({ accountId, keyId }) => addPerson(store, `${keyId}@example.com`, [accountId])),
  );
  const [first, second] = await Promise.all(
    [mine, other].map(({ accountId }) => store.projects.create(accountId, "p", "test")),
  );
  for (const [list, own, foreign] of [
    [listPeople, ada, eve],
    [listKeys, mine.keyId, other.keyId],
    [listProjects, first, second],
  ] as const) {
    assert.deepEqual(await list(store, { account: "mine", after: own ?? "" }), []);
    const there = { message: `unknown id ${foreign}` };
    await assert.rejects(list(store, { account: "mine", after: foreign ?? "" }), there);
  }
});

test("finds accounts by id or name, and reports unknown ones", async (t) => {
  const { store } = await temporaryStore(t);
  const { id } = await store.accounts.ensure("club", "beta", "test");
  await addPerson(store, "ada@example.com", []);
  const { accounts } = await updatePerson(store, "ada@example.com", { accountIds: ["club"] }, "cli");
  assert.deepEqual(accounts, [{ id, name: "club" }]);
  await assert.rejects(updatePerson(store, "ada@example.com", { accountIds: ["no"] }, "cli"), /there is no account no/);
});
