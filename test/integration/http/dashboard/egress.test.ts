import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { EgressHost } from "../../../../src/domain/egress/egress-record.ts";
import type { Hosts, Network, ProjectBounds, Totals } from "../../../../src/http/dashboard/api/network.ts";
import type { SandboxDetail, SandboxEgress } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { entriesOf, NOT_THERE, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { MemorySandboxes } from "../../../support/http/memory-sandboxes.ts";
import type { Options } from "../../../support/http/running.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";

const LIMIT = { timeout: 60_000 };
const DAY_MS = 86_400_000;
const POLICY = {
  allow: [{ host: "*.example.org", ports: [443] }],
  bytes_up: 1_000,
  bytes_down: 2_000,
  connections: 8,
  connections_per_minute: 60,
};
const BOUND = { policy: POLICY, bytes_up_per_day: 5_000, bytes_down_per_day: null };
const NARROW = { ...BOUND, policy: { ...POLICY, allow: [{ host: "a.example.org", ports: [443] }] } };

async function start(t: TestContext, open: NonNullable<Options["open"]>) {
  const club = await startTwoTenants(t, { open, sandboxesOver: (store) => new MemorySandboxes(store) });
  const { running, accountId, projectId } = club;
  running.clock.nowMs = Date.now();
  const reached = async (hosts: readonly EgressHost[], owner: { projectId?: string | null; daysAgo?: number } = {}) => {
    const { nowMs } = running.clock;
    running.clock.nowMs = nowMs - (owner.daysAgo ?? 0) * DAY_MS;
    await running.store.egress.addHosts({ accountId, projectId: owner.projectId ?? null, hosts });
    running.clock.nowMs = nowMs;
  };
  return { ...club, reached, ofAccount: `/accounts/${accountId}`, ofProject: `/projects/${projectId}` };
}

const host = (name: string | null, decision: EgressHost["decision"], bytes = 0, connections = 1): EgressHost => ({
  ...{ name, decision, connections },
  bytes_up: bytes,
  bytes_down: 2 * bytes,
});

const dayOf = (daysAgo: number) => new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);

onEachDatabase((open) => {
  test("administrators set the bound of an account, and members that of a project within it", LIMIT, async (t) => {
    const club = await start(t, open);
    const { ada, eve, root, ofAccount, ofProject, projectId, accountId } = club;
    const none: Network = (await ada("GET", `${ofAccount}/network`)).json;
    assert.deepEqual([none.bound, none.effective, none.today.bytes_up_left], [null, "none", null]);
    assert.equal((await ada("PUT", `${ofAccount}/network`, BOUND)).status, 403);
    assert.equal((await ada("DELETE", `${ofAccount}/network`)).status, 403);
    const early = await ada("PUT", `${ofProject}/network`, NARROW);
    assert.deepEqual(
      [early.status, early.json.error],
      [422, "the bound is not within that of the account: no network is open for the account"],
    );
    const set: Network = (await root("PUT", `${ofAccount}/network`, BOUND)).json;
    assert.deepEqual([set.account, set.project, set.bound?.version], ["club", null, 1]);
    assert.deepEqual([set.effective, set.today.bytes_up_left, set.today.bytes_down_left], [POLICY, 5_000, null]);
    const beyond = await ada("PUT", `${ofProject}/network`, {
      ...NARROW,
      policy: { ...POLICY, allow: [{ host: "example.org", ports: [443] }] },
    });
    assert.equal(beyond.status, 422);
    assert.match(beyond.json.error, /account: port 443 of example\.org is not within/);
    const wrong = await ada("PUT", `${ofProject}/network`, { ...NARROW, policy: { ...POLICY, allow: [] } });
    assert.equal(wrong.status, 422);
    assert.match(wrong.json.error, /^policy\.allow: /);
    const narrowed: Network = (await ada("PUT", `${ofProject}/network`, NARROW)).json;
    assert.deepEqual([narrowed.project, narrowed.effective], ["shop", NARROW.policy]);
    const bounds: ProjectBounds = (await ada("GET", `${ofAccount}/bounds`)).json;
    assert.deepEqual(
      bounds.map(({ project, policy, version }) => [project, policy, version]),
      [[{ id: projectId, name: "shop" }, NARROW.policy, 1]],
    );
    for (const path of [`${ofAccount}/network`, `${ofProject}/network`, `${ofAccount}/bounds`])
      assert.deepEqual((await eve("GET", path)).json, NOT_THERE, path);
    assert.deepEqual((await eve("PUT", `${ofProject}/network`, NARROW)).json, NOT_THERE);
    const cleared: Network = (await ada("DELETE", `${ofProject}/network`)).json;
    assert.deepEqual([cleared.bound, cleared.effective], [null, POLICY]);
    assert.deepEqual(await entriesOf(club, ada), [
      ["network.clear", projectId],
      ["network.set", projectId],
    ]);
    assert.deepEqual(await entriesOf(club, root), [["network.set", accountId]]);
  });

  test("totals by day and hosts are those of the account or project, and of the days asked for", LIMIT, async (t) => {
    const { ada, eve, reached, ofAccount, ofProject, projectId } = await start(t, open);
    await reached([host("a.example.org", "allowed", 100, 3), host("evil.example", "denied", 0, 2)], { projectId });
    await reached([host("a.example.org", "allowed", 11), host(null, "denied", 0, 7)]);
    await reached([host("b.example.org", "allowed", 2 ** 45)], { projectId, daysAgo: 2 });
    await reached([host("b.example.org", "allowed", 2 ** 45)], { daysAgo: 2 });
    await reached([host("old.example.org", "allowed", 5)], { projectId, daysAgo: 20 });
    const totals = async (query = "", of = ofAccount): Promise<Totals> =>
      (await ada("GET", `${of}/egress${query}`)).json;
    const week = await totals();
    assert.deepEqual([week.from, week.to], [dayOf(6), dayOf(0)]);
    assert.deepEqual(week.days, [
      { day: dayOf(0), connections: 4, denied: 9, bytes_up: 111, bytes_down: 222 },
      { day: dayOf(2), connections: 2, denied: 0, bytes_up: 2 ** 46, bytes_down: 2 ** 47 },
    ]);
    assert.deepEqual((await totals("", ofProject)).days[0], {
      ...{ day: dayOf(0), connections: 3, denied: 2 },
      ...{ bytes_up: 100, bytes_down: 200 },
    });
    assert.deepEqual(
      (await totals(`?from=${dayOf(30)}&to=${dayOf(10)}`)).days.map(({ day }) => day),
      [dayOf(20)],
    );
    const hosts = async (query: string, of = ofAccount): Promise<Hosts> =>
      (await ada("GET", `${of}/hosts${query}`)).json;
    const denied = await hosts("?decision=denied");
    assert.deepEqual(
      denied.hosts.map(({ name, connections, projectId: of }) => [name, connections, of]),
      [
        [null, 7, null],
        ["evil.example", 2, projectId],
      ],
    );
    assert.deepEqual(
      (await hosts(`?from=${dayOf(2)}&to=${dayOf(2)}`, ofProject)).hosts.map(({ name }) => name),
      ["b.example.org"],
    );
    const first = await hosts("?limit=1");
    assert.equal((await hosts(`?limit=1&after=${encodeURIComponent(first.next ?? "")}`)).hosts.length, 1);
    for (const query of ["?from=today", "?to=2026-02-30", "?from="])
      assert.equal((await ada("GET", `${ofAccount}/egress${query}`)).status, 422, query);
    for (const path of [`${ofAccount}/egress`, `${ofProject}/egress`, `${ofAccount}/hosts`])
      assert.deepEqual((await eve("GET", path)).json, NOT_THERE, path);
  });

  test("a sandbox shows its policy, and what it reached, also after its end", LIMIT, async (t) => {
    const { ada, eve, root, ofAccount, running } = await start(t, open);
    await root("PUT", `${ofAccount}/network`, BOUND);
    const key = await running.key({ project: "shop", name: "agent", profiles: ["agent"] });
    const send = async (method: string, path: string, body: unknown = {}) =>
      (await running.ask({ key, method, path: `/api/sandboxes${path}`, body })).json;
    const without = (await send("POST", "")).id;
    const { id } = await send("POST", "", { network: POLICY });
    const detail = async (of: string): Promise<SandboxDetail> => (await ada("GET", `/sandboxes/${of}`)).json;
    const egress = async (of: string): Promise<SandboxEgress> => (await ada("GET", `/sandboxes/${of}/egress`)).json;
    assert.deepEqual((await detail(without)).network, { hasNetwork: false, version: 1, policy: "none" });
    assert.deepEqual(await egress(without), { egress: null });
    assert.deepEqual((await detail(id)).network, { hasNetwork: true, version: 1, policy: POLICY });
    const { number } = await send("POST", `/${id}/executions`, { shell: "reach a.example.org evil.example" });
    const execution = (await ada("GET", `/sandboxes/${id}/executions/${number}`)).json;
    assert.deepEqual(
      execution.egress.connections.map(({ name, reason }: Record<string, unknown>) => [name, reason]),
      [
        ["a.example.org", null],
        ["evil.example", "evil.example is not allowed by the policy of this sandbox"],
      ],
    );
    const names = async () => (await egress(id)).egress?.hosts.map(({ name, decision }) => [name, decision]);
    const expected = [
      ["a.example.org", "allowed"],
      ["evil.example", "denied"],
    ];
    assert.deepEqual(await names(), expected);
    await send("DELETE", `/${id}`);
    assert.deepEqual(await names(), expected);
    assert.deepEqual((await eve("GET", `/sandboxes/${id}/egress`)).json, NOT_THERE);
  });
});
