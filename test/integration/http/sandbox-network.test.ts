import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { parseNetworkBound } from "../../../src/domain/egress/bound.ts";
import { parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import { executionBody, sandboxBody } from "../../../src/http/api/sandboxes/bodies.ts";
import { offerBody, sandboxEgressBody } from "../../../src/http/api/sandboxes/network.ts";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { type Ask, startHttp } from "../../support/http/running.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";
import { ACTOR, addProject } from "../../support/webhooks/project.ts";

const RULE = { host: "api.example.com", ports: [443] };
const WIDE = { allow: [RULE, { host: "*.example.org", ports: [80, 443] }], bytes_up: 1_000, connections: 8 };

async function start(t: TestContext, options: Parameters<typeof startHttp>[1] = {}) {
  const running = await startHttp(t, { ...options, sandboxesOver: (store) => new MemorySandboxes(store) });
  const { store } = running;
  const key = await running.key({ profiles: ["agent"] });
  const owner = (await store.keys.list()).find(({ profiles }) => profiles.includes("agent"));
  assert.ok(owner);
  const { accountId } = owner;
  const send = (ask: Ask) => running.ask({ key, ...ask });
  const create = (network: unknown) => send({ method: "POST", path: "/api/sandboxes", body: { network } });
  const open = (bound: object, projectId: string | null = null) =>
    store.egress.setBound({ accountId, projectId }, parseNetworkBound(bound), ACTOR);
  return { ...running, accountId, send, create, open };
}

/** Policies that are mistakes, with the place and a part of the message. */
const MISTAKES: readonly (readonly [policy: unknown, where: string, why: RegExp])[] = [
  ["all", "network", /must be "none", or an object/],
  ["", "network", /must be "none"/],
  [null, "network", /must be "none"/],
  [true, "network", /must be "none"/],
  [[], "network", /must be "none"/],
  [{}, "network.allow", /./],
  [{ allow: [] }, "network.allow", /./],
  [{ allow: [RULE], deny: [] }, "network", /deny/],
  [{ allow: [{ ...RULE, proto: "udp" }] }, "network.allow[0]", /proto/],
  [{ allow: [{ host: "*", ports: [443] }] }, "network.allow[0].host", /no rule allows every host/],
  [{ allow: [RULE, { host: "API.example.com", ports: [80] }] }, "network.allow[1]", /another rule/],
  [{ allow: [{ host: "example.org.", ports: [443] }] }, "network.allow[0].host", /ends with a dot/],
  [{ allow: [{ host: "127.1", ports: [443] }] }, "network.allow[0].host", /cidr/],
  [{ allow: [{ cidr: "0.0.0.0/0", ports: [443] }] }, "network.allow[0].cidr", /too large/],
  [{ allow: [{ ports: [443] }] }, "network.allow[0]", /either/],
  [{ allow: [{ host: "api.example.com", ports: ["443"] }] }, "network.allow[0].ports[0]", /number/],
  [{ allow: [{ host: "api.example.com", ports: [0] }] }, "network.allow[0].ports[0]", /./],
  [{ allow: [{ host: "api.example.com", ports: [53] }] }, "network.allow[0].ports", /53/],
  [{ allow: [RULE], bytes_up: -1 }, "network.bytes_up", /./],
  [{ allow: [RULE], bytes_up: 1.5 }, "network.bytes_up", /./],
  [{ allow: [RULE], connections: 65 }, "network.connections", /./],
  [
    { allow: Array.from({ length: 101 }, (_, at) => ({ host: `h${at}.example.org`, ports: [443] })) },
    "network.allow",
    /./,
  ],
  [
    {
      allow: Array.from({ length: 90 }, (_, at) => ({
        host: `${`h${at}`.padEnd(60, "x")}.${"y".repeat(63)}.${"z".repeat(63)}.example.org`,
        ports: [443],
      })),
    },
    "network.allow",
    /16384 bytes/,
  ],
];

onEachDatabase((database) => {
  test("a policy that is a mistake is refused with its place, at creation and as a replacement", async (t) => {
    const { send, create, open, store, accountId } = await start(t, { open: database });
    await open({ policy: WIDE });
    const { json: made } = await create(WIDE);
    for (const [policy, where, why] of MISTAKES) {
      for (const [field, answer] of [
        [where, await create(policy)],
        [
          where.replace(/^network\.?/, "") || "the body",
          await send({ method: "PUT", path: `/api/sandboxes/${made.id}/network`, body: JSON.stringify(policy) }),
        ],
      ] as const) {
        assert.equal(answer.status, 400, JSON.stringify(policy).slice(0, 100));
        const at = answer.json.error.indexOf(": ");
        assert.equal(answer.json.error.slice(0, at), field, answer.json.error);
        assert.match(answer.json.error, why);
      }
    }
    // A name with a meaning for objects is a mistake, too.
    const raw = `{"allow":[{"host":"a.example.org","ports":[443]}],"__proto__":{"bytes_up":1}}`;
    for (const [method, path, body] of [
      ["POST", "/api/sandboxes", `{"network":${raw}}`],
      ["PUT", `/api/sandboxes/${made.id}/network`, raw],
    ] as const)
      assert.equal((await send({ method, path, body })).status, 400);
    const stored = await store.sandboxes.get(made.id, accountId);
    assert.equal(stored?.network.version, 1);
    assert.equal((await store.sandboxes.list(accountId, { max: 10 })).sandboxes.length, 1);
  });

  test("a sandbox gets a policy within the bound, and what is beyond it is refused with the rule", async (t) => {
    const { create, open, send } = await start(t, { open: database });
    const closed = await create({ allow: [RULE] });
    assert.deepEqual([closed.status, closed.json], [403, { error: "network: no network is open for this account" }]);
    await open({ policy: WIDE, bytes_down_per_day: 10_000 });
    const { status, json } = await create({ allow: [{ host: "a.example.org", ports: [443] }] });
    assert.equal(status, 201);
    assert.deepEqual(sandboxBody.parse(json).network, {
      version: 1,
      // A budget that is not stated is that of the bound, if this is lower than the usual one.
      policy: {
        allow: [{ host: "a.example.org", ports: [443] }],
        bytes_up: 1_000,
        bytes_down: 2 ** 30,
        connections: 8,
        connections_per_minute: 600,
      },
    });
    const beyond = await create({ allow: [RULE, { host: "evil.example.net", ports: [443] }] });
    assert.equal(beyond.status, 403);
    assert.match(beyond.json.error, /port 443 of evil\.example\.net/);
    const more = await create({ allow: [RULE], bytes_up: 1_001 });
    assert.deepEqual([more.status, /bytes_up .* 1000/.test(more.json.error)], [403, true]);
    const without = await send({ method: "POST", path: "/api/sandboxes", body: {} });
    assert.deepEqual(without.json.network, { version: 1, policy: "none" });
    const { json: offer } = await send({ path: "/api/network" });
    assert.deepEqual(offerBody.parse(offer).today.bytes_down_left, 10_000);
    assert.deepEqual(offer.policy.allow, WIDE.allow);
    assert.equal(offer.available, true);
  });

  test("a repeated request gets the same sandbox, and one with another policy is a conflict", async (t) => {
    const { send, open } = await start(t, { open: database });
    await open({ policy: WIDE });
    const headers = { "idempotency-key": randomUUID() };
    const ask = (network: unknown) => send({ method: "POST", path: "/api/sandboxes", body: { network }, headers });
    const first = await ask({ allow: [RULE] });
    assert.equal(first.status, 201);
    assert.equal((await ask({ allow: [{ host: "API.example.com", ports: [443] }] })).json.id, first.json.id);
    assert.equal((await ask({ allow: [RULE], bytes_down: 5 })).status, 422);
    assert.equal((await ask("none")).status, 422);
  });

  test("a policy is replaced as a whole, and a sandbox without a network stays without", async (t) => {
    const { send, create, open } = await start(t, { open: database });
    await open({ policy: WIDE });
    const { json: made } = await create({ allow: [RULE] });
    const put = (id: string, body: unknown) =>
      send({ method: "PUT", path: `/api/sandboxes/${id}/network`, body: JSON.stringify(body) });
    const none = await put(made.id, "none");
    assert.deepEqual([none.status, none.json.network], [200, { version: 2, policy: "none" }]);
    const again = await put(made.id, { allow: [{ host: "b.example.org", ports: [80] }] });
    assert.equal(sandboxBody.parse(again.json).network.version, 3);
    assert.equal((await put(made.id, { allow: [{ host: "b.example.org", ports: [22] }] })).status, 403);
    assert.deepEqual((await send({ path: `/api/sandboxes/${made.id}` })).json.network, again.json.network);
    const { json: without } = await create("none");
    const refused = await put(without.id, { allow: [RULE] });
    assert.deepEqual(
      [refused.status, refused.json],
      [409, { error: "the sandbox was created without a network, and has none for good" }],
    );
    assert.equal((await put(without.id, "none")).json.network.version, 1);
    await send({ method: "DELETE", path: `/api/sandboxes/${made.id}` });
    assert.equal((await put(made.id, "none")).status, 410);
  });

  test("neither another account nor the bound of another project opens anything", async (t) => {
    const { send, create, open, key, ask, accountId, store } = await start(t, { open: database });
    await open({ policy: WIDE });
    const { json: made } = await create({ allow: [RULE] });
    const stranger = await key({ profiles: ["agent"], account: "stranger" });
    for (const [method, path, body] of [
      ["PUT", `/api/sandboxes/${made.id}/network`, '"none"'],
      ["GET", `/api/sandboxes/${made.id}/egress`, undefined],
    ] as const) {
      const answer = await ask({ method, path, key: stranger, body });
      assert.deepEqual([answer.status, answer.json], [404, { error: "sandbox not found" }]);
    }
    const { json: offer } = await ask({ path: "/api/network", key: stranger });
    assert.equal(offer.policy, "none");
    const post = { method: "POST", path: "/api/sandboxes", body: { network: { allow: [RULE] } } };
    assert.equal((await ask({ ...post, key: stranger })).status, 403);
    // A narrower bound of a project holds for its keys, and not for others of the account.
    const project = await addProject(store, "closed", "default");
    if (project.key.accountId === accountId) await open({ policy: "none" }, project.id);
    assert.equal((await create({ allow: [RULE] })).status, 201);
    assert.equal((await send({ path: `/api/sandboxes/${made.id}` })).json.network.version, 1);
  });

  test("a narrowed bound is in the record of a living sandbox", async (t) => {
    const { send, create, open } = await start(t, { open: database });
    await open({ policy: WIDE });
    const { json: made } = await create({ allow: [RULE, { host: "a.example.org", ports: [80, 443] }] });
    await open({ policy: { allow: [{ host: "*.example.org", ports: [443] }], bytes_up: 7 } });
    const { json } = await send({ path: `/api/sandboxes/${made.id}` });
    assert.equal(json.network.version, 2);
    assert.deepEqual(json.network.policy.allow, [{ host: "a.example.org", ports: [443] }]);
    assert.equal(json.network.policy.bytes_up, 7);
  });

  test("records say what executions and sandboxes have reached, and lists do not", async (t) => {
    const { send, create, open } = await start(t, { open: database });
    await open({ policy: WIDE });
    const { json: made } = await create({ allow: [RULE] });
    const path = `/api/sandboxes/${made.id}`;
    const { json: ran } = await send({
      method: "POST",
      path: `${path}/executions`,
      body: { shell: "reach api.example.com evil.example.net" },
    });
    const { egress } = executionBody.parse(ran);
    assert.deepEqual(
      egress?.connections.map(({ name, decision, rule }) => [name, decision, rule]),
      [
        ["api.example.com", "allowed", "api.example.com"],
        ["evil.example.net", "denied", null],
      ],
    );
    assert.deepEqual((await send({ path: `${path}/executions/1` })).json.egress, egress);
    const [listed] = (await send({ path: `${path}/executions` })).json.executions;
    assert.ok(listed.number === 1 && !("egress" in listed));
    const living = await send({ path: `${path}/egress` });
    assert.equal(living.status, 200);
    assert.equal(sandboxEgressBody.parse(living.json).egress?.denied, 1);
    await send({ method: "DELETE", path });
    assert.deepEqual((await send({ path: `${path}/egress` })).json, living.json);
    const { json: without } = await create("none");
    assert.deepEqual((await send({ path: `/api/sandboxes/${without.id}/egress` })).json, {
      sandbox_id: without.id,
      egress: null,
    });
    const { json: silent } = await send({
      method: "POST",
      path: `/api/sandboxes/${without.id}/executions`,
      body: { shell: "echo a" },
    });
    assert.equal(silent.egress, null);
  });

  test("a large policy is accepted", async (t) => {
    const { create, open } = await start(t, { open: database });
    const allow = Array.from({ length: 100 }, (_, at) => ({
      host: `h${at}.example.org`,
      ports: [80, 443, 8080, 8443],
    }));
    await open({ policy: { allow } });
    const { status, json } = await create({ allow });
    assert.equal(status, 201);
    assert.deepEqual(parseNetworkPolicy(json.network.policy), parseNetworkPolicy({ allow }));
  });
});
