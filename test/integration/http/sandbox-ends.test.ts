import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  SANDBOX_END_REASON_NAMES,
  SANDBOX_END_REASONS,
  type SandboxEndReason,
} from "../../../src/domain/sandboxes/sandbox.ts";
import { metricsBody, sandboxBody } from "../../../src/http/api/sandboxes/bodies.ts";
import type { SandboxKeeper } from "../../../src/worker/sandboxes/keeper.ts";
import { LivingSandbox } from "../../../src/worker/sandboxes/sandbox.ts";
import { type Ask, startHttp } from "../../support/http/running.ts";
import { newKeeper } from "../../support/sandboxes/keeper.ts";
import { MemoryEngine } from "../../support/sandboxes/memory-engine.ts";
import { type OpenTemporary, onEachDatabase } from "../../support/store/temporary.ts";

const SECOND = 1_000;

/** The routes over the real keeper, whose boxes are in memory. Its leases are short, because it reads at each renewal which accounts are suspended. */
async function start(t: TestContext, open: OpenTemporary) {
  const engine = new MemoryEngine(async () => ({}));
  let keeper: SandboxKeeper | undefined;
  const running = await startHttp(t, {
    open,
    sandboxesOver: (store) => {
      keeper = newKeeper({ store, engine, leaseMs: 600 });
      return keeper;
    },
  });
  const host = keeper ?? assert.fail("there is no keeper");
  t.after(() => host.stop());
  running.clock.nowMs = Date.now();
  const accountName = "one";
  const key = await running.key({ profiles: ["agent"], account: accountName });
  const account = await running.store.accounts.ensure(accountName, "beta", "test");
  const send = (ask: Ask) => running.ask({ key, ...ask });
  const create = async (body: object = {}) => {
    const { status, json, text } = await send({ method: "POST", path: "/api/sandboxes", body });
    assert.equal(status, 201, text);
    return `/api/sandboxes/${json.id}`;
  };
  const living = async (path: string) => {
    const handle = await host.find(path.slice("/api/sandboxes/".length), account.id);
    assert.ok(handle instanceof LivingSandbox);
    return handle;
  };
  /** Waits for the end. Reading the record is no use of the sandbox. */
  const endOf = async (path: string) => {
    for (;;) {
      const { json } = await send({ path });
      if (json.state === "ended") return json;
      await sleep(20);
    }
  };
  return { ...running, engine, host, account, send, create, living, endOf };
}

type Service = Awaited<ReturnType<typeof start>>;

/** Brings about each end. @returns the path of a sandbox that ends, or has ended. */
const ENDS: { readonly [Reason in SandboxEndReason]: (service: Service) => Promise<string> } = {
  client: async ({ create, send }) => {
    const path = await create();
    await send({ method: "DELETE", path });
    return path;
  },
  lifetime: async ({ create, send }) => {
    const path = await create();
    assert.equal((await send({ method: "PATCH", path, body: { lifetime_secs: 1 } })).status, 200);
    return path;
  },
  idle: ({ create }) => create({ idle_secs: 1 }),
  memory: async ({ create, engine }) => {
    const path = await create();
    const box = engine.boxes.at(-1) ?? assert.fail("there is no box");
    box.measured = { ...box.measured, diskBytes: 0.95 * box.limits.memoryBytes };
    box.killForMemory();
    return path;
  },
  suspended: async ({ create, store, account }) => {
    const path = await create();
    await store.accounts.setSuspended(account.id, true, "test");
    // Its keys are refused meanwhile.
    while ((await store.sandboxes.list(account.id, { max: 1 })).sandboxes[0]?.state !== "ended") await sleep(20);
    await store.accounts.setSuspended(account.id, false, "test");
    return path;
  },
  worker_lost: async ({ create, engine }) => {
    const path = await create();
    engine.boxes.at(-1)?.lose();
    return path;
  },
  shutdown: async ({ create, host }) => {
    const path = await create();
    await host.stop();
    return path;
  },
  failed: async ({ send, engine }) => {
    engine.missing = ["seccomp_filter: not read back"];
    assert.equal((await send({ method: "POST", path: "/api/sandboxes", body: {} })).status, 500);
    const { sandboxes } = (await send({ path: "/api/sandboxes?limit=1" })).json;
    return `/api/sandboxes/${sandboxes[0].id}`;
  },
};

onEachDatabase((open) => {
  test("each end has its reason in the record, in lists and in the answers to later requests", async (t) => {
    const service = await start(t, open);
    const { send, endOf } = service;
    const last = ["failed", "shutdown"] as const;
    const paths = new Map<SandboxEndReason, string>();
    for (const reason of [...SANDBOX_END_REASON_NAMES.filter((one) => !last.some((other) => one === other)), ...last]) {
      const path = await ENDS[reason](service);
      if (reason === "failed") service.engine.missing = [];
      paths.set(reason, path);
      sandboxBody.parse(await endOf(path));
    }
    const listed = (await send({ path: "/api/sandboxes?state=ended" })).json.sandboxes;
    for (const [reason, path] of paths) {
      assert.equal((await endOf(path)).end_reason, reason);
      assert.equal(listed.find(({ id }: { id: string }) => path.endsWith(id)).end_reason, reason);
      const refusal = { error: `the sandbox has ended: ${SANDBOX_END_REASONS[reason]}`, end_reason: reason };
      for (const ask of [
        { method: "POST", path: `${path}/executions`, body: { shell: "echo" } },
        { method: "POST", path: `${path}/pause` },
        { method: "PATCH", path, body: { idle_secs: 9 } },
        { method: "POST", path: `${path}/executions/1/signal`, body: { signal: "SIGINT" } },
        { path: `${path}/files?path=a` },
        { method: "POST", path: `${path}/snapshots`, body: {} },
      ]) {
        const { status, json } = await send(ask);
        assert.deepEqual([status, json], [410, refusal], `${reason}: ${ask.path}`);
      }
      const metrics = await send({ path: `${path}/metrics` });
      assert.equal(metrics.status, 200, reason);
      metricsBody.parse(metrics.json);
    }
    assert.equal(paths.size, SANDBOX_END_REASON_NAMES.length);
  });

  test("a changed lifetime and idle time move the end, in both directions", async (t) => {
    const { create, living, send, endOf } = await start(t, open);
    const change = async (path: string, body: object) =>
      assert.equal((await send({ method: "PATCH", path, body })).status, 200);
    /** Lets the keeper look at the clocks of a sandbox, as it does each second, as if so much time had passed since its start and its last use. */
    const tick = async (path: string, secs: number) => {
      const sandbox = await living(path);
      await sandbox.tick((sandbox.sandbox.startedAtMs ?? 0) + secs * SECOND, base + secs * SECOND, SECOND);
      return (await send({ path })).json.state;
    };
    let base = 0;
    const body = { lifetime_secs: 1_000, idle_secs: 86_400 };
    const [longer, shorter, same] = [await create(body), await create(body), await create(body)];
    await change(longer, { lifetime_secs: 3_000 });
    await change(shorter, { lifetime_secs: 500 });
    await change(same, { metadata: { a: "b" } });
    assert.equal(await tick(shorter, 499), "running");
    assert.equal(await tick(shorter, 501), "ended");
    assert.equal(await tick(same, 999), "running");
    assert.equal(await tick(same, 1_001), "ended");
    assert.equal(await tick(longer, 2_999), "running");
    const { expires_at, started_at } = (await send({ path: longer })).json.timestamps;
    assert.equal(Date.parse(expires_at) - Date.parse(started_at), 3_000 * SECOND);
    assert.equal(await tick(longer, 3_001), "ended");

    const idle = { lifetime_secs: 86_400, idle_secs: 1_000 };
    const [later, sooner] = [await create(idle), await create(idle)];
    await change(later, { idle_secs: 3_000 });
    await change(sooner, { idle_secs: 500 });
    // A request uses the sandbox until its response has ended, which can be a moment after the client has it.
    base = performance.now() + 100 * SECOND;
    // The first look only measures what the programs have used so far.
    for (const secs of [0, 300]) assert.equal(await tick(sooner, secs), "running");
    assert.equal(await tick(sooner, 500), "ended");
    for (const secs of [0, 1_200, 2_400]) assert.equal(await tick(later, secs), "running");
    assert.equal(await tick(later, 3_000), "ended");
    for (const [path, reason] of [
      [longer, "lifetime"],
      [shorter, "lifetime"],
      [same, "lifetime"],
      [later, "idle"],
      [sooner, "idle"],
    ] as const)
      assert.equal((await endOf(path)).end_reason, reason);
  });

  test("after the end, the metrics are those of the last measurement", async (t) => {
    const { create, engine, send } = await start(t, open);
    const path = await create();
    const box = engine.boxes[0] ?? assert.fail("there is no box");
    const uses = { memoryBytes: 4_096_000, cpuUsec: 1_500_000, processes: 3, diskBytes: 4_096 };
    box.measured = { ...box.measured, ...uses };
    await send({ method: "POST", path: `${path}/executions`, body: { shell: "true" } });
    await send({ method: "DELETE", path });
    const { json } = await send({ path: `${path}/metrics?samples=true` });
    assert.deepEqual(
      [json.cpu_time_secs, json.memory_peak_bytes, json.memory_bytes, json.processes],
      [1.5, 4_096_000, 0, 0],
    );
    assert.deepEqual([json.samples.at(-1).cpu_time_secs, json.samples.at(-1).processes], [1.5, 3]);
  });
});
