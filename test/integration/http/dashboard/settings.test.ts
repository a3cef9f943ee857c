import assert from "node:assert/strict";
import { test } from "node:test";
import { DASHBOARD_ROUTES } from "../../../../src/http/dashboard/routes.ts";
import { FROM_OWN_PAGE } from "../../../support/http/dashboard/signed-in.ts";
import { entriesOf, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";

onEachDatabase((open) => {
  test("an administrator sees the settings of the service, and creates and changes tiers and accounts", async (t) => {
    const club = await startTwoTenants(t, { open, maxPending: 77 });
    const { running, root, accountId } = club;
    const large = { name: "large", requestsPerMinute: 600, concurrency: 50 };
    assert.deepEqual((await root("PUT", "/tiers/large", { requestsPerMinute: 600, concurrency: 50 })).json, large);
    const made = (await root("POST", "/accounts", { name: "school", tier: "large" })).json;
    const createdAt = new Date(running.clock.nowMs).toISOString();
    assert.deepEqual(made, { id: made.id, name: "school", tier: "large", createdAt, suspendedAt: null });
    const changed = (await root("PATCH", `/accounts/${accountId}`, { name: "guild", tier: "large" })).json;
    assert.deepEqual([changed.id, changed.name, changed.tier], [accountId, "guild", "large"]);
    const { retentionMs, maxPending, tiers, accounts } = (await root("GET", "/settings")).json;
    assert.deepEqual([retentionMs, maxPending], [86_400_000, 77]);
    assert.deepEqual(
      tiers.find(({ name }: { name: string }) => name === "large"),
      large,
    );
    const unused = { pending: 0, running: 0, requests: 0 };
    assert.deepEqual(accounts.slice(-1), [{ ...made, ...unused }]);
    assert.deepEqual(
      accounts.find(({ id }: { id: string }) => id === accountId),
      { ...changed, ...unused },
    );
    assert.deepEqual(await entriesOf(club, root), [
      ["account.set-tier", accountId],
      ["account.rename", accountId],
      ["account.create", made.id],
      ["tier.set", "large"],
    ]);
  });

  test("an account is suspended with a notice to its members, its queue is dropped, and it is resumed", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, root, ada, eve, accountId } = club;
    const key = await running.key({ account: "club" });
    assert.equal((await running.submit(undefined, { key })).status, 202);
    const path = `/accounts/${accountId}`;
    const suspended = await root("POST", `${path}/suspend`);
    assert.deepEqual([suspended.status, typeof suspended.json.suspendedAt], [200, "string"]);
    assert.equal((await running.submit(undefined, { key })).status, 403);
    const people = async () =>
      (await Promise.all([ada, eve, root].map((who) => who("GET", "/session")))).map(
        ({ json }) => json.person.suspended,
      );
    assert.deepEqual(await people(), [["club"], [], []]);
    const run = await ada("POST", "/submissions", { accountId, language: "python", code: "1" });
    assert.deepEqual([run.status, run.json.error], [403, "this account is suspended; ask the operator of the service"]);
    const used = (await root("GET", "/settings")).json.accounts.find(({ id }: { id: string }) => id === accountId);
    assert.deepEqual([used.pending, used.running, used.requests], [1, 0, 1]);
    assert.deepEqual((await root("POST", `${path}/drop-pending`)).json, { dropped: 1 });
    assert.equal((await root("POST", `${path}/resume`)).json.suspendedAt, null);
    assert.deepEqual(await people(), [[], [], []]);
    assert.equal((await running.submit(undefined, { key })).status, 202);
    assert.deepEqual(await entriesOf(club, root), [
      ["account.resume", accountId],
      ["account.drop-pending", accountId],
      ["account.suspend", accountId],
    ]);
  });

  test("a rejected change has no effect, not even in part", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { root, accountId } = club;
    const path = `/accounts/${accountId}`;
    for (const [status, error, method, to, body] of [
      [422, /^the account others already exists$/, "POST", "/accounts", { name: "others", tier: "beta" }],
      [422, /^there is no tier huge; there are /, "POST", "/accounts", { name: "n", tier: "huge" }],
      [422, /^the account others already exists$/, "PATCH", path, { name: "others", tier: "beta" }],
      [422, /^there is no tier huge; there are /, "PATCH", path, { name: "n", tier: "huge" }],
      [422, /^the name must have 1 to 100 visible/, "PATCH", path, { name: "a\u202eb" }],
      [422, /^concurrency must be a whole number/, "PUT", "/tiers/t", { requestsPerMinute: 1, concurrency: 0 }],
      [422, /^the name must have 1 to 100 visible/, "PUT", "/tiers/%01", { requestsPerMinute: 1, concurrency: 1 }],
      [400, /^concurrency: /, "PUT", "/tiers/t", { requestsPerMinute: 1 }],
      [404, /^not found, or/, "PATCH", "/accounts/club", { name: "n" }],
    ] as const) {
      const answer = await root(method, to, body);
      assert.equal(answer.status, status, `${method} ${to}: ${answer.text}`);
      assert.match(answer.json.error, error);
    }
    assert.deepEqual(await entriesOf(club, root), []);
  });
});

test("every route of the dashboard requires a session of its rank", async (t) => {
  const { running, ada } = await startTwoTenants(t);
  const ranks = { none: 0, member: 0, administrator: 0 };
  for (const { method, path, session } of DASHBOARD_ROUTES) {
    ranks[session]++;
    if (session === "none") continue;
    const request = {
      method: method.toUpperCase() as "GET",
      path: path.replaceAll(/\{\w+\}/g, "00000000-0000-4000-8000-000000000000"),
    };
    // Without a body, because the session is checked before the body is read.
    const anonymous = { ...request, path: `/dashboard/api${request.path}`, headers: FROM_OWN_PAGE };
    assert.equal((await running.ask({ ...anonymous, key: null })).status, 401, `${method} ${path}`);
    assert.equal((await running.ask(anonymous)).status, 401, `${method} ${path} with an API key`);
    if (session !== "administrator") continue;
    const { status, json } = await ada(request.method, request.path);
    assert.deepEqual([status, json], [403, { error: "only an administrator may do this" }], `${method} ${path}`);
  }
  assert.ok(ranks.none >= 5 && ranks.member > 40 && ranks.administrator > 8, JSON.stringify(ranks));
});
