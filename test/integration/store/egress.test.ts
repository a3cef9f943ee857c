import assert from "node:assert/strict";
import { test } from "node:test";
import type { NetworkBound } from "../../../src/domain/egress/bound.ts";
import type { EgressHost, EgressRecord, SandboxEgressRecord } from "../../../src/domain/egress/egress-record.ts";
import { type NetworkPolicy, parseNetworkPolicy, toNetworkJson } from "../../../src/domain/egress/policy.ts";
import { internalError } from "../../../src/domain/outcome.ts";
import { newExecution } from "../../../src/domain/sandboxes/execution.ts";
import { newSandbox, type Sandbox } from "../../../src/domain/sandboxes/sandbox.ts";
import type { Store } from "../../../src/store/store.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { addKey, onEachDatabase, START_MS } from "../../support/store/temporary.ts";
import { ACTOR, addEndpoint, addProject, deliveryBudget } from "../../support/webhooks/project.ts";

type Key = Awaited<ReturnType<typeof addKey>>;

const KIB = 1024;
const DAY_MS = 86_400_000;
const TODAY = new Date(START_MS).toISOString().slice(0, 10);

const allowing = (hosts: readonly string[], more: object = {}): NetworkPolicy =>
  parseNetworkPolicy({ allow: hosts.map((host) => ({ host, ports: [443] })), ...more });
const WIDE = allowing(["*.example.org", "api.example.com"], { bytes_up: 2 ** 30 });

function bound(policy: NetworkPolicy, perDay: Partial<NetworkBound> = {}): NetworkBound {
  return { policy, upPerDay: null, downPerDay: null, ...perDay };
}

function create(store: Store, key: Key, network: NetworkPolicy, projectId: string | null = null, worker = "here") {
  const sandbox = newSandbox(sandboxRequest({ network }), callerOf(key, projectId), worker, START_MS);
  return store.sandboxes
    .create({ sandbox, idempotency: null, leaseUntilMs: START_MS + 1_000, onlyKnown: false })
    .then((created) => ({ created, sandbox }));
}

async function running(
  store: Store,
  key: Key,
  network: NetworkPolicy,
  { projectId = null, worker = "here" }: { readonly projectId?: string | null; readonly worker?: string } = {},
): Promise<Sandbox> {
  const { created, sandbox } = await create(store, key, network, projectId, worker);
  assert.equal(created.kind, "created");
  const update = {
    state: "running",
    startedAtMs: START_MS,
    kept: { launcher: "l", sealed: Buffer.from("s") },
  } as const;
  const stored = await store.sandboxes.update(sandbox.id, worker, update);
  assert.ok(stored);
  return stored;
}

const networkOf = async (store: Store, { id, accountId }: Sandbox) => {
  const sandbox = await store.sandboxes.get(id, accountId);
  assert.ok(sandbox);
  return { version: sandbox.network.version, policy: toNetworkJson(sandbox.network.network) };
};

function egressOf(changes: Partial<EgressRecord> = {}): EgressRecord {
  return {
    policy_version: 1,
    bytes_up: 3,
    bytes_down: 4,
    budget_left: { up: 5, down: 6 },
    connections: [],
    more: [],
    denied: 0,
    refused_names: [{ name: "x".repeat(200), queries: 1 }],
    dns: { answered: 0, refused: 1 },
    complete: true,
    source: "inet_diag cgroup id",
    ...changes,
  };
}

const SANDBOX_EGRESS: SandboxEgressRecord = {
  policy_version: 2,
  bytes_up: 3,
  bytes_down: 4,
  budget_left: { up: 5, down: 6 },
  denied: 1,
  dns: { answered: 1, refused: 0 },
  complete: true,
  hosts: [{ name: "a.example.org", decision: "denied", connections: 1, bytes_up: 0, bytes_down: 0 }],
  unattributed: egressOf({ source: "sandbox" }),
};

onEachDatabase((open) => {
  test("racing leases of two workers never exceed the budget of a sandbox, or the day of an account or project", async (t) => {
    const { store, another } = await open(t);
    const other = await another();
    const project = await addProject(store);
    const { accountId } = project.key;
    const owner = { accountId, projectId: null };
    // 50.5 and 40.25 blocks: the last lease of each is a part of a block.
    const [ofAccount, ofProject] = [50.5 * 64 * KIB, 40.25 * 64 * KIB];
    await store.egress.setBound(owner, bound(WIDE, { upPerDay: ofAccount }), ACTOR);
    await store.egress.setBound({ accountId, projectId: project.id }, bound(WIDE, { upPerDay: ofProject }), ACTOR);
    const loose = await addKey(store, "loose", { account: "p" });
    const one = await running(
      store,
      project.key as Key,
      allowing(["api.example.com"], { bytes_up: 20 * 64 * KIB + 7 }),
      {
        projectId: project.id,
      },
    );
    const two = await running(store, project.key as Key, WIDE, { projectId: project.id, worker: "there" });
    const three = await running(store, loose, WIDE, { worker: "there" });
    const ask = async (sandbox: Sandbox, at: Store) => {
      const { bytes } = await at.egress.lease({
        sandboxId: sandbox.id,
        worker: sandbox.worker,
        direction: "up",
        wanted: 64 * KIB,
      });
      return { id: sandbox.id, bytes };
    };
    const asked = Array.from({ length: 64 }, (_, at) => (at % 2 === 0 ? ask(one, store) : ask(two, other)));
    const leases = await Promise.all(asked);
    const sum = (of: readonly { readonly bytes: number }[]) => of.reduce((total, { bytes }) => total + bytes, 0);
    const byOne = sum(leases.filter(({ id }) => id === one.id));
    const byTwo = sum(leases.filter(({ id }) => id === two.id));
    assert.ok(byOne <= 20 * 64 * KIB + 7);
    assert.equal(byOne + byTwo, ofProject);
    // The account has a little more, for sandboxes without the project.
    const rest = await Promise.all(Array.from({ length: 64 }, (_, at) => ask(three, at % 2 === 0 ? store : other)));
    assert.equal(sum(rest), ofAccount - ofProject);
    assert.equal((await ask(three, store)).bytes, 0);
    const left = await store.egress.leftToday(await store.egress.bound(accountId, project.id));
    assert.deepEqual(left, { day: TODAY, up: 0, down: null });
  });

  test("racing leases use exactly the budget of one sandbox", async (t) => {
    const { store, another } = await open(t);
    const other = await another();
    const key = await addKey(store, "one");
    await store.egress.setBound({ accountId: key.accountId, projectId: null }, bound(WIDE), ACTOR);
    const budget = 30 * 64 * KIB + 1;
    const { id: sandboxId } = await running(store, key, allowing(["api.example.com"], { bytes_down: budget }));
    const request = { sandboxId, worker: "here", direction: "down", wanted: 64 * KIB } as const;
    const leases = await Promise.all(
      Array.from({ length: 64 }, (_, at) => (at % 2 === 0 ? store : other).egress.lease(request)),
    );
    assert.equal(
      leases.reduce((total, { bytes }) => total + bytes, 0),
      budget,
    );
    // The other direction has its own budget.
    assert.equal((await store.egress.lease({ ...request, direction: "up", wanted: 5 })).bytes, 5);
  });

  test("unused bytes come back to the sandbox and to the day from which they were leased, and others count after a crash", async (t) => {
    const { store, clock } = await open(t);
    const key = await addKey(store, "one");
    const owner = { accountId: key.accountId, projectId: null };
    await store.egress.setBound(owner, bound(WIDE, { upPerDay: 150 }), ACTOR);
    const sandbox = await running(store, key, allowing(["api.example.com"], { bytes_up: 200 }));
    const request = { sandboxId: sandbox.id, worker: "here", direction: "up" } as const;
    const first = await store.egress.lease({ ...request, wanted: 100 });
    assert.deepEqual(first, { bytes: 100, day: TODAY });
    assert.equal((await store.egress.lease({ ...request, worker: "there", wanted: 1 })).bytes, 0);
    clock.nowMs += DAY_MS;
    const second = await store.egress.lease({ ...request, wanted: 1_000 });
    assert.equal(second.bytes, 100);
    await store.egress.giveBack({ sandboxId: sandbox.id, direction: "up", day: first.day, unused: 60 });
    // The new day has 150 - 100, and the sandbox 200 - 200 + 60.
    assert.equal((await store.egress.lease({ ...request, wanted: 1_000 })).bytes, 50);
    const taken = await store.sandboxes.takeOver({
      id: sandbox.id,
      from: "here",
      to: "there",
      leaseUntilMs: START_MS + 1_000,
    });
    assert.deepEqual(taken?.leased, { up: 190, down: 0 });
    assert.deepEqual(taken?.sandbox.network, sandbox.network);
    assert.equal((await store.egress.lease({ ...request, wanted: 10 })).bytes, 0, "of the worker that had it");
    await store.egress.setBound(owner, bound(WIDE), ACTOR);
    assert.equal((await store.egress.lease({ ...request, worker: "there", wanted: 100 })).bytes, 10);
    // More than was leased never comes back.
    await store.egress.giveBack({ sandboxId: sandbox.id, direction: "up", day: second.day, unused: 10_000 });
    assert.equal((await store.egress.lease({ ...request, worker: "there", wanted: 10_000 })).bytes, 200);
  });

  test("a sandbox is created only within the bounds of its account and project", async (t) => {
    const { store } = await open(t);
    const project = await addProject(store);
    const { accountId } = project.key;
    const key = project.key as Key;
    const stranger = await addKey(store, "stranger", { account: "stranger" });
    const wanted = allowing(["api.example.com"]);
    const refusal = async (policy: NetworkPolicy, projectId: string | null = project.id, by = key) => {
      const { created } = await create(store, by, policy, projectId);
      return created.kind === "network" ? created.reason : created.kind;
    };
    assert.match(await refusal(wanted), /no network is open/);
    await store.egress.setBound({ accountId, projectId: null }, bound(WIDE), ACTOR);
    assert.equal(await refusal(wanted), "created");
    const narrower = allowing(["*.example.org"], { bytes_up: 5 });
    await store.egress.setBound({ accountId, projectId: project.id }, bound(narrower), ACTOR);
    assert.match(await refusal(wanted), /port 443 of api\.example\.com/);
    assert.equal(await refusal(wanted, null), "created", "the bound of a project is not that of the account");
    assert.match(await refusal(allowing(["a.example.org"], { bytes_up: 6 })), /bytes_up .* 5/);
    assert.equal(await refusal(allowing(["a.example.org"], { bytes_up: 5 })), "created");
    // Neither the account nor a project of somebody else opens anything.
    assert.match(await refusal(wanted, null, stranger), /no network is open/);
    const { policy } = await store.egress.bound(stranger.accountId, project.id);
    assert.equal(policy, "none");
    assert.deepEqual(
      await store.egress.setBound({ accountId: stranger.accountId, projectId: project.id }, bound(WIDE), ACTOR),
      {
        kind: "unknown",
      },
    );
  });

  test("a sandbox with a network is only claimed by a process that knows it, and one without has none for good", async (t) => {
    const { store } = await open(t);
    const key = await addKey(store, "one");
    await store.egress.setBound({ accountId: key.accountId, projectId: null }, bound(WIDE), ACTOR);
    for (const network of [WIDE, "none"] as const)
      await store.sandboxes.create({
        sandbox: newSandbox(sandboxRequest({ network }), callerOf(key), "", START_MS),
        idempotency: null,
        leaseUntilMs: START_MS + 1_000,
        onlyKnown: false,
        service: "s",
      });
    const waiting = await store.sandboxes.waiting(["s"], "snapshots");
    assert.deepEqual(
      waiting.map(({ hasNetwork }) => hasNetwork),
      [true, false],
    );
    assert.equal((await store.sandboxes.waiting(["s"], "snapshots", 1)).length, 1);
    const without = await running(store, key, "none");
    assert.equal((await store.sandboxes.replaceNetwork(without.id, "here", WIDE)).kind, "without");
    assert.equal((await store.sandboxes.replaceNetwork(without.id, "here", "none")).kind, "replaced");
    assert.deepEqual(await networkOf(store, without), { version: 1, policy: "none" });
    assert.equal(
      (await store.egress.lease({ sandboxId: without.id, worker: "here", direction: "up", wanted: 1 })).bytes,
      0,
    );
  });

  test("a replaced policy has the next version, must be within the bounds, and can be none for a while", async (t) => {
    const { store } = await open(t);
    const key = await addKey(store, "one");
    await store.egress.setBound({ accountId: key.accountId, projectId: null }, bound(WIDE), ACTOR);
    const sandbox = await running(store, key, WIDE);
    const replace = (policy: NetworkPolicy, worker = "here") =>
      store.sandboxes.replaceNetwork(sandbox.id, worker, policy);
    const beyond = await replace(allowing(["evil.example.net"]));
    assert.equal(beyond.kind, "network");
    assert.equal((await replace(WIDE, "there")).kind, "lost");
    assert.equal((await replace("none")).kind, "replaced");
    assert.deepEqual(await networkOf(store, sandbox), { version: 2, policy: "none" });
    const again = allowing(["a.example.org"]);
    const replaced = await replace(again);
    assert.ok(replaced.kind === "replaced");
    assert.deepEqual(replaced.sandbox.network, { version: 3, network: again });
    const [renewed] = await store.sandboxes.renew("here", START_MS + 2_000);
    assert.equal(renewed?.networkVersion, 3);
    await store.sandboxes.end(sandbox.id, "here", { reason: "client", endedAtMs: START_MS + 1, evidence: null });
    assert.equal((await replace(WIDE)).kind, "lost");
  });

  test("a narrowed bound narrows living sandboxes of its owner in the same transaction, and the audit trail has it", async (t) => {
    const { store } = await open(t);
    const project = await addProject(store);
    const { accountId } = project.key;
    const key = project.key as Key;
    const stranger = await addKey(store, "stranger", { account: "stranger" });
    const ofAccount = { accountId, projectId: null };
    const ofProject = { accountId, projectId: project.id };
    await store.egress.setBound(ofAccount, bound(WIDE), ACTOR);
    await store.egress.setBound({ accountId: stranger.accountId, projectId: null }, bound(WIDE), ACTOR);
    const inside = await running(store, key, WIDE, { projectId: project.id });
    const beside = await running(store, key, allowing(["a.example.org"]));
    const foreign = await running(store, stranger, WIDE);
    const narrow = allowing(["b.example.org", "api.example.com"], { bytes_up: 9 });
    assert.deepEqual(await store.egress.setBound(ofProject, bound(narrow), ACTOR), { kind: "changed", narrowed: 1 });
    assert.deepEqual(await networkOf(store, inside), { version: 2, policy: toNetworkJson(narrow) });
    assert.equal((await networkOf(store, beside)).version, 1);
    // The bound of the project stays as it is, and that of the account holds as well.
    const account = allowing(["*.example.org"], { bytes_up: 2 ** 20 });
    assert.deepEqual(await store.egress.setBound(ofAccount, bound(account), ACTOR), { kind: "changed", narrowed: 1 });
    assert.deepEqual(await networkOf(store, inside), {
      version: 3,
      policy: toNetworkJson(allowing(["b.example.org"], { bytes_up: 9 })),
    });
    assert.equal((await networkOf(store, beside)).version, 1);
    const beyond = await store.egress.setBound(ofProject, bound(WIDE), ACTOR);
    assert.ok(beyond.kind === "beyond" && /api\.example\.com/.test(beyond.reason));
    const perDay = await store.egress.setBound(ofAccount, bound(account, { downPerDay: 10 }), ACTOR);
    assert.equal(perDay.kind, "changed");
    const beyondDay = await store.egress.setBound(ofProject, bound("none", { downPerDay: 11 }), ACTOR);
    assert.ok(beyondDay.kind === "beyond" && /bytes_down_per_day/.test(beyondDay.reason));
    // Without a bound, the account has no network.
    assert.deepEqual(await store.egress.clearBound(ofAccount, ACTOR), { kind: "changed", narrowed: 2 });
    assert.deepEqual(await networkOf(store, inside), { version: 4, policy: "none" });
    assert.deepEqual(await networkOf(store, beside), { version: 2, policy: "none" });
    assert.deepEqual(await networkOf(store, foreign), { version: 1, policy: toNetworkJson(WIDE) });
    assert.deepEqual(await store.egress.clearBound(ofAccount, ACTOR), { kind: "changed", narrowed: 0 });
    const trail = (await store.audit.list({ max: 100, accountIds: [accountId] })).filter(({ action }) =>
      action.startsWith("network."),
    );
    assert.deepEqual(
      trail.map(({ action, subject, detail }) => [action, subject, detail.version, detail.narrowed]),
      [
        ["network.clear", accountId, 3, 2],
        ["network.set", accountId, 3, 0],
        ["network.set", accountId, 2, 1],
        ["network.set", project.id, 1, 1],
        ["network.set", accountId, 1, 0],
      ],
    );
    assert.deepEqual(trail[3]?.detail.policy, toNetworkJson(narrow));
    assert.deepEqual(
      (await store.egress.bounds([accountId])).map(({ accountName, projectName }) => [accountName, projectName]),
      [["p", "p"]],
    );
    assert.deepEqual(await store.egress.bounds([]), []);
  });

  test("a sandbox that is created while a bound is narrowed is within it afterwards", async (t) => {
    const { store, another } = await open(t);
    const other = await another();
    const key = await addKey(store, "one");
    const owner = { accountId: key.accountId, projectId: null };
    const narrow = allowing(["a.example.org"], { bytes_up: 9 });
    await store.egress.setBound(owner, bound(WIDE), ACTOR);
    const created = Array.from({ length: 8 }, (_, at) => create(at % 2 === 0 ? store : other, key, WIDE));
    await other.egress.setBound(owner, bound(narrow), ACTOR);
    for (const { created: one, sandbox } of await Promise.all(created)) {
      if (one.kind === "network") continue;
      assert.deepEqual((await networkOf(store, sandbox)).policy, toNetworkJson(narrow));
    }
  });

  test("what an execution reached is part of its record, counts for what is kept, and is in no list or message", async (t) => {
    const { store, clock } = await open(t);
    const project = await addProject(store);
    await addEndpoint(store, project);
    const { accountId } = project.key;
    await store.egress.setBound({ accountId, projectId: null }, bound(WIDE), ACTOR);
    const sandbox = await running(store, project.key as Key, WIDE, { projectId: project.id });
    const execution = newExecution(sandbox, 1, shellRequest("curl", { background: true }), START_MS);
    assert.equal(await store.sandboxes.begin(execution, "here"), "begun");
    const egress = egressOf();
    await store.sandboxes.endExecution({
      execution: { ...execution, status: "error", completedAtMs: START_MS + 1, outcome: internalError("lost"), egress },
      drop: [],
    });
    assert.deepEqual((await store.sandboxes.execution(sandbox.id, accountId, 1))?.egress, egress);
    let admitted = 0;
    await store.sandboxes.execution(sandbox.id, accountId, 1, async (bytes) => {
      admitted = bytes;
    });
    assert.ok(admitted >= JSON.stringify(egress).length);
    const listed = await store.sandboxes.executions(sandbox.id, accountId, { max: 10 });
    assert.equal(listed?.executions[0]?.egress, null);
    const taken = await store.sandboxes.takeOver({ id: sandbox.id, from: "here", to: "t", leaseUntilMs: START_MS });
    assert.ok((taken?.executions[0]?.bytes ?? 0) >= JSON.stringify(egress).length);
    clock.nowMs += 10;
    const [claim] = await store.deliveries.claimDue({ ...deliveryBudget(9), leaseMs: 1_000 });
    assert.ok(claim);
    const message = await store.deliveries.message(claim);
    assert.ok(message && "body" in message);
    const { type, data } = JSON.parse(message.body.toString("utf8"));
    assert.equal(type, "execution.completed");
    assert.ok("result" in data && !("egress" in data));
  });

  test("what a sandbox reached is known after its end to its account alone, and is deleted with it", async (t) => {
    const { store } = await open(t);
    const key = await addKey(store, "one");
    const stranger = await addKey(store, "stranger", { account: "stranger" });
    await store.egress.setBound({ accountId: key.accountId, projectId: null }, bound(WIDE), ACTOR);
    const sandbox = await running(store, key, WIDE);
    assert.equal(await store.sandboxes.egress(sandbox.id, key.accountId), null);
    const end = { reason: "client", endedAtMs: START_MS + 1, evidence: null, egress: SANDBOX_EGRESS } as const;
    await store.sandboxes.end(sandbox.id, "here", end);
    assert.deepEqual(await store.sandboxes.egress(sandbox.id, key.accountId), SANDBOX_EGRESS);
    assert.equal(await store.sandboxes.egress(sandbox.id, stranger.accountId), null);
    await store.retention.purge(START_MS + 2, 100);
    assert.equal(await store.sandboxes.egress(sandbox.id, key.accountId), null);
  });

  test("the counts of hosts are sums, with at most 1,000 names for each project and day, and are read in pages", async (t) => {
    const { store, clock } = await open(t);
    const project = await addProject(store);
    const { accountId } = project.key;
    const host = (name: string | null, decision: EgressHost["decision"] = "denied"): EgressHost => ({
      name,
      decision,
      connections: 1,
      bytes_up: 2,
      bytes_down: 3,
    });
    const add = (hosts: readonly EgressHost[], projectId: string | null = project.id) =>
      store.egress.addHosts({ accountId, projectId, hosts });
    const all = async (more: Partial<Parameters<Store["egress"]["hosts"]>[0]> = {}) => {
      const which = { accountId, fromDay: "2000-01-01", toDay: "2100-01-01", max: 700, ...more };
      const found = await store.egress.hosts(which);
      for (let page = found; page.length === which.max; found.push(...page))
        page = await store.egress.hosts({ ...which, after: page.at(-1) });
      return found;
    };
    await add([host("a.example.org", "allowed"), host("a.example.org", "allowed"), host("a.example.org")]);
    await add([host("a.example.org", "allowed")]);
    await add([host("b.example.org")], null);
    assert.deepEqual(await all({ projectId: project.id }), [
      {
        day: TODAY,
        projectId: project.id,
        ...host("a.example.org", "allowed"),
        connections: 3,
        bytes_up: 6,
        bytes_down: 9,
      },
      { day: TODAY, projectId: project.id, ...host("a.example.org") },
    ]);
    assert.deepEqual(await all({ projectId: null }), [{ day: TODAY, projectId: null, ...host("b.example.org") }]);
    assert.equal((await all({ decision: "allowed" })).length, 1);
    // Programs choose the names of two days; those that no host can have are not listed.
    const many = Array.from({ length: 1_200 }, (_, at) => host(`n${at}.example.org`));
    await add([...many, host("a\0b"), host("x".repeat(254)), host(null, "allowed")]);
    const first = await all({ projectId: project.id });
    assert.equal(new Set(first.map(({ name }) => name)).size, 1_001);
    assert.equal(first.find(({ name, decision }) => name === null && decision === "denied")?.connections, 203);
    clock.nowMs += DAY_MS;
    await add(many.slice(0, 3));
    assert.equal((await all()).length, first.length + 1 + 3);
    assert.equal((await all({ toDay: TODAY })).length, first.length + 1);
    assert.notEqual((await all())[0]?.day, TODAY);
    const stranger = await addKey(store, "stranger", { account: "stranger" });
    assert.deepEqual(await all({ accountId: stranger.accountId }), []);
    // They expire with the history, and an erased account leaves none.
    await store.history.mergeAndExpire({ mergeBeforeMs: 0, deleteBeforeMs: START_MS + DAY_MS });
    assert.equal((await all()).length, 3);
    const beforeMs = await store.retention.beginErase(accountId, ACTOR);
    while ((await store.retention.erase(accountId, beforeMs, 2)) > 0);
    assert.deepEqual(await all(), []);
  });
});
