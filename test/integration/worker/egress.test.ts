import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import type { SandboxHandle } from "../../../src/domain/sandboxes/host.ts";
import { type SandboxRefusalCode, SandboxRefused } from "../../../src/domain/sandboxes/sandbox.ts";
import { EGRESS_SOCKET } from "../../../src/egress/egress-thread.ts";
import { localServer } from "../../support/egress/network.ts";
import type { FakeRelay, RelayedConnection } from "../../support/egress/relay.ts";
import { addressOf, connectAgain } from "../../support/egress/thread.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { newKeeper } from "../../support/sandboxes/keeper.ts";
import { MemoryEngine, type Program } from "../../support/sandboxes/memory-engine.ts";
import { egressDirectory, egressOf, openNetwork } from "../../support/sandboxes/networked.ts";
import { addKey, type OpenTemporary, onEachDatabase, temporaryStore } from "../../support/store/temporary.ts";

/*
 * The network of sandboxes in the worker, without a launcher: programs and the relay are functions of the test. The databases, the proxy and its thread are
 * real.
 */

const NAME = "api.example.com";
const MIB = 1_048_576;
const LIMIT = { timeout: 120_000 };
const echo = (socket: Socket) => socket.pipe(socket);
const allowing = (port: number, budgets: object = {}) => ({ allow: [{ host: NAME, ports: [port] }], ...budgets });
const refused = (code: SandboxRefusalCode) => (error: unknown) => SandboxRefused.is(error, code);

/** Sends bytes over a connection, and waits until they are back. */
async function exchange(connection: RelayedConnection, bytes: string): Promise<void> {
  assert.equal(connection.answer, 0);
  const text = () => Buffer.concat(connection.received).toString("latin1");
  const before = text().length;
  connection.socket.write(bytes);
  while (text().length < before + bytes.length) await new Promise((resolve) => setTimeout(resolve, 2));
}

async function started(t: TestContext, open: OpenTemporary, ports: readonly number[]) {
  const { directory, remove } = egressDirectory();
  t.after(remove);
  const temporary = await open(t);
  temporary.clock.nowMs = Date.now();
  const { store } = temporary;
  const key = await addKey(store, "one");
  await openNetwork(store, key.accountId, { ports });
  let lastGroup = 100n;
  /** What the shell commands of the test do. */
  const programs: Record<string, (relay: FakeRelay, cgroupId: bigint) => Promise<void>> = {};
  let relay: FakeRelay | null = null;
  const program: Program = async ({ step, begun }) => {
    const cgroupId = ++lastGroup;
    begun(cgroupId);
    const act = programs[step.command.at(-1) ?? ""];
    if (act && relay) await act(relay, cgroupId);
    return {};
  };
  const engine = new MemoryEngine(program);
  const begin = async (name = "here", leaves = false) => {
    const egress = await egressOf(t, directory, store, { worker: name });
    const keeper = newKeeper({
      ...{ store, engine, egress, worker: name, leaves, leaseMs: 300 },
      capacity: { sandboxes: 8, memoryBytes: 4096 * MIB, cpus: 2, diskBytes: 0, network: true },
    });
    let isStopped = false;
    const stop = async () => {
      if (isStopped) return;
      isStopped = true;
      await keeper.stop();
      await egress.stop();
    };
    t.after(stop);
    return { keeper, egress, stop };
  };
  const path = join(directory, EGRESS_SOCKET);
  const connect = async () => {
    relay?.close();
    relay = await connectAgain(path, engine.boxes.at(-1)?.network ?? "");
    const connected = relay;
    t.after(() => connected.close());
    return connected;
  };
  const run = async (living: SandboxHandle, shell: string) => await (await living.execute(shellRequest(shell))).ended;
  const request = (policy: unknown) => sandboxRequest({ network: parseNetworkPolicy(policy) });
  return { store, key, engine, programs, begin, connect, run, request };
}

onEachDatabase((open) => {
  test("executions have their own connections in their stored records, and the sandbox has all", LIMIT, async (t) => {
    const server = await localServer(t, echo);
    const { store, key, programs, begin, connect, run, request } = await started(t, open, [server.port]);
    const { keeper } = await begin();
    const { id } = await keeper.create(request(allowing(server.port)), callerOf(key), null);
    const living = await keeper.find(id, key.accountId);
    await connect();
    const talk = (bytes: string) => async (relay: FakeRelay, cgroupId: bigint) => {
      const connection = await relay.open(await addressOf(relay, NAME, cgroupId), server.port, cgroupId);
      await exchange(connection, bytes);
      connection.socket.end();
    };
    Object.assign(programs, { one: talk("x"), two: talk("yy") });
    const both = await Promise.all([run(living, "one"), run(living, "two")]);
    assert.deepEqual(
      both.map(({ egress }) => [egress?.bytes_up, egress?.connections.map((one) => one.ended)]),
      [
        [1, ["client"]],
        [2, ["client"]],
      ],
    );
    const stored = await store.sandboxes.execution(id, key.accountId, 2);
    assert.deepEqual(stored?.egress, both[1]?.egress);
    const whole = await living.egress();
    assert.deepEqual([whole?.bytes_up, whole?.hosts.length, whole?.unattributed.connections], [3, 1, []]);
    await living.end();
    assert.deepEqual(await store.sandboxes.egress(id, key.accountId), whole);
    const plain = await keeper.create(sandboxRequest(), callerOf(key), null);
    const other = await keeper.find(plain.id, key.accountId);
    assert.equal((await run(other, "nothing")).egress, null);
    assert.equal(await other.egress(), null);
    await assert.rejects(
      other.replaceNetwork(parseNetworkPolicy(allowing(server.port))),
      refused("sandboxWithoutNetwork"),
    );
  });

  test("a policy beyond the bound is refused, and a narrowed bound reaches sandboxes that live", LIMIT, async (t) => {
    const server = await localServer(t, echo);
    const { store, key, begin, connect, request } = await started(t, open, [server.port, 9]);
    const { keeper } = await begin();
    await assert.rejects(keeper.create(request(allowing(1)), callerOf(key), null), refused("networkForbidden"));
    const { id } = await keeper.create(request(allowing(server.port)), callerOf(key), null);
    const living = await keeper.find(id, key.accountId);
    await assert.rejects(living.replaceNetwork(parseNetworkPolicy(allowing(1))), refused("networkForbidden"));
    const relay = await connect();
    const connection = await relay.open(await addressOf(relay, NAME), server.port);
    await exchange(connection, "x");
    await openNetwork(store, key.accountId, { ports: [9] });
    assert.equal(await connection.ended, "reset");
    while (living.sandbox.network.version < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(living.sandbox.network.network, "none");
    await openNetwork(store, key.accountId, { ports: [server.port] });
    const opened = await living.replaceNetwork(parseNetworkPolicy(allowing(server.port)));
    assert.equal(opened.network.version, 3);
    await exchange(await relay.open(await addressOf(relay, NAME), server.port), "y");
  });

  test(
    "the next process has the network, its policy and what was used; unused leases were given back",
    LIMIT,
    async (t) => {
      const server = await localServer(t, echo);
      const { key, begin, connect, request } = await started(t, open, [server.port, 9]);
      const first = await begin("first", true);
      const { id } = await first.keeper.create(request(allowing(9, { bytes_up: 1_000 })), callerOf(key), null);
      const before = await first.keeper.find(id, key.accountId);
      await before.replaceNetwork(parseNetworkPolicy(allowing(server.port, { bytes_up: 1_000 })));
      const relay = await connect();
      await exchange(await relay.open(await addressOf(relay, NAME), server.port), "x".repeat(300));
      await first.stop();
      const second = await begin("second", true);
      await second.keeper.takeOver();
      const living = await second.keeper.find(id, key.accountId);
      const next = await connect();
      const connection = await next.open(await addressOf(next, NAME), server.port);
      await exchange(connection, "y".repeat(600));
      const egress = await living.egress();
      assert.deepEqual([egress?.bytes_up, egress?.budget_left.up, egress?.policy_version], [900, 100, 2]);
      assert.deepEqual([egress?.complete, egress?.hosts[0]?.bytes_up], [false, 600]);
      connection.socket.write("z".repeat(200));
      assert.equal(await connection.ended, "reset");
      assert.equal((await living.egress())?.bytes_up, 1_000);
    },
  );

  test("sandboxes of two workers that share a day use exactly its bytes", LIMIT, async (t) => {
    const server = await localServer(t, echo);
    const { store, key, engine, request } = await started(t, open, [server.port]);
    const bytes = 300_000;
    const policy = { allow: [{ host: NAME, ports: [server.port] }], bytes_up: MIB };
    await openNetwork(store, key.accountId, { policy: { ...policy, bytes_down: MIB }, bytes_up_per_day: bytes });
    const sandboxes: { readonly living: SandboxHandle; readonly relay: FakeRelay }[] = [];
    for (const worker of ["first", "second"]) {
      const { directory, remove } = egressDirectory();
      t.after(remove);
      const egress = await egressOf(t, directory, store, { worker });
      const capacity = { sandboxes: 8, memoryBytes: 4096 * MIB, cpus: 2, diskBytes: 0, network: true };
      const keeper = newKeeper({ store, engine, egress, worker, capacity });
      t.after(() => keeper.stop());
      const { id } = await keeper.create(request({ ...policy, bytes_down: MIB }), callerOf(key), null);
      const relay = await connectAgain(join(directory, EGRESS_SOCKET), engine.boxes.at(-1)?.network ?? "");
      t.after(() => relay.close());
      sandboxes.push({ living: await keeper.find(id, key.accountId), relay });
    }
    const send = async (relay: FakeRelay) => {
      const connection = await relay.open(await addressOf(relay, NAME), server.port);
      connection.socket.write("x".repeat(MIB / 2));
      assert.equal(await connection.ended, "reset");
    };
    await Promise.all(sandboxes.flatMap(({ relay }) => Array.from({ length: 8 }, () => send(relay))));
    const records = await Promise.all(sandboxes.map(({ living }) => living.egress()));
    assert.equal(
      records.reduce((sum, record) => sum + (record?.bytes_up ?? 0), 0),
      bytes,
    );
    const reasons = records.flatMap((record) => record?.unattributed.connections.map(({ reason }) => reason));
    assert.deepEqual(
      [...new Set(reasons)],
      ["the budget of bytes that the sandboxes of this project or account may send in a day is used up"],
    );
    const { up } = await store.egress.leftToday(await store.egress.bound(key.accountId, null));
    assert.equal(up, 0);
  });
});

test("a machine without networks refuses them, and takes sandboxes that have one over without it", LIMIT, async (t) => {
  const server = await localServer(t, echo);
  const { store, key, engine, begin, request } = await started(t, temporaryStore, [server.port]);
  const first = await begin("first", true);
  const { id } = await first.keeper.create(request(allowing(server.port)), callerOf(key), null);
  await first.stop();
  const second = newKeeper({ store, engine, worker: "second" });
  t.after(() => second.stop());
  await second.takeOver();
  const living = await second.find(id, key.accountId);
  assert.equal(await living.egress(), null);
  await assert.rejects(living.replaceNetwork("none"), refused("networkOff"));
  await assert.rejects(second.create(request(allowing(server.port)), callerOf(key), null), refused("networkOff"));
});
