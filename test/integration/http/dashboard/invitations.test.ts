import assert from "node:assert/strict";
import { test } from "node:test";
import { hashPassword } from "../../../../src/admin/passwords.ts";
import { firstLink, invite, reset } from "../../../../src/admin/people.ts";
import { LINK_MS } from "../../../../src/domain/session.ts";
import { FROM_OWN_PAGE, signedIn } from "../../../support/http/dashboard/signed-in.ts";
import { type Running, startHttp } from "../../../support/http/running.ts";
import { addPerson } from "../../../support/store/members.ts";

const PASSWORD = "four words are good";
const BY = { origin: "https://judge.example.com:8443", actor: "test" };
const ADA = { email: "Ada@Example.com", name: "Ada", password: PASSWORD };

function tokenOf({ url }: { url: string }): string {
  const token = /^https:\/\/judge\.example\.com:8443\/dashboard\/welcome#([A-Za-z0-9_-]{43})$/.exec(url)?.[1];
  assert.ok(token, url);
  return token;
}

const post = ({ ask }: Running, verb: string, body: unknown) =>
  ask({ method: "POST", path: `/dashboard/api/invitations/${verb}`, key: null, body, headers: FROM_OWN_PAGE });
const look = (running: Running, token: string) => post(running, "look", { token });
const use = (running: Running, token: string, body: object) => post(running, "accept", { token, ...body });

test("the first link creates an administrator, signs the person in, and works once", async (t) => {
  const running = await startHttp(t);
  const link = await firstLink(running.store, BY);
  const expiresAt = new Date(running.clock.nowMs + LINK_MS.first).toISOString();
  assert.equal(link.expiresAt, expiresAt);
  const token = tokenOf(link);
  assert.deepEqual((await look(running, token)).json, { kind: "first", email: null, account: null, expiresAt });
  const made = await use(running, token, ADA);
  assert.equal(made.status, 200, made.text);
  assert.equal(made.json.person.email, "ada@example.com");
  assert.equal(made.json.person.administrator, true);
  const [cookie = ""] = made.headers["set-cookie"] ?? [];
  const session = await running.ask({ path: "/dashboard/api/session", key: null, headers: { cookie } });
  assert.equal(session.json.person.name, "Ada");
  for (const again of [await look(running, token), await use(running, token, { ...ADA, email: "b@example.com" })]) {
    assert.equal(again.status, 404);
    assert.deepEqual(again.json, { error: "this link has been used, has expired or is not valid" });
  }
  await assert.rejects(firstLink(running.store, BY), /a person can already sign in/);
  const body = { email: "ada@example.com", password: PASSWORD };
  const signIn = await running.ask({
    method: "POST",
    path: "/dashboard/api/session",
    key: null,
    body,
    headers: FROM_OWN_PAGE,
  });
  assert.equal(signIn.status, 200);
});

test("an invitation is only for the invited e-mail, and expires", async (t) => {
  const running = await startHttp(t);
  await running.store.accounts.ensure("club", "beta", "test");
  const token = tokenOf(
    await invite(running.store, { email: "bob@example.com", account: "club", administrator: false }, BY),
  );
  const late = tokenOf(
    await invite(running.store, { email: "carol@example.com", account: "club", administrator: false }, BY),
  );
  const shown = (await look(running, token)).json;
  assert.deepEqual([shown.kind, shown.email, shown.account], ["invite", "bob@example.com", "club"]);
  const made = await use(running, token, { ...ADA, name: "Bob" });
  assert.deepEqual(
    [made.json.person.email, made.json.person.name, made.json.person.administrator],
    ["bob@example.com", "Bob", false],
  );
  assert.deepEqual(
    made.json.person.accounts.map(({ name }: { name: string }) => name),
    ["club"],
  );
  running.clock.nowMs += LINK_MS.invite;
  assert.equal((await look(running, late)).status, 404);
  assert.equal((await use(running, late, ADA)).status, 404);
});

test("an invalid choice does not consume the link", async (t) => {
  const running = await startHttp(t);
  const token = tokenOf(await firstLink(running.store, BY));
  for (const [wrong, status, why] of [
    [{ password: "short" }, 422, /at least 12/],
    [{ password: "password1234" }, 422, /easy to guess/],
    [{ email: "nobody" }, 422, /is not an e-mail address/],
    [{ email: "a@b\nBcc: c@d" }, 422, /is not an e-mail address/],
    [{ name: "" }, 422, /name must have/],
    [{ administrator: true }, 400, /administrator/],
  ] as const) {
    const reply = await use(running, token, { ...ADA, ...wrong });
    assert.equal(reply.status, status, reply.text);
    assert.match(reply.json.error, why);
  }
  assert.equal(await running.store.people.any(), false);
  assert.equal((await use(running, token, ADA)).status, 200);
});

test("allows five passwords a minute per link, without a delay for sign-ins", async (t) => {
  const running = await startHttp(t);
  await running.store.accounts.ensure("club", "beta", "test");
  const eve = await invite(running.store, { email: "eve@example.com", account: "club", administrator: false }, BY);
  const personId = await addPerson(running.store, "ada@example.com", "administrator");
  await running.store.people.setPassword(personId, await hashPassword(PASSWORD), null, "test");
  const token = tokenOf(eve);
  const weak = { ...ADA, password: "p4$$w0rd1l0v3y0u".repeat(4) };
  const flood = Array.from({ length: 40 }, () => use(running, token, weak));
  await Promise.race(flood);
  const body = { email: "ada@example.com", password: PASSWORD };
  const path = "/dashboard/api/session";
  const signIn = await running.ask({ method: "POST", path, key: null, body, headers: FROM_OWN_PAGE });
  assert.equal(signIn.status, 200, signIn.text);
  const rated = (await Promise.all(flood)).filter(({ status }) => status === 422).length;
  assert.ok(rated >= 1 && rated <= 5, `${rated} passwords were rated`);
  // Passwords rejected without rating do not count as attempts.
  for (let n = 0; n < 10; n++) assert.equal((await use(running, token, { ...ADA, password: "short" })).status, 422);
  for (let n = rated; n < 5; n++) assert.equal((await use(running, token, weak)).status, 422);
  const refused = await use(running, token, weak);
  assert.equal(refused.status, 429);
  assert.match(refused.headers["retry-after"] ?? "", /^\d+$/);
});

test("an invalid token gets the same response as an unknown token", async (t) => {
  const running = await startHttp(t);
  for (const token of ["x", "A".repeat(43), "A".repeat(44), "%00", "..%2f..", "A".repeat(5_000)]) {
    const reply = await look(running, token);
    assert.equal(reply.status, 404, token.slice(0, 50));
    assert.deepEqual(reply.json, { error: "this link has been used, has expired or is not valid" });
  }
});

test("a reset link changes the password of its person and ends earlier sessions", async (t) => {
  const running = await startHttp(t);
  const ada = await signedIn(running, "ada@example.com", "administrator");
  const token = tokenOf(await reset(running.store, "ada@example.com", BY));
  assert.deepEqual((await look(running, token)).json.kind, "reset");
  const done = await use(running, token, { email: "eve@example.com", name: "Eve", password: PASSWORD });
  assert.deepEqual(
    [done.json.person.id, done.json.person.email, done.json.person.name],
    [ada.id, "ada@example.com", "ada"],
  );
  assert.equal((await ada.ask({ path: "/dashboard/api/me", method: "PATCH", body: {} })).status, 401);
  assert.equal((await use(running, token, ADA)).status, 404);
});

test("a token in a path is not an endpoint, and logs contain no tokens", async (t) => {
  const running = await startHttp(t);
  const token = tokenOf(await firstLink(running.store, BY));
  for (const method of ["GET", "POST"]) {
    const path = `/dashboard/api/invitations/${token}`;
    const reply = await running.ask({ method, path, key: null, body: {}, headers: FROM_OWN_PAGE });
    assert.equal(reply.status, 404, reply.text);
  }
  assert.equal((await look(running, token)).status, 200);
  assert.equal((await use(running, token, ADA)).status, 200);
  assert.deepEqual(
    running.logs.filter((line) => line.includes(token)),
    [],
  );
});
