import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createKey } from "../../../../src/admin/keys.ts";
import { playgroundKeyId } from "../../../../src/domain/key.ts";
import { entriesOf, NOT_THERE, startTwoTenants, type TwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { enqueue, onEachDatabase } from "../../../support/store/temporary.ts";

const made = async ({ ada, projectId }: TwoTenants, body: object = {}) => {
  const { status, json } = await ada("POST", "/keys", { name: "k", projectId, ...body });
  assert.equal(status, 200, JSON.stringify(json));
  return json;
};

/**
 * Waits until this many requests of the single key are counted: when the disk takes 250 ms, SQLite responds before it
 * counts.
 */
async function counted({ ada }: TwoTenants, requests: number): Promise<void> {
  const deadline = performance.now() + 20_000;
  while ((await ada("GET", "/keys")).json.keys[0].usage.requests < requests && performance.now() < deadline)
    await sleep(20);
}

onEachDatabase((open) => {
  test("a key needs a project or an account of the person, and is found by its name", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { ada, accountId, projectId, other } = club;
    const { key } = await made(club, { name: "bot_1%", projectId: undefined, accountId });
    assert.deepEqual([key.project, key.account], [null, { id: accountId, name: "club" }]);
    for (const owner of [{}, { projectId, accountId }])
      assert.equal((await ada("POST", "/keys", { name: "k", ...owner })).status, 400);
    for (const owner of [{ accountId: other.accountId }, { projectId: other.projectId }])
      assert.deepEqual((await ada("POST", "/keys", { name: "k", ...owner })).json, NOT_THERE);
    const second = await made(club, { name: "The Bots" });
    const found = async (name: string) =>
      (await ada("GET", `/keys?name=${encodeURIComponent(name)}`)).json.keys.map((one: { name: string }) => one.name);
    assert.deepEqual((await found("BOT")).toSorted(), ["The Bots", "bot_1%"]);
    // The characters of a search are no pattern of the database.
    assert.deepEqual(await found("t_1%"), ["bot_1%"]);
    assert.deepEqual(await found("%"), ["bot_1%"]);
    assert.deepEqual(await found(second.key.prefix), ["The Bots"]);
    assert.deepEqual(await found("none"), []);
  });

  test("a new key is displayed once, works in the API, and cannot be read afterwards", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, ada, accountId, projectId } = club;
    const { key, secret } = await made(club);
    assert.match(secret, /^assay_live_[\w-]{32}$/);
    assert.equal((await running.ask({ path: "/api/languages", key: secret })).status, 200);
    await counted(club, 1);
    const [shown] = (await ada("GET", "/keys")).json.keys;
    assert.deepEqual(shown, {
      ...key,
      usage: { requests: 1, pending: 0, running: 0 },
      lastUsedAt: new Date(running.clock.nowMs).toISOString(),
    });
    assert.deepEqual(key, {
      id: key.id,
      name: "k",
      account: { id: accountId, name: "club" },
      project: { id: projectId, name: "shop" },
      prefix: secret.slice(0, 17),
      requestsPerMinute: null,
      concurrency: null,
      limits: { requestsPerMinute: 60, concurrency: 10 },
      usage: { requests: 0, pending: 0, running: 0 },
      profiles: ["judge"],
      defaultProfile: "judge",
      state: "live",
      createdAt: new Date(running.clock.nowMs).toISOString(),
      revokedAt: null,
      expiresAt: null,
      replaces: null,
      lastUsedAt: null,
      ofPlayground: false,
    });
    const rotated = (await ada("POST", `/keys/${key.id}/rotate`, { overlapMs: 60_000 })).json;
    assert.deepEqual([rotated.key.replaces, rotated.secret === secret], [key.id, false]);
    assert.equal((await ada("POST", `/keys/${key.id}/revoke`)).json.state, "revoked");
    assert.equal((await running.ask({ path: "/api/languages", key: secret })).status, 401);
    assert.equal((await running.ask({ path: "/api/languages", key: rotated.secret })).status, 200);
    const everything = JSON.stringify([
      (await ada("GET", "/keys")).json,
      await running.store.audit.list({ max: 100 }),
      running.logs,
    ]);
    for (const one of [secret, rotated.secret]) assert.equal(everything.includes(one), false);
    assert.deepEqual(
      await entriesOf(club, ada),
      ["revoke", "rotate", "create"].map((action) => [`key.${action}`, key.id]),
    );
  });

  test("a key has its current usage: requests in the last minute, pending and running submissions", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, ada, accountId, projectId } = club;
    const { key, secret } = await made(club);
    const usage = async () => (await ada("GET", `/keys?project=${projectId}`)).json.keys[0].usage;
    for (let at = 0; at < 3; at++) await running.ask({ path: "/api/languages", key: secret });
    for (let at = 0; at < 3; at++) await enqueue(running.store, { keyId: key.id, accountId });
    await running.store.submissions.claim("w", 60_000, 1);
    await counted(club, 3);
    assert.deepEqual(await usage(), { requests: 3, pending: 2, running: 1 });
    running.clock.nowMs += 60_000;
    assert.deepEqual(await usage(), { requests: 0, pending: 2, running: 1 });
  });

  test("members cannot exceed the tier and the profiles of their account", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, root, ada, projectId, eve, other } = club;
    const { key } = await made(club, { requestsPerMinute: 60, concurrency: 1 });
    const path = `/keys/${key.id}`;
    const refused = async (who: typeof ada, method: "POST" | "PATCH", to: string, body: object, error: string) => {
      const answer = await who(method, to, body);
      assert.deepEqual([answer.status, answer.json], [422, { error }]);
    };
    const more = (what: string) => `${what} at most with the tier beta; only an administrator may set more`;
    await refused(ada, "PATCH", path, { requestsPerMinute: 61 }, more("requests per minute may be 60"));
    await refused(ada, "PATCH", path, { concurrency: 11 }, more("concurrency may be 10"));
    await refused(ada, "POST", "/keys", { name: "k", projectId, concurrency: 11 }, more("concurrency may be 10"));
    const agent = "no key of the account club may use the profile agent; only an administrator may allow it";
    await refused(ada, "PATCH", path, { profiles: ["agent"], defaultProfile: "agent" }, agent);
    await refused(ada, "POST", "/keys", { name: "k", projectId, profiles: ["judge", "agent"] }, agent);
    // Member edits keep administrator-granted settings, and members can grant them to other keys of the account.
    const large = { requestsPerMinute: 600, concurrency: 20, profiles: ["judge", "agent"], defaultProfile: "judge" };
    assert.equal((await root("PATCH", path, large)).status, 200);
    const kept = (await ada("PATCH", path, { ...large, concurrency: 5 })).json;
    assert.deepEqual([kept.requestsPerMinute, kept.concurrency, kept.profiles], [600, 5, ["judge", "agent"]]);
    await refused(ada, "PATCH", path, { concurrency: 20 }, more("concurrency may be 10"));
    const second = await made(club, { profiles: ["agent"], defaultProfile: "agent" });
    assert.deepEqual(second.key.profiles, ["agent"]);
    assert.equal((await ada("PATCH", path, { requestsPerMinute: null })).json.limits.requestsPerMinute, 60);
    // Another account has no such grants: neither those of that account, nor those of its own playground key.
    const limits = {
      requestsPerMinute: null,
      concurrency: null,
      profiles: ["agent"],
      defaultProfile: "agent",
    } as const;
    const { accountId } = other;
    const id = playgroundKeyId(accountId);
    const playground = { id, accountId, projectId: null, name: "playground", prefix: "", hash: "h", ...limits };
    await running.store.keys.add(playground, "test");
    const others = "no key of the account others may use the profile agent; only an administrator may allow it";
    await refused(eve, "POST", "/keys", { name: "k", projectId: other.projectId, profiles: ["agent"] }, others);
    const nobodys = "the playground key cannot be rotated";
    await refused(eve, "POST", `/keys/${id}/rotate`, { overlapMs: 0 }, nobodys);
    const closed = "only an administrator may close the playground: it cannot be opened again";
    await refused(eve, "POST", `/keys/${id}/revoke`, {}, closed);
    assert.equal((await eve("GET", "/keys")).json.keys[0].ofPlayground, true);
    assert.equal((await root("POST", `/keys/${id}/revoke`)).json.state, "revoked");
  });

  test("members can have twenty live keys per account, overlapping keys included; administrators can create more", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, root, ada, projectId } = club;
    const { key } = await made(club);
    for (let at = 0; at < 19; at++) {
      await createKey(running.store, { name: `n${at}`, project: projectId, profiles: ["judge"] }, "test");
    }
    const error = "the account has 20 live keys, the maximum without an administrator; revoke one first";
    const full = await ada("POST", "/keys", { name: "k", projectId });
    assert.deepEqual([full.status, full.json], [422, { error }]);
    const rotate = `/keys/${key.id}/rotate`;
    assert.deepEqual((await ada("POST", rotate, { overlapMs: 1_000 })).json, { error });
    assert.equal((await root("POST", "/keys", { name: "k", projectId })).status, 200);
    assert.equal((await root("POST", rotate, { overlapMs: 1_000 })).status, 200);
  });

  test("keys of another account get the same response as unknown keys", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { root, ada, eve, projectId } = club;
    const { key } = await made(club);
    for (const [method, path, body] of [
      ["GET", `/keys?project=${projectId}`, undefined],
      ["POST", "/keys", { name: "k", projectId }],
      ["PATCH", `/keys/${key.id}`, { concurrency: 1 }],
      ["POST", `/keys/${key.id}/rotate`, { overlapMs: 0 }],
      ["POST", `/keys/${key.id}/revoke`, undefined],
      ["POST", "/keys/nobody/revoke", undefined],
    ] as const) {
      const { status, json } = await eve(method, path, body);
      assert.deepEqual([status, json], [404, NOT_THERE], `${method} ${path}`);
    }
    assert.deepEqual((await eve("GET", "/keys")).json.keys, []);
    const ids = async (who: typeof ada) => (await who("GET", "/keys")).json.keys.map(({ id }: { id: string }) => id);
    assert.deepEqual(await ids(ada), [key.id]);
    assert.ok((await ids(root)).includes(key.id));
  });

  test("rejects changes to an expired or revoked key, and names the fault of a request", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { ada, projectId } = club;
    const { key } = await made(club);
    const path = `/keys/${key.id}`;
    for (const [status, error, method, to, body] of [
      [422, /^requests per minute must be a whole number from 1 to/, "PATCH", path, { requestsPerMinute: 0.5 }],
      [422, /^a key needs at least one profile$/, "PATCH", path, { profiles: [] }],
      [422, /^the overlap must be from 0 to 90 days$/, "POST", `${path}/rotate`, { overlapMs: -1 }],
      [422, /^there is nothing to change$/, "PATCH", path, {}],
      [400, /^profiles\.0: /, "PATCH", path, { profiles: ["root"] }],
      [400, /^requestsPerMinute: /, "PATCH", path, { requestsPerMinute: "60" }],
      [400, /./, "POST", "/keys", { name: "k", projectId, hash: "x" }],
      [200, null, "POST", `${path}/revoke`, undefined],
      [422, /^there is no such live key$/, "POST", `${path}/revoke`, undefined],
      [422, /^there is no such live key$/, "PATCH", path, { concurrency: 1 }],
      [200, null, "PATCH", `/projects/${projectId}`, { archived: true }],
      [422, /^the project shop is archived; restore it first$/, "POST", "/keys", { name: "k", projectId }],
    ] as const) {
      const answer = await ada(method, to, body);
      assert.equal(answer.status, status, `${method} ${to} ${JSON.stringify(body)}: ${answer.text}`);
      if (error) assert.match(answer.json.error, error);
    }
  });
});
