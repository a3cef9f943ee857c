import assert from "node:assert/strict";
import { test } from "node:test";
import { hashPassword, isPassword } from "../../../../src/admin/passwords.ts";
import { newToken } from "../../../../src/domain/session.ts";
import { signedIn } from "../../../support/http/dashboard/signed-in.ts";
import { startHttp } from "../../../support/http/running.ts";

const ME = { method: "PATCH", path: "/dashboard/api/me" };
const [CURRENT, NEXT] = ["four words are good", "five words are even better"];

test("a new password needs the current one, and ends all other sessions of the person", async (t) => {
  const running = await startHttp(t);
  const { store } = running;
  const ada = await signedIn(running, "ada@example.com", "administrator");
  await store.people.setPassword(ada.id, await hashPassword(CURRENT), null, "test");
  const cookies = ["one", "two"];
  for (const hash of cookies) await store.sessions.begin(hash, ada.id);
  const bob = await signedIn(running, "bob@example.com", "administrator");
  // setPassword has ended the first session, so begin a new one.
  const { token, hash } = newToken();
  await store.sessions.begin(hash, ada.id);
  const change = (password: unknown) =>
    ada.ask({ ...ME, body: { password }, headers: { cookie: `__Host-assay=${token}` } });
  const wrong = await change({ current: "not the current one", next: NEXT });
  assert.equal(wrong.status, 422);
  assert.deepEqual(wrong.json, { error: "the current password is wrong" });
  const weak = await change({ current: CURRENT, next: "password1234" });
  assert.equal(weak.status, 422);
  assert.ok(await isPassword(CURRENT, (await store.people.passwordOf("ada@example.com"))?.hash ?? null));
  assert.equal((await store.sessions.find("one"))?.id, ada.id);

  const done = await change({ current: CURRENT, next: NEXT });
  assert.equal(done.status, 200, done.text);
  assert.ok(await isPassword(NEXT, (await store.people.passwordOf("ada@example.com"))?.hash ?? null));
  for (const other of cookies) assert.equal(await store.sessions.find(other), undefined);
  assert.equal((await store.sessions.find(hash))?.id, ada.id);
  assert.equal((await bob.ask({ path: "/dashboard/api/members" })).status, 200);
});

test("a person can change the own name, to a valid name", async (t) => {
  const running = await startHttp(t);
  const ada = await signedIn(running, "ada@example.com", []);
  assert.equal((await ada.ask({ ...ME, body: { name: " Ada L. " } })).json.name, "Ada L.");
  assert.equal((await running.store.people.get(ada.id))?.name, "Ada L.");
  for (const [body, status] of [
    [{ name: "" }, 422],
    [{ name: "a\u202eb" }, 422],
    [{ administrator: true }, 400],
    [{ email: "eve@example.com" }, 400],
  ] as const) {
    assert.equal((await ada.ask({ ...ME, body })).status, status, JSON.stringify(body));
  }
  assert.equal(
    (await running.ask({ ...ME, key: null, body: {}, headers: { "sec-fetch-site": "same-origin" } })).status,
    401,
  );
});
