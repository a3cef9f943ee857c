import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { Webhook } from "standardwebhooks";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import { NO_METER } from "../../../src/domain/meter.ts";
import type { Store } from "../../../src/store/store.ts";
import { Deliverer } from "../../../src/webhooks/deliverer.ts";
import { threadedPost } from "../../../src/webhooks/threaded-post.ts";
import type { SandboxKeeper } from "../../../src/worker/sandboxes/keeper.ts";
import { SandboxSweeper } from "../../../src/worker/sandboxes/sweeper.ts";
import { type Ask, startHttp } from "../../support/http/running.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { newKeeper } from "../../support/sandboxes/keeper.ts";
import { MemoryEngine } from "../../support/sandboxes/memory-engine.ts";
import { type OpenTemporary, onEachDatabase } from "../../support/store/temporary.ts";
import { addEndpoint, addProject, sealer } from "../../support/webhooks/project.ts";
import { makeCertificates, startReceiver } from "../../support/webhooks/receiver.ts";

/* The messages of sandboxes and executions as a receiver gets them, from the routes and the real keeper, whose boxes are in memory. */

const LIMIT = { timeout: 60_000 };
const LEASE_MS = 600;
const log = pino({ level: "silent" });

interface Message {
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly id: string;
    readonly end_reason: string;
    readonly result: { readonly verdict: string };
    readonly output?: object;
  };
}

const engineOf = () =>
  new MemoryEngine(async ({ step }) => {
    if (step.command.at(-1) === "sleep") await new Promise<never>(() => {});
    return {};
  });

async function start(t: TestContext, open: OpenTemporary) {
  const certificates = makeCertificates();
  const receiver = await startReceiver(t, certificates);
  let keeper: SandboxKeeper | undefined;
  const running = await startHttp(t, {
    open,
    sandboxesOver: (store) => {
      keeper = newKeeper({ store, engine: engineOf(), leaseMs: LEASE_MS });
      return keeper;
    },
  });
  const host = keeper ?? assert.fail("there is no keeper");
  const { store, clock } = running;
  Object.defineProperty(clock, "nowMs", { get: () => Date.now() });
  const project = await addProject(store, "p", "one");
  const { secret } = await addEndpoint(store, project, { url: receiver.url });
  const key = await running.key({ profiles: ["agent"], project: project.id });
  const deliverer = Deliverer.start({
    store,
    sealer,
    allowed: [{ host: "127.0.0.1", port: receiver.port }],
    post: threadedPost({ ca: certificates.ca }),
    foreignApis: FOREIGN_APIS,
    userAgent: "Assay/0.0.0",
    drainMs: 5_000,
    log,
  });
  t.after(() => host.stop());
  t.after(() => deliverer.stop());
  const send = (ask: Ask) => running.ask({ key, ...ask });
  const create = async (body: object = {}) => {
    const { status, json, text } = await send({ method: "POST", path: "/api/sandboxes", body });
    assert.equal(status, 201, text);
    return json.id as string;
  };
  /** The messages so far with this id, whose signatures are valid. */
  const messages = (id: string): Message[] =>
    receiver.received
      .filter(({ headers }) => headers["webhook-id"] === id)
      .map(({ body, headers }) => new Webhook(secret).verify(body, headers as Record<string, string>) as Message);
  const message = async (id: string) => {
    for (;;) {
      const [found] = messages(id);
      if (found) return found;
      await sleep(10);
    }
  };
  return { store, project, host, deliverer, receiver, send, create, messages, message };
}

/** A process that has a sandbox with an execution, and is silent from then on. @returns their ids, when its lease has expired. */
async function lostProcess(store: Store, project: Awaited<ReturnType<typeof addProject>>) {
  const silent = Promise.withResolvers<never>();
  const renew = () => silent.promise;
  const dead = newKeeper({
    store: { ...store, sandboxes: { ...store.sandboxes, renew } },
    engine: engineOf(),
    worker: "dead",
    leaseMs: LEASE_MS,
  });
  const { id } = await dead.create(sandboxRequest(), callerOf(project.key, project.id), null);
  const living = await dead.find(id, project.key.accountId);
  const { number } = await living.execute(shellRequest("sleep", { background: true }));
  await sleep(2 * LEASE_MS);
  const stop = async () => {
    silent.reject(new Error("it is silent no more"));
    await dead.stop();
  };
  return { stop, sandbox: id, execution: `${id}.${number}` };
}

onEachDatabase((open) => {
  test(
    "each end of a sandbox, and of an execution that was answered with 201, reaches the receiver, signed and once",
    LIMIT,
    async (t) => {
      const { store, project, host, deliverer, receiver, send, create, messages, message } = await start(t, open);
      const record = async (id: string) => (await send({ path: `/api/sandboxes/${id}` })).json;
      const ended = async (id: string, reason: string) => {
        const { type, timestamp, data } = await message(id);
        assert.deepEqual([type, data.end_reason], ["sandbox.ended", reason]);
        assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000, timestamp);
        return data;
      };

      const byClient = await create({ metadata: { task: "42" } });
      const execution = { shell: "echo", background: true };
      const path = `/api/sandboxes/${byClient}/executions`;
      const begun = await send({ method: "POST", path, body: execution });
      assert.equal(begun.status, 201, begun.text);
      assert.equal((await send({ method: "POST", path, body: { shell: "echo" } })).status, 200);
      const completed = await message(`${byClient}.1`);
      assert.deepEqual([completed.type, completed.data.result.verdict], ["execution.completed", "AC"]);
      const { output: _output, egress: _egress, ...rest } = (await send({ path: `${path}/1` })).json;
      assert.deepEqual(completed.data, rest);
      assert.equal((await send({ method: "DELETE", path: `/api/sandboxes/${byClient}` })).status, 200);
      assert.deepEqual(await ended(byClient, "client"), await record(byClient));

      const byTime = await create({ lifetime_secs: 60 });
      const change = { method: "PATCH", path: `/api/sandboxes/${byTime}`, body: { lifetime_secs: 1 } };
      assert.equal((await send(change)).status, 200);
      assert.deepEqual(await ended(byTime, "lifetime"), await record(byTime));

      const lost = await lostProcess(store, project);
      const shared = { ...store, manyProcesses: true };
      const sweeper = await SandboxSweeper.start({
        store: shared,
        leaseMs: LEASE_MS,
        worker: "here",
        log,
        meter: NO_METER,
      });
      assert.deepEqual(await ended(lost.sandbox, "worker_lost"), await record(lost.sandbox));
      const unknown = await message(lost.execution);
      assert.deepEqual([unknown.type, unknown.data.result.verdict], ["execution.completed", "IE"]);
      await sweeper.stop();
      await lost.stop(); // what it does late has no effect

      const bySuspension = await create();
      const { accountId } = project.key;
      await store.accounts.setSuspended(accountId, true, "test");
      const data = await ended(bySuspension, "suspended");
      await store.accounts.setSuspended(accountId, false, "test");
      assert.deepEqual(data, await record(bySuspension));

      for (const id of [byClient, `${byClient}.1`, byTime, lost.sandbox, lost.execution, bySuspension])
        assert.equal(messages(id).length, 1, id);
      assert.equal(receiver.received.length, 6, "nothing else was sent");
      await deliverer.stop();
      const states = (await store.deliveries.list({ max: 10 })).map(({ state }) => state);
      assert.deepEqual(states, Array(6).fill("delivered"));
      await host.stop();
    },
  );
});
