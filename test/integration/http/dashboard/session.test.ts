import assert from "node:assert/strict";
import { test } from "node:test";
import { maySee, type SignedIn } from "../../../../src/http/dashboard/session.ts";
import { FROM_OWN_PAGE, signedIn } from "../../../support/http/dashboard/signed-in.ts";
import { startHttp } from "../../../support/http/running.ts";

const SESSION = "/dashboard/api/session";

test("without a cookie there is no person, and an empty service is reported", async (t) => {
  const running = await startHttp(t);
  const { status, json } = await running.ask({ path: SESSION, key: null });
  assert.equal(status, 200);
  const nobody = { person: null, hasNoPeople: true, provider: null, authority: null, hasSandboxes: false };
  assert.deepEqual(json, { ...nobody, version: json.version });
  await signedIn(running, "ada@example.com", "administrator");
  assert.equal((await running.ask({ path: SESSION, key: null })).json.hasNoPeople, false);
});

test("a session returns its person, and signing out ends it", async (t) => {
  const running = await startHttp(t);
  const { id: accountId } = await running.store.accounts.ensure("club", "beta", "test");
  const { ask, id } = await signedIn(running, "bob@example.com", [accountId]);
  const { json } = await ask({ path: SESSION });
  assert.deepEqual(json.person, {
    id,
    email: "bob@example.com",
    name: "bob",
    administrator: false,
    accounts: [{ id: accountId, name: "club" }],
    suspended: [],
  });
  const out = await ask({ path: SESSION, method: "DELETE" });
  assert.equal(out.status, 204);
  assert.deepEqual(out.headers["set-cookie"], ["__Host-assay=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0"]);
  assert.equal((await ask({ path: SESSION })).json.person, null);
});

test("the service's own authority is for people with a session", async (t) => {
  const running = await startHttp(t, { ownAuthority: true });
  const { ask } = await signedIn(running, "ada@example.com", "administrator");
  assert.equal((await ask({ path: SESSION })).json.authority, running.caPath);
  assert.equal((await running.ask({ path: SESSION, key: null })).json.authority, null);
});

test("an unknown person gets the same response as a wrong password", async (t) => {
  const { ask } = await startHttp(t);
  const body = { email: "nobody@example.com", password: "correct horse battery" };
  const reply = await ask({ path: SESSION, method: "POST", key: null, body, headers: FROM_OWN_PAGE });
  assert.equal(reply.status, 401);
  assert.deepEqual(reply.json, { error: "the e-mail or the password is wrong" });
});

test("an account is visible to its members and to administrators", () => {
  const person = { id: "p", email: "p@example.com", name: "p" };
  const member: SignedIn = { ...person, administrator: false, accountIds: ["a"] };
  assert.deepEqual(
    ["a", "b"].map((id) => maySee(member, id)),
    [true, false],
  );
  assert.equal(maySee({ ...person, administrator: true, accountIds: null }, "b"), true);
});

test("anonymous requests that use up the limit of an address do not lock out its people", async (t) => {
  const running = await startHttp(t);
  const { ask, store } = running;
  const { id: accountId } = await store.accounts.ensure("club", "beta", "test");
  const bob = await signedIn(running, "bob@example.com", [accountId]);
  const cookie = `__Host-assay=${"A".repeat(43)}`;
  const statuses = new Set<number>();
  for (let sent = 0; sent < 1_250; sent += 50) {
    const some = Array.from({ length: 50 }, (_, n) =>
      ask({ path: SESSION, key: null, headers: n % 2 ? { cookie } : {} }),
    );
    for (const { status } of await Promise.all(some)) statuses.add(status);
  }
  assert.deepEqual([...statuses], [200, 429]);
  assert.equal((await bob.ask({ path: "/dashboard/api/keys" })).status, 200);
});
