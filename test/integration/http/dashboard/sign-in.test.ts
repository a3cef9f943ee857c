import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { hashPassword } from "../../../../src/admin/passwords.ts";
import { SESSION_IDLE_MS, SESSION_LONGEST_MS } from "../../../../src/domain/session.ts";
import { FROM_OWN_PAGE } from "../../../support/http/dashboard/signed-in.ts";
import { type Options, type Reply, type Running, startHttp } from "../../../support/http/running.ts";
import { addPerson } from "../../../support/store/members.ts";

const SESSION = "/dashboard/api/session";
const EMAIL = "ada@example.com";
const PASSWORD = "four words are good";
const HASH = await hashPassword(PASSWORD);

async function withAda(t: TestContext, options: Options = {}): Promise<Running & { ada: string }> {
  const running = await startHttp(t, options);
  const ada = await addPerson(running.store, EMAIL);
  await running.store.people.setPassword(ada, HASH, null, EMAIL);
  return { ...running, ada };
}

function signIn({ ask }: Running, body: unknown = { email: EMAIL, password: PASSWORD }, headers = {}): Promise<Reply> {
  return ask({ method: "POST", path: SESSION, key: null, body, headers: { ...FROM_OWN_PAGE, ...headers } });
}

/** The single cookie that a response sets. */
function cookieOf({ headers }: Reply): string {
  const [cookie = "", ...more] = headers["set-cookie"] ?? [];
  assert.deepEqual(more, []);
  return cookie.split(";")[0] ?? "";
}

async function emailOf({ ask }: Running, cookie: string): Promise<string | null> {
  return (await ask({ path: SESSION, key: null, headers: { cookie } })).json.person?.email ?? null;
}

test("the correct password begins a session: a cookie of 256 random bits, hidden from scripts and other hosts", async (t) => {
  const running = await withAda(t);
  const reply = await signIn(running, { email: "  ADA@Example.com ", password: PASSWORD });
  assert.equal(reply.status, 200);
  assert.equal(reply.json.person.id, running.ada);
  assert.equal(reply.json.person.administrator, true);
  assert.equal(reply.json.hasNoPeople, false);
  const [cookie = ""] = reply.headers["set-cookie"] ?? [];
  assert.match(cookie, /^__Host-assay=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=604800$/);
  assert.equal(await emailOf(running, cookieOf(reply)), EMAIL);
  assert.equal(reply.headers["cache-control"], "no-store");
});

test("on loopback without TLS the cookie has no prefix, and a prefixed one is ignored", async (t) => {
  const running = await withAda(t, { transport: { kind: "loopback" } });
  const reply = await signIn(running);
  const [cookie = ""] = reply.headers["set-cookie"] ?? [];
  assert.match(cookie, /^assay=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/);
  assert.equal(await emailOf(running, cookieOf(reply)), EMAIL);
  assert.equal(await emailOf(running, `__Host-${cookieOf(reply)}`), null);
});

test("a wrong password, a wrong e-mail, a disabled person and a person without a password get the same response", async (t) => {
  const running = await withAda(t);
  const bob = await addPerson(running.store, "bob@example.com");
  await running.store.people.setPassword(bob, HASH, null, "x");
  await running.store.people.update(bob, { disabled: true }, "x");
  const carol = { kind: "invite", email: "carol@example.com", accountId: null, administrator: true } as const;
  await running.store.invitations.add({ id: "c", hash: "c", lastsMs: 1_000 }, carol, "x");
  await running.store.people.enterWithProvider({ email: "carol@example.com", name: "Carol", subject: "s" });
  const pairs = [
    { email: EMAIL, password: "another four words" },
    { email: "eve@example.com", password: PASSWORD },
    { email: "bob@example.com", password: PASSWORD },
    { email: "carol@example.com", password: "" },
  ];
  for (const pair of pairs) {
    const { status, json, headers } = await signIn(running, pair);
    assert.equal(status, 401, pair.email);
    assert.deepEqual(json, { error: "the e-mail or the password is wrong" }, pair.email);
    assert.equal(headers["set-cookie"], undefined, pair.email);
  }
});

test("rejects invalid credentials before comparing anything", async (t) => {
  const running = await withAda(t);
  for (const body of [
    {},
    { email: EMAIL },
    { email: [EMAIL], password: PASSWORD },
    { email: EMAIL, password: 1 },
    [],
  ]) {
    assert.equal((await signIn(running, body)).status, 400, JSON.stringify(body));
  }
  const extra = await signIn(running, { email: EMAIL, password: PASSWORD, administrator: true });
  assert.equal(extra.status, 400);
  assert.match(extra.json.error, /administrator/);
  const large = await signIn(running, { email: EMAIL, password: "x".repeat(20_000) });
  assert.equal(large.status, 413);
  assert.deepEqual(large.json, { error: "request body must be at most 16384 bytes" });
});

test("a cookie from before the sign-in is invalid after it, against session fixation", async (t) => {
  const running = await withAda(t);
  const planted = `__Host-assay=${"A".repeat(43)}`;
  const first = cookieOf(await signIn(running, undefined, { cookie: planted }));
  assert.notEqual(first, planted);
  assert.equal(await emailOf(running, planted), null);
  const second = cookieOf(await signIn(running, undefined, { cookie: first }));
  assert.equal(await emailOf(running, first), null);
  assert.equal(await emailOf(running, second), EMAIL);
});

test("ignores duplicate session cookies, because another party set one", async (t) => {
  const running = await withAda(t);
  const cookie = cookieOf(await signIn(running));
  assert.equal(await emailOf(running, `${cookie}; __Host-assay=${"A".repeat(43)}`), null);
  assert.equal(await emailOf(running, `theme=dark; ${cookie}`), EMAIL);
});

test("a session ends after twelve hours without a request, and after seven days", async (t) => {
  const running = await withAda(t);
  const idle = cookieOf(await signIn(running));
  const used = cookieOf(await signIn(running));
  const end = running.clock.nowMs + SESSION_LONGEST_MS;
  running.clock.nowMs += SESSION_IDLE_MS;
  assert.equal(await emailOf(running, idle), null);
  const again = cookieOf(await signIn(running));
  while (running.clock.nowMs < end) {
    running.clock.nowMs += SESSION_IDLE_MS - 1;
    assert.equal(await emailOf(running, again), EMAIL);
  }
  running.clock.nowMs += SESSION_IDLE_MS;
  assert.equal(await emailOf(running, again), null);
  assert.equal(await emailOf(running, used), null);
});

test("limits guessing: after five attempts 429 with retry-after, also for the correct password", async (t) => {
  const running = await withAda(t);
  for (let n = 0; n < 5; n++) {
    assert.equal((await signIn(running, { email: EMAIL, password: `guess number ${n}` })).status, 401);
  }
  const reply = await signIn(running);
  assert.equal(reply.status, 429);
  assert.deepEqual(reply.json, { error: "too many attempts to sign in, try again later" });
  assert.match(reply.headers["retry-after"] ?? "", /^([1-9]|[1-5]\d|60)$/);
  const other = await signIn(running, { email: "bob@example.com", password: PASSWORD });
  assert.equal(other.status, 401);
});

test("renews a hash with cheaper parameters at a sign-in", async (t) => {
  const running = await withAda(t);
  const { argon2Sync } = await import("node:crypto");
  const nonce = Buffer.alloc(16, 7);
  const plain = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
  const bytes = argon2Sync("argon2id", {
    message: PASSWORD,
    nonce,
    memory: 64,
    passes: 1,
    parallelism: 1,
    tagLength: 32,
  });
  const cheap = `$argon2id$v=19$m=64,t=1,p=1$${plain(nonce)}$${plain(bytes)}`;
  await running.store.people.setPassword(running.ada, cheap, null, EMAIL);
  assert.equal((await signIn(running)).status, 200);
  assert.match((await running.store.people.passwordOf(EMAIL))?.hash ?? "", /\$m=32768,t=3,p=1\$/);
  assert.equal((await signIn(running)).status, 200);
});

test("logs contain no passwords, cookies or e-mails", async (t) => {
  const running = await withAda(t);
  const cookie = cookieOf(await signIn(running));
  await signIn(running, { email: EMAIL, password: "a wrong guess of it" });
  await emailOf(running, cookie);
  const logs = running.logs.join("");
  assert.match(logs, new RegExp(`"person":"${running.ada}"`));
  for (const secret of [PASSWORD, "a wrong guess", cookie.split("=")[1] ?? "", EMAIL]) {
    assert.ok(!logs.includes(secret), secret);
  }
});
