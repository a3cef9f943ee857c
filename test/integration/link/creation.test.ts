import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { NO_METER } from "../../../src/domain/meter.ts";
import { newSandbox, type SandboxRefusalCode, SandboxRefused } from "../../../src/domain/sandboxes/sandbox.ts";
import { newSnapshot } from "../../../src/domain/sandboxes/snapshot.ts";
import type { Link } from "../../../src/link/link.ts";
import type { Store } from "../../../src/store/store.ts";
import { SandboxClaims } from "../../../src/worker/sandboxes/claims.ts";
import type { SandboxKeeperOptions } from "../../../src/worker/sandboxes/keeper.ts";
import { SandboxSweeper } from "../../../src/worker/sandboxes/sweeper.ts";
import {
  DIRECTIONS,
  type LinkDirection,
  SILENT,
  sharedDatabase,
  startServiceLink,
  startWorkerLink,
  untilLinked,
} from "../../support/link/linked.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { newKeeper, outputOf, untilOutput } from "../../support/sandboxes/keeper.ts";
import { type Io, MemoryEngine } from "../../support/sandboxes/memory-engine.ts";
import { addKey } from "../../support/store/temporary.ts";

const MIB = 1_048_576;

/** Programs by the shell command that starts them. */
async function program({ step, write, read }: Io) {
  const command = step.command.at(-1);
  if (command === "env") void write(`${step.env.SECRET}`);
  else if (command === "cat") for (let input = await read(); input; input = await read()) void write(input.toString());
  else if (command === "sleep") {
    void write("ready");
    await new Promise<never>(() => {});
  }
  return {};
}

const refused =
  (code: SandboxRefusalCode, details: object = {}) =>
  (error: unknown) => {
    assert.ok(error instanceof SandboxRefused, String(error));
    assert.deepEqual([error.code, error.details], [code, details]);
    return true;
  };

/** A process that has sandboxes in memory, and claims them. */
async function startWorker(
  t: TestContext,
  store: Store,
  {
    id,
    direction = "dialled",
    leaseMs = 60_000,
    ...options
  }: Partial<Omit<SandboxKeeperOptions, "store" | "engine">> & {
    readonly id: string;
    readonly direction?: LinkDirection;
  },
) {
  const engine = new MemoryEngine(program);
  const keeper = newKeeper({ engine, store, worker: id, leaseMs, ...options });
  const link = await startWorkerLink(t, direction, { store, id, host: keeper, leaseMs });
  const services = { current: () => link.services, onChange: (listener: () => void) => link.onChange(listener) };
  const claims = new SandboxClaims({ store, keeper, services, log: SILENT });
  let isStopped = false;
  const stop = async () => {
    if (isStopped) return;
    isStopped = true;
    await claims.stop();
    await keeper.stop();
  };
  t.after(stop);
  return { id, engine, keeper, link, claims, stop };
}

/** Resolves when both can ask and be asked: a worker claims only for services that can ask it. */
async function untilBoth(service: Link, ...workers: readonly { readonly link: Link }[]): Promise<void> {
  await untilLinked(service, () => service.hosts.length === workers.length);
  for (const { link } of workers) await untilLinked(link, () => link.services.includes(service.id));
}

for (const direction of DIRECTIONS)
  test(`a sandbox is made by a process that is ${direction}, and gets its variables, which are not stored`, async (t) => {
    const { store, another } = await sharedDatabase(t);
    const key = await addKey(store, "one");
    const worker = await startWorker(t, await another(), { id: "worker", direction });
    const { link, sandboxes } = await startServiceLink(t, direction, { store });
    await untilBoth(link, worker);
    assert.deepEqual(sandboxes.capacity, { sandboxes: 8, memoryBytes: 2 ** 33, cpus: 2, diskBytes: 0, network: false });
    const created = await sandboxes.create(sandboxRequest({ env: { SECRET: "hidden" } }), callerOf(key), "first");
    assert.deepEqual([created.state, created.worker], ["running", "worker"]);
    const handle = await sandboxes.find(created.id, key.accountId);
    assert.equal((await outputOf(await handle.execute(shellRequest("env")))).stdout, "hidden");
    let backup = "";
    await store.backup(async (line) => {
      backup += line;
    });
    assert.ok(backup.includes(created.id) && !backup.includes("hidden"));
    const again = await sandboxes.create(sandboxRequest({ env: { SECRET: "hidden" } }), callerOf(key), "first");
    assert.equal(again.id, created.id);
    await assert.rejects(sandboxes.create(sandboxRequest(), callerOf(key), "first"), refused("idempotencyConflict"));
    assert.equal(worker.engine.boxes.length, 1);
  });

test("without any process that has sandboxes, there are none", async (t) => {
  const { store } = await sharedDatabase(t);
  const key = await addKey(store, "one");
  const { sandboxes } = await startServiceLink(t, "dialled", { store });
  assert.equal(sandboxes.capacity, null);
  await assert.rejects(sandboxes.create(sandboxRequest(), callerOf(key), null), refused("sandboxesOff"));
});

test("a request that no process has room for ends with its row, and its idempotency key may be used again", async (t) => {
  const { store, another } = await sharedDatabase(t);
  const key = await addKey(store, "one");
  const worker = await startWorker(t, await another(), {
    id: "worker",
    capacity: { sandboxes: 1, memoryBytes: 4096 * MIB, cpus: 2, diskBytes: 0, network: false },
  });
  const { link, sandboxes } = await startServiceLink(t, "dialled", { store, waitMs: 300 });
  await untilBoth(link, worker);
  const first = await sandboxes.create(sandboxRequest(), callerOf(key), null);
  const asked = { metadata: { n: "2" } };
  await assert.rejects(sandboxes.create(sandboxRequest(asked), callerOf(key), "second"), refused("sandboxesFull"));
  const rows = await store.sandboxes.list(key.accountId, { max: 10 });
  assert.deepEqual(
    rows.sandboxes.map(({ state, endReason, worker }) => [state, endReason, worker]),
    [
      ["ended", "failed", ""],
      ["running", null, "worker"],
    ],
  );
  await (await sandboxes.find(first.id, key.accountId)).end();
  const second = await sandboxes.create(sandboxRequest(asked), callerOf(key), "second");
  assert.equal(second.state, "running");
});

test("a sandbox that waits is claimed when there is room, first for the account with fewest", async (t) => {
  const { store, another } = await sharedDatabase(t);
  const [one, two, three] = [await addKey(store, "one"), await addKey(store, "two"), await addKey(store, "three")];
  const worker = await startWorker(t, await another(), {
    id: "worker",
    capacity: { sandboxes: 2, memoryBytes: 4096 * MIB, cpus: 2, diskBytes: 0, network: false },
  });
  const { link, sandboxes } = await startServiceLink(t, "dialled", { store });
  await untilBoth(link, worker);
  const create = (key: typeof one) => sandboxes.create(sandboxRequest(), callerOf(key), null);
  const end = async (id: string, { accountId }: typeof one) => (await sandboxes.find(id, accountId)).end();
  const held = [await create(one), await create(three)] as const;
  const order: string[] = [];
  const ask = async (key: typeof one) => {
    const created = create(key).then((sandbox) => {
      order.push(sandbox.accountId);
      return sandbox;
    });
    while ((await store.sandboxes.list(key.accountId, { max: 10, state: "creating" })).sandboxes.length === 0)
      await sleep(10);
    return { created };
  };
  const second = await ask(one);
  const first = await ask(two);
  assert.deepEqual(
    (await store.sandboxes.waiting(["service"], "none")).map(({ accountId }) => accountId),
    [two.accountId, one.accountId],
  );
  await end(held[1].id, three);
  assert.equal((await first.created).accountId, two.accountId);
  await end(held[0].id, one);
  await second.created;
  assert.deepEqual(order, [two.accountId, one.accountId]);
});

test("several processes claim each sandbox once", async (t) => {
  const { store, another } = await sharedDatabase(t);
  const key = await addKey(store, "one");
  const workers = [
    await startWorker(t, await another(), { id: "w1" }),
    await startWorker(t, await another(), { id: "w2", direction: "dialled" }),
  ];
  const { link, sandboxes } = await startServiceLink(t, "dialled", { store });
  await untilBoth(link, ...workers);
  const created = await Promise.all(
    Array.from({ length: 8 }, () => sandboxes.create(sandboxRequest(), callerOf(key), null)),
  );
  assert.equal(new Set(created.map(({ id }) => id)).size, 8);
  for (const { id, worker } of created) {
    const handle = await sandboxes.find(id, key.accountId);
    assert.deepEqual([handle.sandbox.state, handle.sandbox.worker], ["running", worker]);
  }
  assert.equal(
    workers.reduce((sum, { engine }) => sum + engine.boxes.length, 0),
    8,
  );
});

test("a box that cannot be made ends the sandbox, and the request gets the reason", async (t) => {
  const { store, another } = await sharedDatabase(t);
  const key = await addKey(store, "one");
  const worker = await startWorker(t, await another(), { id: "worker" });
  const { link, sandboxes } = await startServiceLink(t, "dialled", { store });
  await untilBoth(link, worker);
  worker.engine.most = 0;
  await assert.rejects(sandboxes.create(sandboxRequest(), callerOf(key), "k"), refused("sandboxesFull"));
  worker.engine.most = 1;
  assert.equal((await sandboxes.create(sandboxRequest(), callerOf(key), "k")).state, "running");
});

test("a service that has no room itself asks others, and takes what waits when it has room again", async (t) => {
  const { store, another } = await sharedDatabase(t);
  const key = await addKey(store, "one");
  const workerStore = await another();
  const worker = await startWorker(t, workerStore, {
    id: "worker",
    capacity: { sandboxes: 1, memoryBytes: 4096 * MIB, cpus: 2, diskBytes: 0, network: false },
  });
  const engine = new MemoryEngine(program);
  const keeper = newKeeper({
    engine,
    store,
    worker: "service",
    capacity: { sandboxes: 1, memoryBytes: 4096 * MIB, cpus: 2, diskBytes: 0, network: false },
  });
  t.after(() => keeper.stop());
  const { link, sandboxes } = await startServiceLink(t, "dialled", {
    store,
    local: keeper,
    host: keeper,
    capacity: keeper.capacity,
  });
  const services = { current: () => ["service"], onChange: () => () => {} };
  const claims = new SandboxClaims({ store, keeper, services, log: SILENT });
  t.after(() => claims.stop());
  await untilBoth(link, worker);
  const create = () => sandboxes.create(sandboxRequest(), callerOf(key), null);
  const [first, second] = [await create(), await create()];
  assert.deepEqual([first.worker, second.worker], ["service", "worker"]);
  const third = create();
  while ((await store.sandboxes.list(key.accountId, { max: 10, state: "creating" })).sandboxes.length === 0)
    await sleep(10);
  await (await sandboxes.find(first.id, key.accountId)).end();
  assert.equal((await third).worker, "service");
});

test("a process that is lost ends its executions as failures of the platform, and all who wait learn it", async (t) => {
  const { store, another } = await sharedDatabase(t);
  const leaseMs = 1_500;
  const key = await addKey(store, "one");
  const worker = await startWorker(t, await another(), { id: "worker", leaseMs: 3_600_000 });
  const { link, sandboxes } = await startServiceLink(t, "dialled", { store });
  await untilBoth(link, worker);
  const { id } = await sandboxes.create(sandboxRequest(), callerOf(key), null);
  const handle = await sandboxes.find(id, key.accountId);
  const running = await handle.execute(shellRequest("sleep"));
  await untilOutput(running, "ready");
  const follower = running.follow({ stdout: 0, stderr: 0 }, new AbortController().signal)[Symbol.asyncIterator]();
  const output = (await follower.next()).value;
  const ended = running.ended;
  await worker.link.stop();
  await assert.rejects(handle.execute(shellRequest("sleep")), refused("sandboxUnreachable"));
  await assert.rejects(sandboxes.find(id, key.accountId), refused("sandboxUnreachable"));
  await assert.rejects(running.signal("SIGTERM"), refused("sandboxUnreachable"));
  // As the end of its lease would.
  await store.sandboxes.sweep("nobody");
  const sweeper = await SandboxSweeper.start({ store, leaseMs, worker: "none", log: SILENT, meter: NO_METER });
  t.after(() => sweeper.stop());
  const lost = await ended;
  assert.deepEqual([lost.status, lost.outcome?.result.verdict, lost.outcome?.result.actor], ["error", "IE", "judge"]);
  assert.deepEqual(output, { type: "output", stream: "stdout", at: 0, bytes: Buffer.from("ready") });
  assert.deepEqual((await follower.next()).value, { type: "end", execution: lost });
  await assert.rejects(sandboxes.find(id, key.accountId), refused("sandboxEnded", { reason: "worker_lost" }));
});

test("the row of a service that is lost while it waits ends, and no process makes its box", async (t) => {
  const { store, another, clock } = await sharedDatabase(t);
  const key = await addKey(store, "one");
  const { sandboxes: rows } = store;
  const waiting = newSandbox(sandboxRequest(), callerOf(key), "", Date.now());
  await rows.create({
    sandbox: waiting,
    idempotency: null,
    leaseUntilMs: clock.nowMs - 1,
    onlyKnown: false,
    service: "gone",
  });
  const worker = await startWorker(t, await another(), { id: "worker" });
  const { link } = await startServiceLink(t, "dialled", { store });
  await untilBoth(link, worker);
  assert.deepEqual(await rows.sweep(null), ["failed"]);
  const ended = await rows.get(waiting.id, key.accountId);
  assert.deepEqual([ended?.endReason, ended?.worker, worker.engine.boxes.length], ["failed", "", 0]);
  assert.equal(await rows.claim(waiting.id, "worker", Date.now() + 60_000), null);
});

test("a restart of the process that has a sandbox moves it, and services find it again without an end in between", async (t) => {
  const { store, another } = await sharedDatabase(t);
  const key = await addKey(store, "one");
  const workerStore = await another();
  const first = await startWorker(t, workerStore, { id: "first", leaves: true });
  const { link, sandboxes } = await startServiceLink(t, "dialled", { store });
  await untilBoth(link, first);
  const { id } = await sandboxes.create(sandboxRequest({ env: { SECRET: "kept" } }), callerOf(key), null);
  const handle = await sandboxes.find(id, key.accountId);
  const running = await handle.execute(shellRequest("sleep"));
  await untilOutput(running, "ready");
  const ended = running.ended;

  await first.stop();
  await assert.rejects(handle.execute(shellRequest("env")), refused("sandboxMoving"));
  await first.link.stop();
  await assert.rejects(sandboxes.find(id, key.accountId), refused("sandboxUnreachable"));
  await assert.rejects(handle.execute(shellRequest("env")), refused("sandboxUnreachable"));

  const keeper = newKeeper({ engine: first.engine, store: workerStore, worker: "second" });
  t.after(() => keeper.stop());
  await keeper.takeOver();
  const lost = await ended;
  assert.deepEqual([lost.status, lost.outcome?.result.verdict], ["error", "IE"]);
  // The row names a process to which there is no link yet.
  await assert.rejects(sandboxes.find(id, key.accountId), refused("sandboxUnreachable"));
  await startWorkerLink(t, "dialled", { store: workerStore, id: "second", host: keeper });
  await untilLinked(link, () => link.hosts.some((one) => one.id === "second"));
  const moved = await sandboxes.find(id, key.accountId);
  assert.deepEqual([moved.sandbox.worker, moved.sandbox.state], ["second", "running"]);
  assert.equal((await outputOf(await moved.execute(shellRequest("env")))).stdout, "kept");
  assert.equal(first.engine.boxes.length, 1);
});

test("a place that is remembered and wrong is read again once, also if the process there still answers", async (t) => {
  const { store, another } = await sharedDatabase(t);
  const key = await addKey(store, "one");
  const workerStore = await another();
  const first = await startWorker(t, workerStore, { id: "first" });
  const { link, sandboxes } = await startServiceLink(t, "dialled", { store });
  await untilBoth(link, first);
  const { id } = await sandboxes.create(sandboxRequest(), callerOf(key), null);
  const second = newKeeper({ engine: first.engine, store: workerStore, worker: "second" });
  t.after(() => second.stop());
  await second.takeOver();
  await startWorkerLink(t, "dialled", { store: workerStore, id: "second", host: second });
  await untilLinked(link, () => link.hosts.length === 2);
  // The first process hears that it has lost the box.
  while ((await sandboxes.find(id, key.accountId).catch(() => null))?.sandbox.worker !== "second") await sleep(10);
  assert.equal((await sandboxes.find(id, key.accountId)).sandbox.state, "running");
});

test("a sandbox that begins with a snapshot waits only for the machine that has it, and one with many CPUs for one that may", async (t) => {
  const { store, another } = await sharedDatabase(t);
  const key = await addKey(store, "one");
  const worker = await startWorker(t, await another(), { id: "worker" });
  const { link, sandboxes } = await startServiceLink(t, "dialled", { store, waitMs: 300 });
  await untilBoth(link, worker);
  const made = await sandboxes.create(sandboxRequest(), callerOf(key), null);
  const snapshotAt = async (storeId: string) => {
    const snapshot = newSnapshot(made, { name: null, keyId: key.keyId, storeId }, Date.now());
    await store.snapshots.begin({ snapshot, leastBytes: 1, untilMs: Date.now() + 60_000 }, true);
    await store.snapshots.complete(snapshot, { bytes: 1, files: 0, sha256: "0".repeat(64) });
    return snapshot.id;
  };
  const [near, far] = [await snapshotAt("memory"), await snapshotAt("far")];
  const create = (changes: Parameters<typeof sandboxRequest>[0]) =>
    sandboxes.create(sandboxRequest(changes), callerOf(key), null);
  await assert.rejects(create({ from: far }), refused("snapshotElsewhere"));
  await assert.rejects(create({ from: made.id }), refused("snapshotNotFound"));
  const { limits } = sandboxRequest();
  await assert.rejects(create({ limits: { ...limits, cpus: 3 } }), refused("sandboxCpus", { most: 2 }));

  const wait = async (from: string) => {
    const sandbox = newSandbox(sandboxRequest({ from }), callerOf(key), "", Date.now());
    const leaseUntilMs = Date.now() + 60_000;
    await store.sandboxes.create({ sandbox, idempotency: null, leaseUntilMs, onlyKnown: false, service: "other" });
    return sandbox.id;
  };
  const waiting = [await wait(near), await wait(far)];
  const claimable = async (machine: string) => (await store.sandboxes.waiting(["other"], machine)).map(({ id }) => id);
  assert.deepEqual(await claimable("memory"), [waiting[0]]);
  assert.deepEqual(await claimable("far"), [waiting[1]]);
  assert.deepEqual(await claimable("third"), []);
  // One that has been removed can be found nowhere, so that any process may say so.
  await sandboxes.removeSnapshot(far, key.accountId);
  assert.deepEqual(await claimable("third"), [waiting[1]]);
});
