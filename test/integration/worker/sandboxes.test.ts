import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { NO_METER } from "../../../src/domain/meter.ts";
import type { SandboxHandle } from "../../../src/domain/sandboxes/host.ts";
import type { Sandbox, SandboxRefusalCode } from "../../../src/domain/sandboxes/sandbox.ts";
import { SandboxRefused } from "../../../src/domain/sandboxes/sandbox.ts";
import { toSandboxRecord } from "../../../src/domain/sandboxes/sandbox-record.ts";
import { Prometheus } from "../../../src/metrics/prometheus.ts";
import { StoreUnavailable } from "../../../src/store/database/errors.ts";
import { keySealer } from "../../../src/webhooks/seal.ts";
import { NO_SANDBOXES, type SandboxKeeperOptions } from "../../../src/worker/sandboxes/keeper.ts";
import { SandboxSweeper } from "../../../src/worker/sandboxes/sweeper.ts";
import { samplesOf, total } from "../../support/metrics/scrape.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { keeperOf, outputOf, untilOutput } from "../../support/sandboxes/keeper.ts";
import { type Io, MemoryEngine, type Program } from "../../support/sandboxes/memory-engine.ts";
import { addKey, type OpenTemporary, onEachDatabase, temporaryStore } from "../../support/store/temporary.ts";

const MIB = 1_048_576;
const LIMIT = { timeout: 60_000 };
const forever = (io: Io) => new Promise<never>(() => void io);

/** Programs by the shell command that starts them. */
const PROGRAMS: Record<string, Program> = {
  hello: async ({ write }) => {
    void write("out");
    void write("err", "stderr");
    return {};
  },
  sleep: async (io) => {
    void io.write("ready");
    return await forever(io);
  },
  cat: async ({ read, write }) => {
    for (let input = await read(); input; input = await read()) void write(input.toString("utf8"));
    return {};
  },
  trap: async ({ signalled, write }) => {
    void write("ready");
    void write(` ${await signalled()}`);
    return { exitCode: 3 };
  },
  flood: async (io) => {
    for (let n = 0; n < 40; n++) void io.write("x".repeat(65_536));
    void io.write("last");
    return {};
  },
  missing: async () => ({ exitCode: null, failure: { step: "exec", object: "missing", errno: "ENOENT" } }),
  hungry: async () => ({ exitCode: null, signal: 9, oomKills: 1, oomEvents: 0, memoryLimitHits: 0 }),
  servers: async () => ({ processesLeft: 2 }),
  crowded: async () => ({ exitCode: 1, forksRefused: 3, processPeak: 20, processLimit: 64 }),
  handles: async () => ({ exitCode: 0, forksRefused: 3, processPeak: 20, processLimit: 64 }),
  terminals: async () => ({ exitCode: null, failure: { step: "terminal", object: "/dev/ptmx", errno: 28 } }),
  leaves: async () => ({ exitCode: null, failure: { step: "sandbox", object: "no leaf for the step", errno: 11 } }),
  gone: async () => ({ exitCode: null, failure: { step: "sandbox", object: "has ended", errno: 104 } }),
  killed: async () => ({ exitCode: null, failure: { step: "sandbox", object: "the parked program", errno: 3 } }),
};

/** @param open opens the database; by default in SQLite. */
async function started(
  t: TestContext,
  {
    open = temporaryStore,
    ...options
  }: Partial<Omit<SandboxKeeperOptions, "engine" | "store">> & { readonly open?: OpenTemporary } = {},
) {
  const { store, clock } = await open(t);
  clock.nowMs = Date.now();
  const engine = new MemoryEngine((io) => {
    const program = PROGRAMS[io.step.command.at(-1) ?? ""];
    if (!program) throw new Error(`there is no program ${io.step.command.join(" ")}`);
    return program(io);
  });
  const keeper = keeperOf(t, { engine, store, ...options });
  const key = await addKey(store, "one");
  const create = (changes = {}, idempotencyKey: string | null = null, owner = key) =>
    keeper.create(sandboxRequest(changes), callerOf(owner), idempotencyKey);
  const handle = async (sandbox: Sandbox) => await keeper.find(sandbox.id, sandbox.accountId);
  return { store, engine, keeper, key, create, handle };
}

const refusedAs =
  (code: SandboxRefusalCode, details: object = {}) =>
  (error: unknown) => {
    assert.ok(error instanceof SandboxRefused, String(error));
    assert.deepEqual([error.code, error.details], [code, details]);
    return true;
  };

onEachDatabase((open) => {
  test("a sandbox runs when it was created, executions have numbers and records, and its end has evidence", async (t) => {
    const { store, engine, create, handle } = await started(t, { open });
    const sandbox = await create({ env: { A: "1" } });
    assert.deepEqual([sandbox.state, sandbox.evidence?.controls], ["running", ["seccomp_filter"]]);
    const living = await handle(sandbox);
    const first = await living.execute(shellRequest("hello", { env: { B: "2" } }));
    assert.deepEqual(await outputOf(first).then(({ stdout, stderr }) => [stdout, stderr]), ["out", "err"]);
    const ended = await first.ended;
    assert.deepEqual(
      [ended.number, ended.status, ended.outcome?.result.verdict, ended.outcome?.output?.stdout.toString()],
      [1, "completed", "AC", "out"],
    );
    assert.deepEqual(await store.sandboxes.execution(sandbox.id, sandbox.accountId, 1), ended);
    const second = await living.execute(shellRequest("servers", { background: true }));
    assert.deepEqual(await second.ended.then(({ number, processesLeft }) => [number, processesLeft]), [2, 2]);
    assert.equal(await living.execution(2), null);
    const last = await living.end();
    assert.deepEqual([last.state, last.endReason, last.evidence?.teardown?.reaped], ["ended", "client", true]);
    assert.equal(engine.boxes[0]?.isEnded, true);
    assert.deepEqual(await store.sandboxes.get(sandbox.id, sandbox.accountId), last);
    await assert.rejects(living.execute(shellRequest("hello")), refusedAs("sandboxEnded", { reason: "client" }));
    await assert.rejects(handle(sandbox), refusedAs("sandboxEnded", { reason: "client" }));
  });

  test("another account, an unknown id and another process find no sandbox", async (t) => {
    const { keeper, store, create } = await started(t, { open });
    const sandbox = await create();
    const other = await addKey(store, "two");
    await assert.rejects(keeper.find(sandbox.id, other.accountId), refusedAs("sandboxNotFound"));
    await assert.rejects(keeper.find(randomUUID(), sandbox.accountId), refusedAs("sandboxNotFound"));
    const elsewhere = keeperOf(t, { store, engine: new MemoryEngine(forever), worker: "there" });
    await assert.rejects(elsewhere.find(sandbox.id, sandbox.accountId), refusedAs("sandboxElsewhere"));
  });

  test("a sandbox whose files fill its memory ends", async (t) => {
    const { engine, create, handle, store } = await started(t, { open });
    const sandbox = await create();
    await handle(sandbox);
    const box = engine.boxes[0];
    assert.ok(box);
    box.measured = { ...box.measured, diskBytes: 0.95 * sandbox.limits.memoryBytes };
    box.killForMemory();
    while ((await store.sandboxes.get(sandbox.id, sandbox.accountId))?.state !== "ended") await sleep(5);
    await assert.rejects(handle(sandbox), refusedAs("sandboxEnded", { reason: "memory" }));
  });

  test("a paused sandbox refuses what needs it to run, until it is resumed", async (t) => {
    const { engine, create, handle, store } = await started(t, { open });
    const sandbox = await create();
    const living = await handle(sandbox);
    const running = await living.execute(shellRequest("sleep"));
    const paused = await living.pause();
    assert.deepEqual([paused.state, engine.boxes[0]?.isPaused], ["paused", true]);
    assert.deepEqual((await store.sandboxes.get(sandbox.id, sandbox.accountId))?.state, "paused");
    await assert.rejects(living.execute(shellRequest("hello")), refusedAs("sandboxPaused"));
    await assert.rejects(running.signal("SIGTERM"), refusedAs("sandboxPaused"));
    assert.equal((await living.pause()).state, "paused");
    assert.equal((await living.resume()).state, "running");
    assert.equal((await (await living.execute(shellRequest("hello"))).ended).status, "completed");
    const box = engine.boxes[0];
    assert.ok(box);
    box.resistsPause = true;
    await assert.rejects(living.pause(), /not frozen/);
    assert.deepEqual([living.sandbox.state, (await living.measure()).processes], ["running", 0]);
  });

  test("a lost box ends its sandbox, and its executions are errors of the platform", async (t) => {
    const { engine, create, handle, store } = await started(t, { open });
    const sandbox = await create();
    const running = await (await handle(sandbox)).execute(shellRequest("sleep"));
    engine.boxes[0]?.lose();
    assert.deepEqual(await running.ended.then(({ status, outcome }) => [status, outcome?.result.verdict]), [
      "error",
      "IE",
    ]);
    while ((await store.sandboxes.get(sandbox.id, sandbox.accountId))?.state !== "ended") await sleep(5);
    const ended = await store.sandboxes.get(sandbox.id, sandbox.accountId);
    assert.deepEqual([ended?.endReason, ended?.evidence?.teardown], ["worker_lost", null]);
  });

  test("a box that lacks a control is removed, and its sandbox ends as failed", async (t) => {
    const { engine, create, store, key, keeper } = await started(t, { open });
    engine.missing = ["seccomp_filter: not read back"];
    await assert.rejects(create(), /controls are missing/);
    assert.equal(engine.boxes[0]?.isEnded, true);
    const { sandboxes } = await store.sandboxes.list(key.accountId, { max: 5 });
    assert.deepEqual(
      sandboxes.map(({ state, endReason }) => [state, endReason]),
      [["ended", "failed"]],
    );
    assert.deepEqual(keeper.counts().held, { sandboxes: 0, memoryBytes: 0, diskBytes: 0, connections: 0 });
  });

  test("an idempotency key returns its sandbox, also while its box is made and when there is no room", async (t) => {
    const { create, keeper } = await started(t, {
      open,
      capacity: { sandboxes: 1, memoryBytes: 512 * MIB, cpus: 2, diskBytes: 0, network: false },
    });
    const id = randomUUID();
    const all = await Promise.all([create({}, id), create({}, id).catch((error: unknown) => error)]);
    const again = await create({}, id);
    assert.equal(again.id, (all[0] as Sandbox).id);
    assert.equal(again.state, "running");
    await assert.rejects(create({ idleSecs: 9 }, id), refusedAs("idempotencyConflict"));
    await assert.rejects(create({}, randomUUID()), refusedAs("sandboxesFull"));
    assert.equal(keeper.counts().held.sandboxes, 1);
  });

  test("executions are limited for each sandbox, account and process, and connections are used again", async (t) => {
    const { create, handle, engine, store } = await started(t, { open });
    const living = await handle(await create());
    const allowed = { name: "beta", requestsPerMinute: 60, concurrency: 10, executions: 3 };
    await store.tiers.set(allowed, "test");
    const limited = await handle(await create());
    for (let n = 0; n < 5; n++) await (await living.execute(shellRequest("hello"))).ended;
    assert.equal(engine.boxes[0]?.attached.size, 1);
    const runs = [];
    for (let n = 0; n < 3; n++) runs.push(await limited.execute(shellRequest("sleep")));
    for (const one of [living, limited])
      await assert.rejects(
        one.execute(shellRequest("hello")),
        refusedAs("sandboxQuota", { what: "executions", most: 3 }),
      );
    await runs[0]?.kill();
    await (await living.execute(shellRequest("hello"))).ended;
    await limited.end();
    await living.end();
  });

  test("the lifetime ends a sandbox; idle time does too, unless someone uses it or its programs work", async (t) => {
    const { create, handle, engine, store } = await started(t, { open });
    const endOf = async (sandbox: Sandbox) => {
      for (;;) {
        const now = await store.sandboxes.get(sandbox.id, sandbox.accountId);
        if (now?.state === "ended") return now.endReason;
        await sleep(20);
      }
    };
    const short = await create({ lifetimeSecs: 1 });
    const idle = await create({ idleSecs: 2 });
    const [used, busy] = [await create({ idleSecs: 2 }), await create({ idleSecs: 2 })];
    const done = (await handle(used)).use();
    const box = engine.boxes[3];
    assert.ok(box);
    box.measure = async () => ({ ...box.measured, cpuUsec: performance.now() * 100 }); // a tenth of a CPU
    assert.deepEqual([await endOf(short), await endOf(idle)], ["lifetime", "idle"]);
    assert.deepEqual([(await handle(used)).sandbox.state, (await handle(busy)).sandbox.state], ["running", "running"]);
    done();
    assert.equal(await endOf(used), "idle");
  });

  test("a suspended account and an ended lease end sandboxes at the next renewal", async (t) => {
    const { create, store, handle } = await started(t, { open, leaseMs: 300 });
    const stranger = await addKey(store, "two");
    const suspended = await create({}, null, stranger);
    const lost = await create();
    await store.accounts.setSuspended(stranger.accountId, true, "test");
    await store.sandboxes.end(lost.id, "here", { reason: "worker_lost", endedAtMs: Date.now(), evidence: null });
    const end = async (sandbox: Sandbox) => {
      while ((await store.sandboxes.get(sandbox.id, sandbox.accountId))?.state !== "ended") await sleep(10);
      for (;;) {
        const reason = await handle(sandbox).then(
          () => null,
          (error: SandboxRefused<"sandboxEnded">) => error.details.reason,
        );
        if (reason !== null) return reason;
        await sleep(10);
      }
    };
    assert.deepEqual([await end(suspended), await end(lost)], ["suspended", "worker_lost"]);
  });

  test("a stop ends all sandboxes, and is durable when it resolves", async (t) => {
    const { create, store, keeper, handle, engine } = await started(t, { open });
    const sandboxes = [await create(), await create()];
    await (await handle(sandboxes[0] as Sandbox)).execute(shellRequest("sleep"));
    await keeper.stop();
    for (const { id, accountId } of sandboxes)
      assert.equal((await store.sandboxes.get(id, accountId))?.endReason, "shutdown");
    const execution = await store.sandboxes.execution(sandboxes[0]?.id ?? "", sandboxes[0]?.accountId ?? "", 1);
    assert.equal(execution?.outcome?.result.verdict, "SIG");
    assert.deepEqual(
      engine.boxes.map(({ isEnded }) => isEnded),
      [true, true],
    );
    await assert.rejects(create(), refusedAs("sandboxesOff"));
  });

  test("where the machine can have no sandboxes, a request for one says so, and none stays", async (t) => {
    const { create, store, keeper, engine, key } = await started(t, { open });
    engine.isImpossible = true;
    await assert.rejects(create(), refusedAs("sandboxesOff"));
    const { sandboxes } = await store.sandboxes.list(key.accountId, { max: 10 });
    assert.deepEqual(
      sandboxes.map(({ state, endReason }) => [state, endReason]),
      [["ended", "failed"]],
    );
    assert.equal(keeper.counts().held.sandboxes, 0);
  });

  test("a new process ends the sandboxes of an earlier one before it has any", async (t) => {
    const prometheus = new Prometheus([]); // of both processes together
    const { create, store, handle, engine } = await started(t, { open, meter: prometheus });
    const sandbox = await create();
    const living = await handle(sandbox);
    await living.execute(shellRequest("sleep"));
    const log = pino({ level: "silent" });
    const shared = await SandboxSweeper.start({
      store: { ...store, manyProcesses: true },
      leaseMs: 3_600_000,
      worker: "next",
      log,
      meter: prometheus,
    });
    t.after(() => shared.stop());
    assert.equal((await store.sandboxes.get(sandbox.id, sandbox.accountId))?.state, "running");
    const alone = await SandboxSweeper.start({
      store: { ...store, manyProcesses: false },
      leaseMs: 3_600_000,
      worker: "next",
      log,
      meter: prometheus,
    });
    t.after(() => alone.stop());
    assert.equal((await store.sandboxes.get(sandbox.id, sandbox.accountId))?.endReason, "worker_lost");
    const execution = await store.sandboxes.execution(sandbox.id, sandbox.accountId, 1);
    assert.deepEqual([execution?.status, execution?.outcome?.result.verdict], ["error", "IE"]);
    // The earlier process learns of it. The end counts once, where it was stored.
    await assert.rejects(living.execute(shellRequest("hello")), refusedAs("sandboxEnded", { reason: "worker_lost" }));
    const isKnown = () =>
      handle(sandbox).then(
        () => true,
        () => false,
      );
    while (!engine.boxes[0]?.isEnded || (await isKnown())) await sleep(1);
    await assert.rejects(handle(sandbox), refusedAs("sandboxEnded", { reason: "worker_lost" }));
    const counted = samplesOf(await prometheus.text());
    assert.equal(counted.get('assay_sandboxes_ended_total{reason="worker_lost"}'), 1);
    assert.equal(total(counted, "assay_sandboxes_ended_total"), 1);
  });

  test("the next process takes sandboxes over, with their environment, numbers, clocks and quotas", async (t) => {
    const { create, store, keeper, handle, engine, key } = await started(t, { open, leaves: true });
    const [runs, paused] = [await create({ env: { A: "secret" } }), await create()];
    await (await handle(runs)).execute(shellRequest("hello")).then(({ ended }) => ended);
    const cut = await (await handle(runs)).execute(shellRequest("sleep", { background: true }));
    await (await handle(paused)).pause();
    await keeper.stop();
    assert.equal((await cut.ended).outcome?.result.verdict, "IE");
    await assert.rejects((await handle(runs)).execute(shellRequest("hello")), refusedAs("sandboxMoving"));
    assert.deepEqual(
      engine.boxes.map(({ isLeft, isEnded }) => [isLeft, isEnded]),
      [
        [true, false],
        [true, false],
      ],
    );

    const next = keeperOf(t, {
      engine,
      store,
      worker: "next",
      capacity: { sandboxes: 8, memoryBytes: 4096 * MIB, cpus: 1, diskBytes: 0, network: false },
    });
    await next.takeOver();
    assert.deepEqual([next.counts().held.sandboxes, next.counts().held.memoryBytes], [2, 1024 * MIB]);
    assert.deepEqual(
      engine.boxes.map(({ isPaused, isLeft }) => [isPaused, isLeft]),
      [
        [false, false],
        [true, false],
      ],
    );
    const living = await next.find(runs.id, key.accountId);
    assert.deepEqual([living.sandbox.worker, living.sandbox.startedAtMs], ["next", runs.startedAtMs]);
    const run = await living.execute(shellRequest("hello"));
    assert.equal(run.number, 3, "no number is used twice");
    await run.ended;
    const frozen = await next.find(paused.id, key.accountId);
    await assert.rejects(frozen.execute(shellRequest("hello")), refusedAs("sandboxPaused"));
    assert.equal((await frozen.resume()).state, "running");
    assert.equal((await living.end()).endReason, "client");
  });

  test(
    "of several processes that take a sandbox over, one has it in the end, and the others leave it alone",
    LIMIT,
    async (t) => {
      const { create, store, keeper, engine, key } = await started(t, { open, leaves: true });
      const { id } = await create();
      await keeper.stop();
      const keepers = ["a", "b", "c"].map((worker) => keeperOf(t, { engine, store, worker }));
      await Promise.all(keepers.map((one) => one.takeOver()));
      // One can take it from another one that had it before, and that then notices that its box is lost.
      const held = () => keepers.reduce((sum, one) => sum + one.counts().held.sandboxes, 0);
      while (held() !== 1) await sleep(5);
      const found = await Promise.allSettled(keepers.map((one) => one.find(id, key.accountId)));
      assert.deepEqual(
        found.map(({ status }) => status === "fulfilled"),
        keepers.map((one) => one.counts().held.sandboxes === 1),
      );
      const stored = await store.sandboxes.get(id, key.accountId);
      assert.deepEqual([stored?.state, engine.boxes[0]?.isEnded], ["running", false]);
      assert.equal(
        keepers.findIndex((one) => one.counts().held.sandboxes === 1),
        ["a", "b", "c"].indexOf(stored?.worker ?? ""),
      );
    },
  );

  test("a sandbox that was left belongs to the next process: requests to this one do not end it", async (t) => {
    const { create, store, keeper, handle, key } = await started(t, { open, leaves: true });
    const living = await handle(await create());
    await keeper.stop();
    await assert.rejects(living.end(), refusedAs("sandboxMoving"));
    const [stored, left] = [
      await store.sandboxes.get(living.sandbox.id, key.accountId),
      await store.sandboxes.left("launcher", "next"),
    ];
    assert.equal(stored?.state, "running");
    assert.deepEqual(
      left.map(({ sandbox: { id }, isLeft }) => [id, isLeft]),
      [[living.sandbox.id, true]],
    );
  });

  test("what cannot be taken over ends: another launcher, a lost box, another key, and no room", async (t) => {
    const { create, store, keeper, engine, key } = await started(t, { open, leaves: true });
    const sandboxes = [];
    for (let n = 0; n < 4; n++) {
      if (n === 1) engine.name = "next launcher";
      sandboxes.push(await create());
    }
    await keeper.stop();
    engine.boxes[1]?.lose();
    const [first, second] = [
      keeperOf(t, {
        engine,
        store,
        worker: "a",
        sealer: keySealer(randomBytes(32)),
        capacity: { sandboxes: 0, memoryBytes: 0, cpus: 1, diskBytes: 0, network: false },
      }),
      keeperOf(t, { engine, store, worker: "b" }),
    ];
    await first.takeOver();
    await second.takeOver();
    const log = pino({ level: "silent" });
    const sweeper = await SandboxSweeper.start({
      store: { ...store, manyProcesses: false },
      leaseMs: 3_600_000,
      worker: "b",
      log,
      meter: NO_METER,
    });
    t.after(() => sweeper.stop());
    const reasons = await Promise.all(sandboxes.map(({ id }) => store.sandboxes.get(id, key.accountId)));
    assert.deepEqual(
      reasons.map((one) => one?.endReason),
      ["shutdown", "shutdown", "shutdown", "shutdown"],
    );
  });

  test("the secret of a box is in no record, and the database has it only sealed", async (t) => {
    const { create, store, engine, key } = await started(t, { open });
    const sandbox = await create({ env: { PASSWORD: "hunter2" } });
    const token = engine.boxes[0]?.token ?? "";
    const [left] = await store.sandboxes.left("launcher", "next");
    assert.ok(left);
    for (const secret of [token, "hunter2"]) {
      assert.ok(!left.sealed.includes(secret));
      const shown = [sandbox, await store.sandboxes.get(sandbox.id, key.accountId), toSandboxRecord(sandbox)];
      assert.ok(!JSON.stringify(shown).includes(secret));
    }
  });

  test("an end that could not be stored is stored later, and frees the quota of the account", async (t) => {
    const { create, handle, store } = await started(t, { open, leaseMs: 300 });
    const sandbox = await create();
    const end = store.sandboxes.end.bind(store.sandboxes);
    let fails = true;
    store.sandboxes.end = (...args) => (fails ? Promise.reject(new Error("the disk is full")) : end(...args));
    await (await handle(sandbox)).end();
    assert.equal((await store.sandboxes.get(sandbox.id, sandbox.accountId))?.state, "running");
    fails = false;
    while ((await store.sandboxes.get(sandbox.id, sandbox.accountId))?.state !== "ended") await sleep(10);
    assert.equal((await store.sandboxes.get(sandbox.id, sandbox.accountId))?.endReason, "client");
  });

  test("the store keeps the executions that ended last, within a size, and fewer after the end of the sandbox", async (t) => {
    const { create, handle, store } = await started(t, { open });
    const sandbox = await create();
    const living = await handle(sandbox);
    const server = await living.execute(shellRequest("sleep"));
    for (let n = 0; n < 18; n++) await (await living.execute(shellRequest("flood"))).ended;
    await server.kill();
    const numbers = async () => {
      const page = await store.sandboxes.executions(sandbox.id, sandbox.accountId, { max: 100 });
      return page?.executions.map(({ number }) => number).toReversed() ?? [];
    };
    const living1 = await numbers();
    assert.ok(living1.includes(1) && living1.length >= 14 && living1.length <= 17, String(living1));
    await living.end();
    assert.deepEqual(await numbers(), [1, 17, 18, 19]);
  });
});

// The tests from here on are about the engine, and about memory and connections of this process. The database has no part in that; the
// samples of usage that it stores are read from both in test/integration/http/sandboxes.test.ts.

test("no program starts before its execution is stored, and none that is not stored", async (t) => {
  const { store, engine, create, handle } = await started(t);
  const living = await handle(await create());
  const begin = store.sandboxes.begin;
  const [asked, may] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  store.sandboxes.begin = async (...args) => {
    asked.resolve();
    await may.promise;
    return await begin(...args);
  };
  const [box] = engine.boxes;
  const attach = box?.attach.bind(box);
  assert.ok(box && attach);
  let runs = 0;
  box.attach = async () => {
    const attached = await attach();
    const run = attached.run.bind(attached);
    attached.run = (...args) => {
      runs++;
      return run(...args);
    };
    return attached;
  };
  const waiting = living.execute(shellRequest("hello"), { isAwaited: true });
  await asked.promise;
  await sleep(50);
  assert.equal(runs, 0);
  may.resolve();
  const running = await waiting;
  await running.confirm();
  assert.equal((await running.ended).outcome?.result.verdict, "AC");
  assert.equal(runs, 1);
  store.sandboxes.begin = () => Promise.resolve("revoked");
  await assert.rejects(living.execute(shellRequest("hello")), refusedAs("keyRevoked"));
  store.sandboxes.begin = () => Promise.resolve("suspended");
  await assert.rejects(living.execute(shellRequest("hello")), refusedAs("accountSuspended"));
  store.sandboxes.begin = () => Promise.reject(new Error("no disk"));
  await assert.rejects(living.execute(shellRequest("hello")), /no disk/);
  store.sandboxes.begin = begin;
  assert.equal((await (await living.execute(shellRequest("hello"))).ended).outcome?.result.verdict, "AC");
  assert.equal(runs, 2);
});

test(
  "an execution ends with its verdict when the database is back, and one that may have been stored ends as well",
  LIMIT,
  async (t) => {
    const { store, create, handle, key } = await started(t);
    const sandbox = await create();
    const { id } = sandbox;
    const living = await handle(sandbox);
    const { begin, endExecution } = store.sandboxes;
    let tries = 0;
    store.sandboxes.endExecution = async (ended) => {
      if (++tries <= 3) throw new StoreUnavailable("the database is away");
      await endExecution(ended);
    };
    const running = await living.execute(shellRequest("hello"));
    let isEnded = false;
    const ended = running.ended.finally(() => {
      isEnded = true;
    });
    while (tries < 3) await sleep(5);
    assert.equal(isEnded, false, "nobody hears of an end that is not stored");
    assert.equal((await ended).outcome?.result.verdict, "AC");
    assert.deepEqual([await store.sandboxes.execution(id, key.accountId, 1), tries], [await ended, 4]);
    // The connection is lost after the beginning was stored, and the client gets an error.
    store.sandboxes.begin = async (...args) => {
      await begin(...args);
      throw new StoreUnavailable("the connection was lost");
    };
    await assert.rejects(living.execute(shellRequest("hello")), /connection was lost/);
    store.sandboxes.begin = begin;
    const stored = () => store.sandboxes.execution(id, key.accountId, 2);
    while ((await stored())?.status === "running") await sleep(5);
    assert.equal((await stored())?.outcome?.result.verdict, "IE");
  },
);

test("input, its end and signals reach the program in order; then they are refused", async (t) => {
  const { create, handle } = await started(t);
  const living = await handle(await create());
  const cat = await living.execute(shellRequest("cat", { openInput: true }));
  await Promise.all([cat.input(Buffer.from("a")), cat.input(Buffer.from("b")), cat.input(Buffer.from("c"))]);
  await cat.endInput();
  await assert.rejects(cat.input(Buffer.from("d")), refusedAs("takesNoInput"));
  assert.equal((await outputOf(cat)).stdout, "abc");
  await assert.rejects(cat.input(Buffer.from("d")), refusedAs("executionEnded"));
  const deaf = await living.execute(shellRequest("sleep"));
  await assert.rejects(deaf.input(Buffer.from("x")), refusedAs("takesNoInput"));
  await assert.rejects(deaf.resize(9, 9), refusedAs("noTerminal"));
  const given = await living.execute(shellRequest("cat", { stdin: Buffer.from("all") }));
  assert.equal((await outputOf(given)).stdout, "all");
  const trap = await living.execute(shellRequest("trap"));
  await untilOutput(trap, "ready");
  await trap.signal("SIGTERM");
  assert.equal((await outputOf(trap)).stdout, "ready 15");
  await assert.rejects(trap.signal("SIGTERM"), refusedAs("executionEnded"));
});

test("readers continue from any offset; a terminal keeps the last output, a program the first", async (t) => {
  const { create, handle } = await started(t);
  const living = await handle(await create());
  const hello = await living.execute(shellRequest("hello"));
  await hello.ended;
  assert.equal((await outputOf(hello, { stdout: 2, stderr: 9 })).stdout, "t");
  const terminal = await living.execute(shellRequest("flood", { terminal: { rows: 24, cols: 80 } }));
  const ended = await terminal.ended;
  const kept = ended.outcome?.output;
  assert.deepEqual([kept?.stdout.length, kept?.integrity], [MIB, "truncated_by_judge_limit"]);
  assert.ok(kept?.stdout.toString().endsWith("last"));
  const late = await outputOf(terminal);
  assert.ok(late.stdout.endsWith("last") && late.stdout.length >= MIB && late.stdout.length < 2 * MIB);
  const program = await living.execute(shellRequest("flood"));
  const cut = (await program.ended).outcome?.output;
  assert.deepEqual([cut?.stdout.length, cut?.integrity], [MIB, "truncated_by_judge_limit"]);
  assert.equal((await outputOf(program)).stdout.length, MIB);
});

test("killing an execution ends it alone, as killed by the client and with its output", async (t) => {
  const { create, handle } = await started(t);
  const living = await handle(await create());
  const [one, two] = [await living.execute(shellRequest("sleep")), await living.execute(shellRequest("sleep"))];
  await untilOutput(one, "ready");
  await one.kill();
  const { outcome } = await one.ended;
  assert.deepEqual(
    [outcome?.result.verdict, outcome?.result.errorMessage, outcome?.output?.stdout.toString()],
    ["SIG", "killed by signal 9 (SIGKILL), which the client sent", "ready"],
  );
  assert.equal(two.execution.status, "running");
  await living.end();
  const ended = (await two.ended).outcome?.result;
  assert.deepEqual(
    [ended?.verdict, ended?.errorMessage],
    ["SIG", "killed, because the sandbox ended: a client ended it"],
  );
});

test("a program that does not exist fails, and the memory limit of the sandbox is a memory limit", async (t) => {
  const { engine, create, handle } = await started(t);
  const living = await handle(await create());
  const missing = (await (await living.execute(shellRequest("missing"))).ended).outcome?.result;
  assert.equal(missing?.verdict, "RE");
  assert.match(missing?.errorMessage ?? "", /^missing cannot be executed/);
  const hungry = await (await living.execute(shellRequest("hungry"))).ended;
  assert.equal(hungry.outcome?.result.verdict, "IE");
  const box = engine.boxes[0];
  assert.ok(box);
  const measure = box.measure.bind(box);
  box.measure = async () => {
    box.killForMemory();
    return await measure();
  };
  const full = (await (await living.execute(shellRequest("hungry"))).ended).outcome;
  assert.deepEqual([full?.result.verdict, full?.result.cause], ["MLE", "oom_kill"]);
  assert.match(full?.result.errorMessage ?? "", /^memory limit of the sandbox \(536870912 bytes/);
});

test("accounts share a full machine, and what an ended sandbox held is free again", async (t) => {
  const { create, keeper, store, handle } = await started(t, {
    capacity: { sandboxes: 8, memoryBytes: 2048 * MIB, cpus: 2, diskBytes: 0, network: false },
  });
  const other = await addKey(store, "two");
  const limits = { ...sandboxRequest().limits, memoryBytes: 512 * MIB };
  const mine = [await create({ limits }), await create({ limits })];
  await assert.rejects(create({ limits }), refusedAs("sandboxesFull"));
  await create({ limits }, null, other);
  await assert.rejects(create({ limits }, null, other), refusedAs("sandboxesFull"));
  assert.deepEqual(keeper.counts().held, { sandboxes: 3, memoryBytes: 1536 * MIB, diskBytes: 0, connections: 0 });
  for (const one of mine) await (await handle(one)).end();
  await create({ limits }, null, other);
});

test("a sandbox has at most 16 connections", async (t) => {
  const { create, handle, store } = await started(t);
  await store.tiers.set({ name: "beta", requestsPerMinute: 60, concurrency: 10, executions: 99 }, "test");
  const living = await handle(await create());
  for (let n = 0; n < 16; n++) await living.execute(shellRequest("sleep"));
  await assert.rejects(living.execute(shellRequest("sleep")), refusedAs("executionsFull"));
});

test("the memory for output is bounded", async (t) => {
  const { create, handle } = await started(t, { bufferBytes: 9 * MIB });
  const living = await handle(await create());
  await living.execute(shellRequest("sleep"));
  await assert.rejects(living.execute(shellRequest("sleep")), refusedAs("executionsFull"));
  const small = { stdout_bytes: 4096, stderr_bytes: 4096 };
  assert.equal((await living.execute(shellRequest("sleep", { limits: small }))).number, 2);
});

test("a process without sandboxes refuses everything", async () => {
  const caller = callerOf({ keyId: "key", accountId: "account" });
  assert.equal(NO_SANDBOXES.capacity, null);
  await assert.rejects(NO_SANDBOXES.create(sandboxRequest(), caller, null), refusedAs("sandboxesOff"));
  await assert.rejects(NO_SANDBOXES.find(randomUUID(), "account"), refusedAs("sandboxesOff"));
});

test("what programs of a sandbox do to each other is no error of the platform", async (t) => {
  const { create, handle } = await started(t);
  const living = await handle(await create());
  const verdictOn = async (shell: string) => {
    const { status, outcome } = await (await living.execute(shellRequest(shell))).ended;
    return [status, outcome?.result.verdict, outcome?.result.errorMessage ?? ""] as const;
  };
  const expected = {
    crowded: ["PLE", /^process limit of the sandbox \(256, for all of its programs\) reached/],
    handles: ["AC", /^$/],
    terminals: ["RE", /^no terminal is left:/],
    leaves: ["PLE", /no leaf for the step/],
    killed: ["RE", /the parked program/],
    gone: ["IE", /could not be set up/],
  } as const;
  for (const [program, [verdict, message]] of Object.entries(expected)) {
    const [status, actual, text] = await verdictOn(program);
    assert.deepEqual([program, status, actual], [program, verdict === "IE" ? "error" : "completed", verdict]);
    assert.match(text, message);
  }
});

test("a kill whose report is lost is a kill and no error of the platform, and its output stays", async (t) => {
  const { create, handle, engine } = await started(t);
  const living = await handle(await create());
  const run = await living.execute(shellRequest("sleep"));
  await untilOutput(run, "ready");
  for (const one of engine.boxes[0]?.attached ?? []) one.kill = () => one.lose();
  await run.kill();
  const { status, outcome } = await run.ended;
  assert.deepEqual(
    [status, outcome?.result.verdict, outcome?.result.signal, outcome?.output?.stdout.toString()],
    ["completed", "SIG", 9, "ready"],
  );
});

test("an execution that begins while the sandbox is being paused is refused, or waits until it is resumed", async (t) => {
  const { create, handle, engine } = await started(t);
  const living = await handle(await create());
  const box = engine.boxes[0];
  assert.ok(box);
  const frozen = Promise.withResolvers<void>();
  const pause = box.pause.bind(box);
  box.pause = async () => {
    await frozen.promise;
    await pause();
  };
  // It has passed the checks of the service, and its step arrives when the box is frozen.
  let tries = 0;
  PROGRAMS.late = async ({ write }) => {
    tries++;
    if (box.isPaused) return { exitCode: null, failure: { step: "sandbox", object: "is paused", errno: 16 } };
    void write("ran");
    return {};
  };
  const attach = box.attach.bind(box);
  const arrived = Promise.withResolvers<void>();
  const attachable = Promise.withResolvers<void>();
  box.attach = async () => {
    arrived.resolve();
    await attachable.promise;
    const attached = await attach();
    const run = attached.run.bind(attached);
    attached.run = async (...args) => {
      while (!box.isPaused && tries === 0) await sleep(1);
      return await run(...args);
    };
    return attached;
  };
  const executing = living.execute(shellRequest("late"));
  await arrived.promise;
  attachable.resolve();
  const run = await executing;
  const pausing = living.pause();
  await sleep(1);
  await assert.rejects(living.execute(shellRequest("hello")), refusedAs("sandboxPaused"));
  frozen.resolve();
  await pausing;
  while (tries === 0) await sleep(1);
  assert.equal(run.execution.status, "running");
  await living.resume();
  const { outcome } = await run.ended;
  assert.deepEqual([outcome?.result.verdict, outcome?.output?.stdout.toString(), tries], ["AC", "ran", 2]);
});

test("who asks at the same time gets the same measurement", async (t) => {
  const { create, handle, engine } = await started(t);
  const living = await handle(await create());
  const box = engine.boxes[0];
  assert.ok(box);
  let asked = 0;
  const answer = Promise.withResolvers<void>();
  box.measure = async () => {
    asked++;
    await answer.promise;
    return box.measured;
  };
  const all = Array.from({ length: 50 }, () => living.measure());
  for (let n = 0; n < 50; n++) box.killForMemory();
  answer.resolve();
  await Promise.all(all);
  await sleep(300);
  // One for all who asked, and two for the kills: one that had begun, and one after it.
  assert.equal(asked, 3);
});

test("what fails because a sandbox ends at the same time is refused", async (t) => {
  const { create, handle, engine } = await started(t);
  const living = await handle(await create());
  const box = engine.boxes[0];
  assert.ok(box);
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {});
  box.measure = () => lost.promise;
  box.attach = () => lost.promise;
  box.pause = () => lost.promise;
  const asked = [living.measure(), living.execute(shellRequest("hello")), living.files.stat("x"), living.pause()];
  const outcomes = Promise.allSettled(asked);
  const ending = living.end();
  lost.reject(new Error("the connection is gone"));
  await ending;
  for (const one of await outcomes) {
    assert.equal(one.status, "rejected");
    const { reason } = one as PromiseRejectedResult;
    assert.ok(reason instanceof SandboxRefused, String(reason));
  }
});

test("the output of a terminal passes at a bounded rate", async (t) => {
  const { create, handle } = await started(t);
  const living = await handle(await create());
  PROGRAMS.yes = async ({ write }) => {
    for (let n = 0; n < 40; n++) await write("y\n".repeat(32_768));
    return {};
  };
  const startMs = performance.now();
  await (await living.execute(shellRequest("yes", { terminal: { rows: 24, cols: 80 } }))).ended;
  // 2.5 MiB, of which 1 MiB passes at once and the others at 4 MiB/s: 375 ms, and a busy machine only takes longer.
  const tookMs = performance.now() - startMs;
  assert.ok(tookMs >= 360, `${tookMs} ms`);
});

test("the memory for the output of an execution is free when its last reader has read it", async (t) => {
  const { create, handle } = await started(t, { bufferBytes: 9 * MIB });
  const living = await handle(await create());
  const run = await living.execute(shellRequest("flood"));
  const reading = run.follow({ stdout: 0, stderr: 0 }, new AbortController().signal)[Symbol.asyncIterator]();
  await reading.next();
  await run.ended;
  await assert.rejects(living.execute(shellRequest("hello")), refusedAs("executionsFull"));
  await reading.return?.();
  await (await living.execute(shellRequest("hello"))).ended;
  await (await living.execute(shellRequest("hello"))).ended;
});

test("a file program that only waits gives its place to an execution", async (t) => {
  const { create, handle, store } = await started(t);
  await store.tiers.set({ name: "beta", requestsPerMinute: 60, concurrency: 10, executions: 2 }, "test");
  const handles = [await handle(await create()), await handle(await create())];
  // It gives a failure, after which a program waits for the next request.
  const failure = Buffer.concat([
    Buffer.from("f"),
    Buffer.from([0, 0, 16]),
    Buffer.from("\0\u0008notFound\0\0\0\0\0\0"),
  ]);
  PROGRAMS["/opt/assay/files"] = async ({ read, write }) => {
    while (await read()) void write(failure.toString("latin1"));
    return {};
  };
  for (const living of handles) await assert.rejects(living.files.stat("x"), { code: "notFound" });
  const runs = await Promise.all(handles.map((living) => living.execute(shellRequest("sleep"))));
  assert.equal(runs.length, 2);
  await assert.rejects(
    handles[0]?.execute(shellRequest("sleep")) ?? Promise.resolve(),
    refusedAs("sandboxQuota", { what: "executions", most: 2 }),
  );
});

test("what a sandbox uses is kept over its life and after its end, and one in which nothing runs is not measured", async (t) => {
  const { store, engine, create, handle } = await started(t);
  const idle = await create();
  const busy = await create();
  const counts = engine.boxes.map((box) => {
    const measure = box.measure.bind(box);
    const count = { calls: 0 };
    box.measure = async () => {
      count.calls++;
      return await measure();
    };
    return count;
  });
  const living = await handle(busy);
  const running = await living.execute(shellRequest("sleep"));
  const samples = async (one: SandboxHandle) => (await one.usage()).length;
  while ((await samples(living)) === 0 || (await samples(await handle(idle))) === 0) await sleep(20);
  const [, box] = engine.boxes;
  if (!box) assert.fail("there is no box");
  box.measured = { ...box.measured, cpuUsec: 2_000_000, memoryBytes: 5 * MIB, processes: 3, diskBytes: MIB };
  await living.measure();
  while ((await samples(living)) < 2) await sleep(100);
  await running.kill();
  await running.ended;
  const { accountId } = busy;
  assert.deepEqual(await store.sandboxes.usage(busy.id, accountId), [], "it is stored at the end");
  await living.end();
  const stored = await store.sandboxes.usage(busy.id, accountId);
  assert.deepEqual(
    stored.map(({ cpuUsec, memoryBytes, processes, diskBytes }) => [cpuUsec, memoryBytes, processes, diskBytes]).at(-1),
    [2_000_000, 5 * MIB, 3, MIB],
  );
  assert.ok((stored.at(-1)?.atMs ?? 0) > (stored[0]?.atMs ?? 0));
  assert.deepEqual(await store.sandboxes.usage(busy.id, "another account"), []);
  assert.equal(counts[0]?.calls, 1, "the idle one, at its start");
});
