import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { internalError } from "../../../src/domain/outcome.ts";
import { type Execution, newExecution } from "../../../src/domain/sandboxes/execution.ts";
import {
  newSandbox,
  type Sandbox,
  type SandboxEvidence,
  type SandboxLimits,
  type SandboxRequest,
  type SandboxStorage,
  sandboxRequestHash,
} from "../../../src/domain/sandboxes/sandbox.ts";
import type { Store } from "../../../src/store/store.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { addKey, onEachDatabase, START_MS } from "../../support/store/temporary.ts";
import { ACTOR, addEndpoint, addProject, deliveryBudget } from "../../support/webhooks/project.ts";

type Key = Awaited<ReturnType<typeof addKey>>;

const MIB = 1_048_576;
const GIB = 1024 * MIB;
const EVIDENCE: SandboxEvidence = { controls: ["seccomp_filter"], controlsMissing: [], teardown: null };

interface Options extends Partial<SandboxRequest> {
  readonly worker?: string;
  readonly idempotencyKey?: string;
  readonly leaseUntilMs?: number;
  readonly onlyKnown?: boolean;
  readonly projectId?: string;
  /** A service that waits for a process that claims it. */
  readonly service?: string;
}

function create(store: Store, key: Key, options: Options = {}) {
  const {
    worker = "here",
    idempotencyKey,
    leaseUntilMs = START_MS + 1_000,
    onlyKnown = false,
    projectId,
    service,
    ...rest
  } = options;
  const request = sandboxRequest(rest);
  return store.sandboxes.create({
    sandbox: newSandbox(request, callerOf(key, projectId ?? null), worker, START_MS),
    idempotency:
      idempotencyKey === undefined ? null : { key: idempotencyKey, requestHash: sandboxRequestHash(request) },
    leaseUntilMs,
    onlyKnown,
    ...(service !== undefined && { service }),
  });
}

/** Creates a sandbox that runs. */
async function running(store: Store, key: Key, options: Options = {}): Promise<Sandbox> {
  const before = await ids(store, key);
  assert.equal((await create(store, key, options)).kind, "created");
  const [id = ""] = (await ids(store, key)).filter((one) => !before.includes(one));
  const sandbox = await store.sandboxes.update(id, options.worker ?? "here", {
    state: "running",
    startedAtMs: START_MS + 1,
    evidence: EVIDENCE,
  });
  assert.ok(sandbox);
  return sandbox;
}

async function ids(store: Store, key: Key): Promise<string[]> {
  return (await store.sandboxes.list(key.accountId, { max: 100 })).sandboxes.map(({ id }) => id);
}

function ended(execution: Execution, changes: Partial<Execution> = {}): Execution {
  const outcome = {
    ...internalError("lost"),
    output: { stdout: Buffer.from("out"), stderr: Buffer.from([0xff]), integrity: "complete" as const },
  };
  return { ...execution, status: "error", completedAtMs: START_MS + 5, outcome, processesLeft: 2, ...changes };
}

onEachDatabase((temporaryStore) => {
  test("a sandbox is read as it was stored, by its own account alone", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const other = await addKey(store, "two");
    const sandbox = await running(store, key, { metadata: { task: "build" }, idleSecs: 7 });
    assert.deepEqual(await store.sandboxes.get(sandbox.id, key.accountId), sandbox);
    assert.deepEqual(
      [sandbox.state, sandbox.metadata, sandbox.idleSecs, sandbox.startedAtMs, sandbox.evidence, sandbox.limits],
      ["running", { task: "build" }, 7, START_MS + 1, EVIDENCE, sandboxRequest().limits],
    );
    assert.equal(await store.sandboxes.get(sandbox.id, other.accountId), null);
    assert.equal(await store.sandboxes.executions(sandbox.id, other.accountId, { max: 5 }), null);
    assert.deepEqual((await store.sandboxes.list(other.accountId, { max: 5 })).sandboxes, []);
    assert.equal(await store.sandboxes.get("no-id", key.accountId), null);
  });

  test("an account gets as many sandboxes and as much memory as its tier permits, however many ask at once", async (t) => {
    const { store } = await temporaryStore(t);
    await store.tiers.set(
      { name: "beta", requestsPerMinute: 60, concurrency: 10, sandboxes: 3, sandboxMemoryBytes: 1024 * MIB },
      "test",
    );
    const key = await addKey(store, "one");
    const stranger = await addKey(store, "two");
    const small = { limits: { ...sandboxRequest().limits, memoryBytes: 64 * MIB } };
    const created = await Promise.all(Array.from({ length: 8 }, () => create(store, key, small)));
    assert.equal(created.filter(({ kind }) => kind === "created").length, 3);
    assert.deepEqual(
      created.find(({ kind }) => kind === "quota"),
      { kind: "quota", what: "sandboxes", most: 3 },
    );
    assert.equal((await create(store, stranger, small)).kind, "created");
    const [first = ""] = await ids(store, key);
    await store.sandboxes.end(first, "here", { reason: "client", endedAtMs: START_MS, evidence: null });
    const large = { limits: { ...sandboxRequest().limits, memoryBytes: 897 * MIB } };
    assert.deepEqual(await create(store, key, large), { kind: "quota", what: "memory", most: 1024 * MIB });
    const fits = { limits: { ...sandboxRequest().limits, memoryBytes: 896 * MIB } };
    const last = await create(store, key, fits);
    assert.deepEqual(last, {
      kind: "created",
      quota: { sandboxes: 3, memoryBytes: 1024 * MIB, diskBytes: 16_384 * MIB, executions: 16 },
    });
  });

  test("an account has as much of disks as its tier permits, and files in memory are none", async (t) => {
    const { store } = await temporaryStore(t);
    const tier = { name: "beta", requestsPerMinute: 60, concurrency: 10, sandboxDiskBytes: 5 * GIB };
    await store.tiers.set(tier, "test");
    const key = await addKey(store, "one");
    const on = (storage: SandboxStorage, diskBytes: number) => ({
      limits: { ...sandboxRequest().limits, storage, diskBytes },
    });
    const first = await running(store, key, on("disk", 4 * GIB));
    assert.deepEqual([first.limits.storage, first.limits.diskBytes], ["disk", 4 * GIB]);
    assert.deepEqual(await create(store, key, on("disk", 2 * GIB)), { kind: "quota", what: "disks", most: 5 * GIB });
    for (const fits of [on("disk", GIB), on("memory", 4 * GIB)])
      assert.equal((await create(store, key, fits)).kind, "created");
    await store.sandboxes.end(first.id, "here", { reason: "client", endedAtMs: START_MS, evidence: null });
    assert.equal((await create(store, key, on("disk", 4 * GIB))).kind, "created");
  });

  test("an idempotency key creates one sandbox, also while there is no room, and refuses another request", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const idempotencyKey = randomUUID();
    assert.deepEqual(await create(store, key, { idempotencyKey, onlyKnown: true }), { kind: "unknown" });
    const all = await Promise.all(Array.from({ length: 4 }, () => create(store, key, { idempotencyKey })));
    assert.deepEqual(all.map(({ kind }) => kind).sort(), ["created", "duplicate", "duplicate", "duplicate"]);
    const again = await create(store, key, { idempotencyKey, onlyKnown: true });
    assert.deepEqual(again.kind === "duplicate" && again.sandbox.id, (await ids(store, key))[0]);
    assert.deepEqual(await create(store, key, { idempotencyKey, idleSecs: 9 }), { kind: "conflict" });
    assert.equal((await create(store, await addKey(store, "two"), { idempotencyKey, idleSecs: 9 })).kind, "created");
  });

  test("a revoked key and a suspended account create no sandbox", async (t) => {
    const { store } = await temporaryStore(t);
    const [revoked, suspended] = [await addKey(store, "one"), await addKey(store, "two")];
    await store.keys.revoke(revoked.keyId, "test");
    await store.accounts.setSuspended(suspended.accountId, true, "test");
    assert.deepEqual(await create(store, revoked), { kind: "revoked" });
    assert.deepEqual(await create(store, suspended), { kind: "suspended" });
  });

  test("only the worker that has a sandbox changes it, and only until it has ended", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const { id } = await running(store, key);
    const end = { reason: "client", endedAtMs: START_MS + 9, evidence: { ...EVIDENCE, controls: ["all"] } } as const;
    assert.equal(await store.sandboxes.update(id, "elsewhere", { state: "paused" }), null);
    assert.equal(await store.sandboxes.end(id, "elsewhere", end), null);
    assert.equal((await store.sandboxes.update(id, "here", { state: "paused", lifetimeSecs: 99 }))?.lifetimeSecs, 99);
    const last = await store.sandboxes.end(id, "here", end);
    assert.deepEqual(
      [last?.state, last?.endReason, last?.endedAtMs, last?.evidence],
      ["ended", "client", START_MS + 9, end.evidence],
    );
    assert.equal(await store.sandboxes.update(id, "here", { state: "running" }), null);
    assert.equal(await store.sandboxes.end(id, "here", { ...end, reason: "idle" }), null);
    assert.deepEqual(await store.sandboxes.get(id, key.accountId), last);
  });

  test("executions are stored with their outcomes, and lists have them without outputs", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const sandbox = await running(store, key);
    const first = newExecution(sandbox, 1, shellRequest("ls", { cwd: "src", background: true }), START_MS + 2);
    const argv = { kind: "argv", argv: ["make", "all"] } as const;
    const second = newExecution(sandbox, 2, { ...shellRequest(""), ...argv }, START_MS + 3);
    const begun = await Promise.all([first, second].map((one) => store.sandboxes.begin(one, "here")));
    assert.deepEqual(begun, ["begun", "begun"]);
    assert.equal(await store.sandboxes.begin({ ...first, number: 3 }, "elsewhere"), "lost");
    assert.deepEqual(await store.sandboxes.execution(sandbox.id, key.accountId, 1), first);
    await store.sandboxes.endExecution({ execution: ended(second), drop: [] });
    assert.deepEqual(await store.sandboxes.execution(sandbox.id, key.accountId, 2), ended(second));
    const page = await store.sandboxes.executions(sandbox.id, key.accountId, { max: 1 });
    assert.deepEqual(
      page?.executions.map(({ number, outcome }) => [number, outcome?.output]),
      [[2, null]],
    );
    assert.equal(page?.next, 2);
    const rest = await store.sandboxes.executions(sandbox.id, key.accountId, { max: 1, before: 2 });
    assert.deepEqual(rest, { executions: [first], next: null });
    assert.equal(await store.sandboxes.execution(sandbox.id, (await addKey(store, "two")).accountId, 1), null);
  });

  test("nothing begins for a key that is revoked, has expired or never was, nor for a suspended account", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const [first, second] = [await addKey(store, "one"), await addKey(store, "two", { account: "one" })];
    const other = await addKey(store, "other");
    const sandbox = await running(store, first);
    let number = 0;
    const begin = (keyId: string | null, isAwaited: boolean) =>
      store.sandboxes.begin(newExecution(sandbox, ++number, shellRequest("ls"), START_MS), "here", {
        keyId,
        isAwaited,
      });
    for (const isAwaited of [true, false]) assert.equal(await begin(second.keyId, isAwaited), "begun");
    await store.sandboxes.confirm({ sandboxId: sandbox.id, number: 1 });
    for (const none of [randomUUID(), other.keyId]) assert.equal(await begin(none, true), "revoked");
    await store.keys.revoke(second.keyId, ACTOR);
    for (const isAwaited of [true, false]) assert.equal(await begin(second.keyId, isAwaited), "revoked");
    assert.equal(await begin(first.keyId, true), "begun");
    await store.keys.rotate(first.keyId, { id: randomUUID(), prefix: "p", hash: "h" }, 1_000, ACTOR);
    assert.equal(await begin(first.keyId, true), "begun");
    clock.nowMs += 1_001;
    assert.equal(await begin(first.keyId, true), "revoked");
    const third = await addKey(store, "three", { account: "one" });
    await store.accounts.setSuspended(first.accountId, true, ACTOR);
    assert.equal(await begin(third.keyId, true), "suspended");
    assert.equal(await begin(null, true), "begun");
    const page = await store.sandboxes.executions(sandbox.id, first.accountId, { max: 99 });
    assert.equal(page?.executions.length, 5);
  });

  test("an account runs as many executions as its tier permits, in all processes together, however many ask at once", async (t) => {
    const { store, another } = await temporaryStore(t);
    await store.tiers.set({ name: "beta", requestsPerMinute: 60, concurrency: 10, executions: 5 }, "test");
    const key = await addKey(store, "one");
    const stores = [store, await another()];
    const sandboxes = [await running(store, key), await running(store, key, { worker: "there" })];
    const stranger = await running(store, await addKey(store, "two"));
    const begin = (place: number, number: number) => {
      const sandbox = sandboxes[place % 2] as Sandbox;
      const execution = newExecution(sandbox, number, shellRequest("sleep 9"), START_MS);
      return (stores[place % 2] as Store).sandboxes.begin(execution, sandbox.worker, {
        keyId: key.keyId,
        isAwaited: number % 2 === 0,
      });
    };
    const asked = Array.from({ length: 20 }, (_, n) => ({ place: n, number: n + 1 }));
    const answers = await Promise.all(asked.map(({ place, number }) => begin(place, number)));
    const begun = asked.filter((_, at) => answers[at] === "begun");
    assert.deepEqual([begun.length, answers.filter((one) => one === "full").length], [5, 15]);
    const other = newExecution(stranger, 1, shellRequest("ls"), START_MS);
    assert.equal(await store.sandboxes.begin(other, stranger.worker), "begun", "another account has its own");
    // Each one that ends makes room for another one, and so does the end of a sandbox.
    const [first, ...rest] = begun;
    assert.ok(first);
    const sandbox = sandboxes[first.place % 2] as Sandbox;
    const execution = newExecution(sandbox, first.number, shellRequest("sleep 9"), START_MS);
    await store.sandboxes.endExecution({ execution: ended(execution), drop: [] });
    assert.deepEqual([await begin(1, 30), await begin(0, 31)], ["begun", "full"]);
    const left = rest.filter(({ place }) => place % 2 === 0).length;
    await store.sandboxes.end(sandboxes[1]?.id ?? "", "there", {
      reason: "client",
      endedAtMs: START_MS,
      evidence: null,
    });
    const more = await Promise.all(Array.from({ length: 6 }, (_, n) => begin(0, 40 + n)));
    assert.equal(more.filter((one) => one === "begun").length, 5 - left);
  });

  test("the output of an execution is read when memory for it is reserved, and not at all otherwise", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const sandbox = await running(store, key);
    const execution = newExecution(sandbox, 1, shellRequest("true"), START_MS + 2);
    await store.sandboxes.begin(execution, "here");
    const asked: number[] = [];
    const read = (admit: (bytes: number) => Promise<void>) =>
      store.sandboxes.execution(sandbox.id, key.accountId, 1, async (bytes) => {
        asked.push(bytes);
        await admit(bytes);
      });
    assert.equal((await read(async () => {}))?.status, "running");
    await store.sandboxes.endExecution({ execution: ended(execution), drop: [] });
    const found = await read(async () => {});
    assert.deepEqual([found?.outcome?.output?.stdout.toString(), found?.outcome?.output?.stderr.length], ["out", 1]);
    await assert.rejects(
      read(() => Promise.reject(new Error("no room"))),
      /no room/,
    );
    assert.deepEqual(asked, [4, 4]);
  });

  test("old executions of a sandbox are deleted, but none that runs", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const sandbox = await running(store, key);
    const all = [1, 2, 3, 4].map((number) => newExecution(sandbox, number, shellRequest("ls"), START_MS));
    for (const one of all) await store.sandboxes.begin(one, "here");
    for (const one of all.slice(1, 3)) await store.sandboxes.endExecution({ execution: ended(one), drop: [] });
    await store.sandboxes.endExecution({ execution: ended(all[3] as Execution), drop: [1, 2] });
    const left = await store.sandboxes.executions(sandbox.id, key.accountId, { max: 9 });
    assert.deepEqual(
      left?.executions.map(({ number }) => number),
      [4, 3, 1],
    );
  });

  test("the end of a sandbox ends executions that still ran as errors of the platform, once", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const sandbox = await running(store, key);
    const execution = newExecution(sandbox, 1, shellRequest("sleep 9"), START_MS);
    await store.sandboxes.begin(execution, "here");
    await store.sandboxes.end(sandbox.id, "here", { reason: "lifetime", endedAtMs: START_MS + 7, evidence: null });
    const lost = await store.sandboxes.execution(sandbox.id, key.accountId, 1);
    assert.deepEqual([lost?.status, lost?.outcome?.result.verdict, lost?.completedAtMs], ["error", "IE", START_MS + 7]);
    await store.sandboxes.endExecution({ execution: ended(execution), drop: [] });
    assert.deepEqual(await store.sandboxes.execution(sandbox.id, key.accountId, 1), lost);
    assert.equal(await store.sandboxes.begin({ ...execution, number: 2 }, "here"), "lost");
  });

  test("a sandbox whose lease expired ends as lost, and its worker learns that at the next renewal", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const lost = await running(store, key, { worker: "dead" });
    const kept = await running(store, key);
    clock.nowMs += 900;
    const [renewed, ...others] = await store.sandboxes.renew("here", clock.nowMs + 1_000);
    assert.deepEqual([renewed?.id, renewed?.isSuspended, others], [kept.id, false, []]);
    assert.deepEqual(await store.sandboxes.sweep(null), []);
    clock.nowMs += 200;
    await store.accounts.setSuspended(key.accountId, true, "test");
    assert.deepEqual([await store.sandboxes.sweep(null), await store.sandboxes.sweep(null)], [["worker_lost"], []]);
    assert.deepEqual((await store.sandboxes.get(lost.id, key.accountId))?.endReason, "worker_lost");
    assert.deepEqual(await store.sandboxes.renew("dead", clock.nowMs + 1_000), []);
    assert.equal((await store.sandboxes.renew("here", clock.nowMs + 1_000))[0]?.isSuspended, true);
    assert.deepEqual(await store.sandboxes.sweep("another"), ["worker_lost"]);
    assert.equal((await store.sandboxes.get(kept.id, key.accountId))?.endReason, "worker_lost");
  });

  test("a process claims and takes over no sandbox that asks for what it does not know", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const waiting = { worker: "", service: "service" };
    const onDisk: SandboxLimits = { ...sandboxRequest().limits, storage: "disk", diskBytes: GIB };
    assert.equal((await create(store, key, waiting)).kind, "created");
    assert.equal((await create(store, key, { ...waiting, limits: onDisk })).kind, "created");
    const [withDisk = "", plain = ""] = await ids(store, key); // newest first
    const claimable = async (features?: number) =>
      (await store.sandboxes.waiting(["service"], "snapshots", features)).map(({ id }) => id);
    assert.deepEqual([await claimable(0), await claimable()], [[plain], [plain, withDisk]]);
    const claim = (id: string, features?: number) =>
      store.sandboxes.claim(id, "here", clock.nowMs + 1_000, features).then((claimed) => claimed?.sandbox.id ?? null);
    assert.deepEqual([await claim(withDisk, 0), await claim(plain, 0), await claim(withDisk)], [null, plain, withDisk]);
    const kept = { launcher: "l", sealed: Buffer.from([1]) };
    for (const id of [plain, withDisk]) await store.sandboxes.update(id, "here", { state: "running", kept });
    const left = async (features?: number) =>
      (await store.sandboxes.left("l", "next", features)).map(({ sandbox }) => sandbox.id);
    assert.deepEqual([await left(0), await left()], [[plain], [plain, withDisk]]);
  });

  test("a kept sandbox goes to one worker alone, which learns of its executions; those that ran end", async (t) => {
    const { store, clock, another } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const sandbox = await running(store, key, { worker: "dead" });
    const other = await running(store, key, { worker: "dead" });
    const sealed = Buffer.from([1, 2, 3]);
    await store.sandboxes.update(sandbox.id, "dead", { kept: { launcher: "l", sealed } });
    await store.sandboxes.update(other.id, "dead", { kept: { launcher: "another", sealed } });
    for (const number of [1, 2, 3]) {
      const execution = newExecution(sandbox, number, shellRequest("true", { background: number === 3 }), START_MS);
      await store.sandboxes.begin(execution, "dead");
      if (number === 2) await store.sandboxes.endExecution({ execution: ended(execution), drop: [] });
    }
    assert.deepEqual(await store.sandboxes.left("l", "dead"), []);
    const [left, ...more] = await store.sandboxes.left("l", "here");
    assert.deepEqual([left?.sandbox.id, left?.sealed, more], [sandbox.id, sealed, []]);

    const takeover = (to: string) => ({ id: sandbox.id, from: "dead", to, leaseUntilMs: START_MS + 9_000 });
    const stores = [store, await another()];
    const taken = await Promise.all(["here", "there"].map((to, at) => stores[at]?.sandboxes.takeOver(takeover(to))));
    assert.equal(taken.filter((one) => one === null).length, 1);
    const winner = taken.find((one) => one);
    assert.deepEqual(winner?.executions.map(({ number }) => number).sort(), [1, 2, 3]);
    assert.ok(winner?.executions.every(({ bytes }) => bytes > 20));
    assert.equal(winner?.quota.executions, 16);
    for (const number of [1, 3]) {
      const execution = await store.sandboxes.execution(sandbox.id, key.accountId, number);
      assert.deepEqual([execution?.status, execution?.outcome?.result.verdict], ["error", "IE"]);
      assert.match(execution?.outcome?.result.errorMessage ?? "", /service was restarted/);
    }
    // What the former worker still stores does not count.
    const late = newExecution(sandbox, 1, shellRequest("true"), START_MS);
    await store.sandboxes.endExecution({ execution: ended(late, { status: "completed" }), drop: [] });
    assert.equal((await store.sandboxes.execution(sandbox.id, key.accountId, 1))?.status, "error");
    assert.equal(await store.sandboxes.update(sandbox.id, "dead", { idleSecs: 5 }), null);
    assert.equal(await store.sandboxes.begin({ ...late, number: 4 }, "dead"), "lost");
    clock.nowMs += 5_000;
    await store.sandboxes.sweep(null);
    assert.equal((await store.sandboxes.get(sandbox.id, key.accountId))?.state, "running", "it has a lease");
    assert.equal((await store.sandboxes.get(other.id, key.accountId))?.endReason, "worker_lost");
  });

  test("a sandbox that was left to its launcher ends as shut down, if nobody takes it over in time", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const [left, lost] = [await running(store, key), await running(store, key)];
    await store.sandboxes.update(left.id, "here", { kept: { launcher: "l", sealed: Buffer.from([1]) } });
    await store.sandboxes.leave("here", clock.nowMs + 60_000);
    clock.nowMs += 30_000;
    assert.deepEqual(await store.sandboxes.sweep(null), ["worker_lost"], "the other one was not kept");
    clock.nowMs += 31_000;
    assert.deepEqual([await store.sandboxes.sweep(null), await store.sandboxes.sweep(null)], [["shutdown"], []]);
    const reasons = await Promise.all([left, lost].map(({ id }) => store.sandboxes.get(id, key.accountId)));
    assert.deepEqual(
      reasons.map((one) => one?.endReason),
      ["shutdown", "worker_lost"],
    );
    assert.deepEqual(await store.sandboxes.left("l", "there"), [], "an ended sandbox has no secret");
  });

  test("a list is newest first, in pages, by state and metadata", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const made: string[] = [];
    for (let n = 0; n < 5; n++) made.unshift((await running(store, key, { metadata: { parity: String(n % 2) } })).id);
    await store.sandboxes.update(made[1] ?? "", "here", { state: "paused" });
    const listed: string[] = [];
    for (let before: number | undefined; ; ) {
      const page = await store.sandboxes.list(key.accountId, { max: 2, before });
      listed.push(...page.sandboxes.map(({ id }) => id));
      if (page.next === null) break;
      before = page.next;
    }
    assert.deepEqual(listed, made);
    const odd = await store.sandboxes.list(key.accountId, { max: 9, metadata: { parity: "1" } });
    assert.deepEqual(
      odd.sandboxes.map(({ id }) => id),
      [made[1], made[3]],
    );
    const paused = await store.sandboxes.list(key.accountId, { max: 9, state: "paused", metadata: { parity: "1" } });
    assert.deepEqual(
      paused.sandboxes.map(({ id }) => id),
      [made[1]],
    );
    assert.deepEqual((await store.sandboxes.list(key.accountId, { max: 9, metadata: { other: "1" } })).sandboxes, []);
  });

  test("a purge deletes ended sandboxes with their executions, in parts, and nothing that lives", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const [old, young, alive] = [await running(store, key), await running(store, key), await running(store, key)];
    for (let number = 1; number <= 5; number++) {
      const one = newExecution(old, number, shellRequest("ls"), START_MS);
      await store.sandboxes.begin(one, "here");
      await store.sandboxes.endExecution({ execution: ended(one), drop: [] });
    }
    await store.sandboxes.end(old.id, "here", { reason: "client", endedAtMs: START_MS + 10, evidence: null });
    await store.sandboxes.end(young.id, "here", { reason: "client", endedAtMs: START_MS + 20, evidence: null });
    const steps: number[] = [];
    for (let deleted = 9; deleted > 0; ) {
      deleted = await store.retention.purge(START_MS + 10, 2);
      steps.push(deleted);
    }
    assert.deepEqual(steps, [2, 2, 2, 0]);
    assert.deepEqual(await ids(store, key), [alive.id, young.id]);
    assert.equal(await store.retention.erase(key.accountId, START_MS + 20, 9), 1);
    assert.deepEqual([await ids(store, key), await store.retention.unended(key.accountId)], [[alive.id], 1]);
  });

  test("the end of a sandbox, and of each execution that no client waits for, reaches the endpoints of the project once", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const project = await addProject(store);
    const { id: endpointId } = await addEndpoint(store, project);
    const key = { ...project.key, hash: "" };
    const sandbox = await running(store, key, { projectId: project.id });
    for (const [number, background] of [
      [1, false],
      [2, true],
    ] as const) {
      const one = newExecution(sandbox, number, shellRequest("x", { background }), START_MS);
      await store.sandboxes.begin(one, "here");
      await store.sandboxes.endExecution({ execution: ended(one), drop: [] });
    }
    const begin = async (number: number) => {
      const one = newExecution(sandbox, number, shellRequest("x"), START_MS);
      await store.sandboxes.begin(one, "here", { keyId: null, isAwaited: true });
      return one;
    };
    const before = await begin(3);
    await store.sandboxes.confirm(before);
    await store.sandboxes.endExecution({ execution: ended(before), drop: [] });
    const late = await begin(4);
    await store.sandboxes.endExecution({ execution: ended(late), drop: [] });
    const together = await begin(5);
    await Promise.all([
      store.sandboxes.confirm(together),
      store.sandboxes.endExecution({ execution: ended(together), drop: [] }),
    ]);
    for (const one of [late, late, before]) await store.sandboxes.confirm(one);
    await store.sandboxes.confirm(await begin(6));
    await begin(7);
    assert.deepEqual(await store.sandboxes.execution(sandbox.id, sandbox.accountId, 4), ended(late));
    await store.sandboxes.end(sandbox.id, "here", { reason: "idle", endedAtMs: START_MS + 9, evidence: null });
    clock.nowMs += 10;
    const claims = await store.deliveries.claimDue({ ...deliveryBudget(99), leaseMs: 1_000 });
    const bodies = await Promise.all(
      claims.map(async (claim) => {
        const message = await store.deliveries.message(claim);
        assert.ok(message && "body" in message);
        return { claim, body: JSON.parse(message.body.toString("utf8")) };
      }),
    );
    bodies.sort(({ body: one }, { body: other }) => (one.data.number ?? 99) - (other.data.number ?? 99));
    assert.deepEqual(
      bodies.map(({ claim, body }) => [claim.endpoint.id, claim.messageId, claim.kind, body.type]),
      [
        ...[2, 3, 4, 5, 6].map((number) => [endpointId, `${sandbox.id}.${number}`, "result", "execution.completed"]),
        [endpointId, sandbox.id, "result", "sandbox.ended"],
      ],
    );
    const [execution, end] = [bodies[0]?.body, bodies.at(-1)?.body];
    assert.deepEqual(
      bodies.slice(0, -1).map(({ body: { data } }) => [data.number, data.processes_left]),
      [
        [2, 2],
        [3, 2],
        [4, 2],
        [5, 2],
        [6, null],
      ],
    );
    assert.deepEqual(
      [execution.data.number, execution.data.result.verdict, "output" in execution.data],
      [2, "IE", false],
    );
    assert.deepEqual([end.data.id, end.data.end_reason], [sandbox.id, "idle"]);
  });
});
