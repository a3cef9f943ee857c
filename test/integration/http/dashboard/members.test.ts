import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { LINK_MS } from "../../../../src/domain/session.ts";
import { type SignedInPerson, signedIn } from "../../../support/http/dashboard/signed-in.ts";
import { type Running, startHttp } from "../../../support/http/running.ts";

const MEMBERS = "/dashboard/api/members";
const NOT_ALLOWED = { error: "only an administrator may do this" };
const NOT_THERE = { error: "not found, or you have no access to it" };

interface Club {
  readonly running: Running;
  readonly accounts: { readonly club: string; readonly shop: string };
  /** An administrator, a member of each account, and a member of both. */
  readonly root: SignedInPerson;
  readonly bob: SignedInPerson;
  readonly carol: SignedInPerson;
  readonly both: SignedInPerson;
}

async function club(t: TestContext): Promise<Club> {
  const running = await startHttp(t);
  const account = async (name: string) => (await running.store.accounts.ensure(name, "beta", "test")).id;
  const accounts = { club: await account("club"), shop: await account("shop") };
  const person = (email: string, who: "administrator" | string[]) => {
    running.clock.nowMs += 1;
    return signedIn(running, email, who);
  };
  return {
    running,
    accounts,
    root: await person("root@example.com", "administrator"),
    bob: await person("bob@example.com", [accounts.club]),
    carol: await person("carol@example.com", [accounts.shop]),
    both: await person("both@example.com", [accounts.club, accounts.shop]),
  };
}

test("members see members of their accounts, administrators see all, and other accounts stay hidden", async (t) => {
  const { accounts, root, bob, both } = await club(t);
  const emails = async ({ ask }: SignedInPerson, query = "") => {
    const { status, json } = await ask({ path: MEMBERS + query });
    assert.equal(status, 200);
    return json.members.map(({ email }: { email: string }) => email);
  };
  assert.deepEqual(await emails(root), [
    "both@example.com",
    "carol@example.com",
    "bob@example.com",
    "root@example.com",
  ]);
  assert.deepEqual(await emails(root, `?account=${accounts.shop}`), ["both@example.com", "carol@example.com"]);
  assert.deepEqual(await emails(bob), ["both@example.com", "bob@example.com"]);
  assert.deepEqual(await emails(both), ["both@example.com", "carol@example.com", "bob@example.com"]);
  assert.deepEqual(await emails(both, `?account=${accounts.club}`), ["both@example.com", "bob@example.com"]);
  const shown = (await bob.ask({ path: MEMBERS })).json.members[0];
  assert.deepEqual(shown.accounts, [{ id: accounts.club, name: "club" }]);
  for (const account of [accounts.shop, "never-was"]) {
    const reply = await bob.ask({ path: `${MEMBERS}?account=${account}` });
    assert.equal(reply.status, 404);
    assert.deepEqual(reply.json, NOT_THERE);
  }
  assert.equal((await root.ask({ path: `${MEMBERS}?account=never-was` })).status, 404);
  assert.equal((await bob.ask({ path: `${MEMBERS}?acount=x` })).status, 400);
});

test("only administrators can invite and change members", async (t) => {
  const { running, accounts, root, bob } = await club(t);
  const requests = [
    {
      method: "POST",
      path: `${MEMBERS}/invitations`,
      body: { email: "x@example.com", accountId: accounts.club, administrator: false },
    },
    { method: "DELETE", path: `${MEMBERS}/invitations/x` },
    { method: "POST", path: `${MEMBERS}/${root.id}/reset` },
    { method: "PATCH", path: `${MEMBERS}/${bob.id}`, body: { administrator: true } },
  ];
  for (const request of requests) {
    const refused = await bob.ask(request);
    assert.equal(refused.status, 403, request.path);
    assert.deepEqual(refused.json, NOT_ALLOWED);
    const anonymous = await running.ask({ ...request, key: null, headers: { "sec-fetch-site": "same-origin" } });
    assert.equal(anonymous.status, 401, request.path);
    assert.deepEqual(anonymous.json, { error: "sign in first" });
    const withKey = await running.ask({ ...request, headers: { "sec-fetch-site": "same-origin" } });
    assert.equal(withKey.status, 401, `${request.path} with an API key`);
  }
  assert.equal((await running.store.people.get(bob.id))?.administrator, false);
});

test("an invitation is a link of this service, displayed once; it is listed and can be withdrawn", async (t) => {
  const { running, accounts, root, bob, carol } = await club(t);
  const body = { email: "Eve@Example.com", accountId: accounts.club, administrator: false };
  const { status, json } = await root.ask({ method: "POST", path: `${MEMBERS}/invitations`, body });
  assert.equal(status, 200);
  assert.match(json.url, new RegExp(`^https://127\\.0\\.0\\.1:${running.port}/dashboard/welcome#[A-Za-z0-9_-]{43}$`));
  assert.equal(json.expiresAt, new Date(running.clock.nowMs + LINK_MS.invite).toISOString());
  const listed = {
    email: "eve@example.com",
    kind: "invite",
    account: "club",
    administrator: false,
    expiresAt: json.expiresAt,
  };
  const invited = async ({ ask }: SignedInPerson) => (await ask({ path: `${MEMBERS}/invitations` })).json.invited;
  const [{ id, ...rest }] = await invited(root);
  assert.deepEqual(rest, listed);
  assert.deepEqual(await invited(bob), [{ id, ...listed }]);
  assert.deepEqual(await invited(carol), []);
  assert.equal((await root.ask({ method: "DELETE", path: `${MEMBERS}/invitations/${id}` })).status, 204);
  assert.equal((await root.ask({ method: "DELETE", path: `${MEMBERS}/invitations/${id}` })).status, 404);
  assert.deepEqual(await invited(root), []);
  for (const [wrong, why] of [
    [{ email: "bob@example.com" }, /bob@example.com is already a member/],
    [{ email: "no address" }, /is not an e-mail address/],
    [{ accountId: "never-was" }, /there is no account/],
    [{ accountId: null }, /a member needs an account/],
  ] as const) {
    const reply = await root.ask({ method: "POST", path: `${MEMBERS}/invitations`, body: { ...body, ...wrong } });
    assert.equal(reply.status, 422);
    assert.match(reply.json.error, why);
  }
});

test("disabling a person ends the session at once, and a moved member sees the new account at once", async (t) => {
  const { running, accounts, root, bob, carol } = await club(t);
  const change = (person: SignedInPerson, body: unknown) =>
    root.ask({ method: "PATCH", path: `${MEMBERS}/${person.id}`, body });
  const disabled = await change(bob, { disabled: true });
  assert.equal(disabled.status, 200);
  assert.equal(disabled.json.disabledAt, new Date(running.clock.nowMs).toISOString());
  assert.equal((await bob.ask({ path: MEMBERS })).status, 401);
  await change(bob, { disabled: false });
  assert.equal((await bob.ask({ path: MEMBERS })).status, 401);
  await change(carol, { accountIds: [accounts.club] });
  assert.equal((await carol.ask({ path: `${MEMBERS}?account=${accounts.shop}` })).status, 404);
  assert.equal((await carol.ask({ path: `${MEMBERS}?account=${accounts.club}` })).status, 200);
  assert.equal((await change(carol, { accountIds: ["never-was"] })).status, 422);
  const last = await change(root, { administrator: false });
  assert.equal(last.status, 422);
  assert.match(last.json.error, /last administrator/);
  assert.equal((await root.ask({ method: "PATCH", path: `${MEMBERS}/never-was`, body: {} })).status, 404);
  assert.equal((await root.ask({ method: "POST", path: `${MEMBERS}/never-was/reset` })).status, 404);
});

test("changes by people name them as actors", async (t) => {
  const { running, root, bob } = await club(t);
  await root.ask({ method: "PATCH", path: `${MEMBERS}/${bob.id}`, body: { administrator: true } });
  await root.ask({ method: "POST", path: `${MEMBERS}/${bob.id}/reset` });
  await bob.ask({ method: "PATCH", path: "/dashboard/api/me", body: { name: "Robert" } });
  const [renamed, reset, promoted] = await running.store.audit.list({ max: 3 });
  assert.deepEqual(
    [renamed, reset, promoted].map((entry) => [entry?.actor, entry?.action, entry?.subject]),
    [
      ["bob@example.com", "person.update", bob.id],
      ["root@example.com", "person.reset", bob.id],
      ["root@example.com", "person.update", bob.id],
    ],
  );
});
