import assert from "node:assert/strict";
import { test } from "node:test";
import { entriesOf, NOT_THERE, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";

const policy = (host: string) => ({ allow: [{ host, ports: [443] }] });

onEachDatabase((open) => {
  test("an administrator sets the bound of an account, members that of its projects, and each change is recorded", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { root, ada, accountId, projectId } = club;
    const [account, project] = [`/accounts/${accountId}/network`, `/projects/${projectId}/network`];
    assert.equal((await ada("GET", account)).json.bound, null);
    const early = await ada("PUT", project, { policy: policy("a.example.org") });
    assert.equal(early.status, 422);
    assert.match(early.json.error, /no network is open for the account/);
    assert.equal((await ada("PUT", account, { policy: policy("*.example.org") })).status, 403);
    assert.equal((await ada("DELETE", account)).status, 403);
    const set = await root("PUT", account, { policy: policy("*.example.org"), bytes_up_per_day: 1_000 });
    assert.deepEqual([set.status, set.json.bound.version], [200, 1]);
    assert.deepEqual((await ada("GET", account)).json, set.json);
    const narrow = await ada("PUT", project, { policy: policy("a.example.org"), bytes_up_per_day: 10 });
    assert.deepEqual(narrow.json.effective.allow, policy("a.example.org").allow);
    assert.equal(narrow.json.today.bytes_up_left, 10);
    const beyond = await ada("PUT", project, { policy: policy("evil.net") });
    assert.deepEqual([beyond.status, /port 443 of evil\.net/.test(beyond.json.error)], [422, true]);
    for (const [body, message] of [
      [{ policy: { allow: [{ host: "*", ports: [443] }] } }, /policy\.allow\[0\]\.host/],
      [{ policy: "all" }, /^policy: /],
      [{ policy: "none", bytes_up_per_day: -1 }, /^bytes_up_per_day: /],
      [{ policy: "none", more: 1 }, /more/],
      [{}, /must be an object with the field "policy"/],
    ] as const) {
      const mistake = await ada("PUT", project, body);
      assert.equal(mistake.status, 422);
      assert.match(mistake.json.error, message);
    }
    assert.equal((await ada("DELETE", project)).json.bound, null);
    assert.equal((await root("DELETE", account)).json.effective, "none");
    const entries = async (who: typeof ada) =>
      (await entriesOf(club, who)).filter(([action]) => action?.startsWith("network."));
    assert.deepEqual(await entries(root), [
      ["network.clear", accountId],
      ["network.set", accountId],
    ]);
    assert.deepEqual(await entries(ada), [
      ["network.clear", projectId],
      ["network.set", projectId],
    ]);
  });

  test("bounds and hosts of another account are not there", async (t) => {
    const { root, ada, other, running } = await startTwoTenants(t, { open });
    await root("PUT", `/accounts/${other.accountId}/network`, { policy: policy("*.example.org") });
    const sums = { connections: 1, bytes_up: 2, bytes_down: 3 };
    await running.store.egress.addHosts({
      accountId: other.accountId,
      projectId: other.projectId,
      hosts: [{ name: "a.example.org", decision: "denied", ...sums }],
    });
    for (const [method, path, body] of [
      ["GET", `/accounts/${other.accountId}/network`],
      ["GET", `/accounts/${other.accountId}/hosts`],
      ["GET", `/projects/${other.projectId}/network`],
      ["PUT", `/projects/${other.projectId}/network`, { policy: "none" }],
      ["DELETE", `/projects/${other.projectId}/network`],
      ["GET", `/projects/${other.projectId}/hosts`],
    ] as const) {
      const { status, json } = await ada(method, path, body);
      assert.deepEqual([status, json], [404, NOT_THERE], `${method} ${path}`);
    }
    const day = new Date(running.clock.nowMs).toISOString().slice(0, 10);
    const { json } = await root("GET", `/projects/${other.projectId}/hosts?from=${day}&to=${day}&decision=denied`);
    assert.deepEqual(json, {
      hosts: [{ day, projectId: other.projectId, name: "a.example.org", decision: "denied", ...sums }],
      next: null,
    });
    const query = `from=${day}&to=${day}&limit=1`;
    const page = await root("GET", `/accounts/${other.accountId}/hosts?${query}`);
    assert.equal(page.json.hosts.length, 1);
    const after = new URLSearchParams({ after: page.json.next });
    assert.deepEqual((await root("GET", `/accounts/${other.accountId}/hosts?${query}&${after}`)).json.hosts, []);
    assert.equal((await root("GET", `/accounts/${other.accountId}/hosts?after=x`)).status, 422);
  });
});
