import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { certificate, type Reply, type Running, startHttp } from "../../../support/http/running.ts";
import { addPerson } from "../../../support/store/members.ts";
import { type Issuer, type Says, settingsOf, startIssuer } from "./issuer.ts";

const BEGIN = "/dashboard/api/provider";
const SESSION = "/dashboard/api/session";
const REFUSED = "/dashboard/sign-in?refused=provider";
const ADA = { email: "ada@example.com", email_verified: true, name: "Ada Lovelace" };

interface Both {
  readonly running: Running;
  readonly issuer: Issuer;
}

async function both(t: TestContext): Promise<Both> {
  const made = certificate();
  const issuer = await startIssuer(t, made);
  const running = await startHttp(t, { provider: settingsOf(issuer, readFileSync(made.certPath, "utf8")) });
  return { running, issuer };
}

const cookiesOf = ({ headers }: Reply) => (headers["set-cookie"] ?? []).map((cookie) => cookie.split(";")[0] ?? "");

/** Follows the redirects as a browser does: to the provider and back. @returns the last response. */
async function signIn({ running, issuer }: Both, says: Says, change: (back: string) => string = (back) => back) {
  issuer.says = says;
  const there = await running.ask({ path: BEGIN, key: null });
  assert.equal(there.status, 303, there.text);
  const [cookie = ""] = cookiesOf(there);
  const back = new URL(change(issuer.authorize(String(there.headers.location))));
  return await running.ask({ path: back.pathname + back.search, key: null, headers: { cookie } });
}

async function signedInEmail(running: Running, reply: Reply): Promise<string | null> {
  const cookie = cookiesOf(reply).find((one) => /^__Host-assay=./.test(one));
  if (!cookie) return null;
  return (await running.ask({ path: SESSION, key: null, headers: { cookie } })).json.person.email;
}

test("signs a person in by the provider, with code, PKCE, state and nonce, none of them in a URL of the service", async (t) => {
  const { running, issuer } = await both(t);
  const id = await addPerson(running.store, "ada@example.com");
  assert.equal(
    (await running.ask({ path: SESSION, key: null })).json.provider,
    `Sign in with ${new URL(issuer.url).host}`,
  );
  const there = await running.ask({ path: BEGIN, key: null });
  const [kept = ""] = there.headers["set-cookie"] ?? [];
  assert.match(kept, /^__Host-assay-provider=[A-Za-z0-9_-]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/);
  const reply = await signIn({ running, issuer }, { claims: ADA });
  assert.deepEqual([reply.status, reply.headers.location], [303, "/dashboard/"]);
  assert.ok((reply.headers["set-cookie"] ?? []).some((cookie) => cookie.startsWith("__Host-assay-provider=; ")));
  assert.equal(await signedInEmail(running, reply), "ada@example.com");
  const [asked] = issuer.asked;
  assert.equal(asked?.get("redirect_uri"), `https://127.0.0.1:${running.port}${BEGIN}/callback`);
  assert.equal(asked?.get("scope"), "openid email profile");
  assert.equal(asked?.get("code_challenge_method"), "S256");
  assert.equal((await running.store.people.get(id))?.hasProvider, true);
});

test("signs an invited person in by the provider, with the provider's name, and consumes the invitation", async (t) => {
  const { running, issuer } = await both(t);
  await addPerson(running.store, "root@example.com");
  const invitation = { kind: "invite", email: "ada@example.com", accountId: null, administrator: true } as const;
  await running.store.invitations.add({ id: "i", hash: "h", lastsMs: 60_000 }, invitation, "test");
  const reply = await signIn({ running, issuer }, { userinfo: { ...ADA, sub: "subject-1" } });
  assert.equal(await signedInEmail(running, reply), "ada@example.com");
  assert.deepEqual((await running.store.people.list()).map(({ name }) => name).toSorted(), ["Ada Lovelace", "root"]);
  assert.deepEqual(await running.store.invitations.list(), []);
});

const MINUTE = 60;
const now = () => Math.floor(Date.now() / 1000);
const INVALID_TOKENS: [string, () => Says][] = [
  ["for another nonce", () => ({ claims: { ...ADA, nonce: "another" } })],
  ["without a nonce", () => ({ claims: { ...ADA, nonce: undefined } })],
  ["for another client", () => ({ claims: { ...ADA, aud: "another-client" } })],
  ["for several clients, authorized for another", () => ({ claims: { ...ADA, aud: ["assay", "x"], azp: "x" } })],
  ["of another issuer", () => ({ claims: { ...ADA, iss: "https://evil.example" } })],
  ["that has expired", () => ({ claims: { ...ADA, iat: now() - 10 * MINUTE, exp: now() - 5 * MINUTE } })],
  ["signed by another key", () => ({ claims: ADA, forged: true })],
  ["without a signature", () => ({ claims: ADA, header: { alg: "none" } })],
  ["with an unverified e-mail", () => ({ claims: { ...ADA, email_verified: false } })],
  ["with an e-mail verified by a string instead of a boolean", () => ({ claims: { ...ADA, email_verified: "true" } })],
  ["without a statement on verification", () => ({ claims: { ...ADA, email_verified: undefined } })],
  ["of an unknown person without an invitation", () => ({ claims: { ...ADA, email: "eve@example.com" } })],
  ["with the e-mail of another subject's userinfo", () => ({ userinfo: { ...ADA, sub: "subject-2" } })],
  ["in a response that names another issuer", () => ({ claims: ADA, iss: "https://evil.example" })],
];

for (const [kind, says] of INVALID_TOKENS) {
  test(`rejects an ID token ${kind}`, async (t) => {
    const { running, issuer } = await both(t);
    await addPerson(running.store, "ada@example.com");
    const reply = await signIn({ running, issuer }, says());
    assert.deepEqual([reply.status, reply.headers.location], [303, REFUSED]);
    assert.equal(await signedInEmail(running, reply), null);
    const valid = await signIn({ running, issuer }, { claims: ADA });
    assert.equal(await signedInEmail(running, valid), "ada@example.com");
  });
}

test("a response is valid once, for the browser that asked, and a disabled person cannot sign in", async (t) => {
  const { running, issuer } = await both(t);
  const id = await addPerson(running.store, "ada@example.com");
  await addPerson(running.store, "root@example.com");
  issuer.says = { claims: ADA };
  const there = await running.ask({ path: BEGIN, key: null });
  const other = await running.ask({ path: BEGIN, key: null });
  const back = new URL(issuer.authorize(String(there.headers.location)));
  const come = (cookie: string | undefined) =>
    running.ask({ path: back.pathname + back.search, key: null, ...(cookie && { headers: { cookie } }) });
  for (const cookie of [undefined, "__Host-assay-provider=x", cookiesOf(other)[0]]) {
    const reply = await come(cookie);
    assert.equal(reply.headers.location, REFUSED, cookie);
    assert.equal(await signedInEmail(running, reply), null, cookie);
  }
  const [cookie] = cookiesOf(there);
  assert.equal(await signedInEmail(running, await come(cookie)), "ada@example.com");
  assert.equal((await come(cookie)).headers.location, REFUSED);

  const wrongState = await signIn({ running, issuer }, { claims: ADA }, (at) => at.replace(/state=[^&]*/, "state=x"));
  assert.equal(wrongState.headers.location, REFUSED);
  await running.store.people.update(id, { disabled: true }, "test");
  const disabled = await signIn({ running, issuer }, { claims: ADA });
  assert.equal(disabled.headers.location, REFUSED);
});

test("logs an unavailable provider, and tries again at the next sign-in", async (t) => {
  const made = certificate();
  const gone = { issuer: "https://localhost:1", clientId: "assay", clientSecret: "x", ca: null };
  const { ask, logs } = await startHttp(t, { provider: gone });
  for (let n = 0; n < 2; n++) {
    const reply = await ask({ path: BEGIN, key: null });
    assert.deepEqual([reply.status, reply.headers.location], [303, REFUSED]);
  }
  assert.equal(logs.filter((line) => line.includes("sign-in by the provider failed")).length, 2);
  const issuer = await startIssuer(t, made);
  const untrusted = await startHttp(t, { provider: { ...settingsOf(issuer, ""), ca: null } });
  assert.equal((await untrusted.ask({ path: BEGIN, key: null })).headers.location, REFUSED);
});

test("without a provider, its routes are 404", async (t) => {
  const { ask } = await startHttp(t);
  for (const path of [BEGIN, `${BEGIN}/callback?code=x&state=y`]) {
    assert.equal((await ask({ path, key: null })).status, 404, path);
  }
});
