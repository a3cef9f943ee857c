import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import pino from "pino";
import { parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import { EGRESS_SOCKET } from "../../../src/egress/egress-thread.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { hasNetwork, NetworkRuns } from "../../../src/worker/sandboxes/network-runs.ts";
import { localServer } from "../../support/egress/network.ts";
import type { FakeRelay } from "../../support/egress/relay.ts";
import { addressOf, connectAgain } from "../../support/egress/thread.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { callerOf, sandboxRequest } from "../../support/sandboxes/caller.ts";
import { newKeeper } from "../../support/sandboxes/keeper.ts";
import { MemoryEngine, type Program } from "../../support/sandboxes/memory-engine.ts";
import { egressDirectory, egressOf, openNetwork } from "../../support/sandboxes/networked.ts";
import { addKey, enqueue, type OpenTemporary, onEachDatabase } from "../../support/store/temporary.ts";

/*
 * Submissions with a network in the worker, without a launcher: programs and the relay are functions of the test. The databases, the proxy and its thread are
 * real.
 */

const NAME = "api.example.com";
const MIB = 1_048_576;
const LIMIT = { timeout: 120_000 };
const echo = (socket: Socket) => socket.pipe(socket);
const never = new AbortController().signal;
const quiet = { signal: never, onOutput: () => {} };

/** Sends bytes to a server and waits until they are back. */
async function exchange(relay: FakeRelay, port: number, cgroupId: bigint, bytes: string): Promise<void> {
  const connection = await relay.open(await addressOf(relay, NAME, cgroupId), port, cgroupId);
  assert.equal(connection.answer, 0);
  connection.socket.write(bytes);
  while (Buffer.concat(connection.received).length < bytes.length) await new Promise((again) => setTimeout(again, 2));
  connection.socket.end();
}

async function started(
  t: TestContext,
  open: OpenTemporary,
  program: (relay: FakeRelay, cgroupId: bigint) => ReturnType<Program>,
) {
  const { directory, remove } = egressDirectory();
  t.after(remove);
  const temporary = await open(t);
  temporary.clock.nowMs = Date.now();
  const { store } = temporary;
  const key = await addKey(store, "one");
  const server = await localServer(t, echo);
  await openNetwork(store, key.accountId, { ports: [server.port, 9] });
  let lastGroup = 100n;
  const engine = new MemoryEngine(async ({ step, begun, killed }) => {
    const cgroupId = ++lastGroup;
    begun(cgroupId);
    if (step.command[0] === "/bin/sh") return {}; // it writes the code
    const relay = await connectAgain(join(directory, EGRESS_SOCKET), engine.boxes.at(-1)?.network ?? "");
    t.after(() => relay.close());
    killed.addEventListener("abort", () => relay.close());
    return await program(relay, cgroupId);
  });
  const egress = await egressOf(t, directory, store);
  const keeper = newKeeper({
    ...{ store, engine, egress },
    capacity: { sandboxes: 2, memoryBytes: 4096 * MIB, cpus: 2, diskBytes: 0, network: true },
  });
  t.after(() => keeper.stop());
  const log = pino({ level: "silent" });
  const runs = new NetworkRuns({
    store,
    keeper,
    engine,
    egress,
    languages: loadLanguages(LANGUAGES),
    leaseMs: 300,
    log,
  });
  const claim = async (more: Partial<Parameters<typeof enqueue>[2]> = {}) => {
    const network = parseNetworkPolicy({ allow: [{ host: NAME, ports: [server.port] }] });
    await enqueue(store, key, { profile: "agent", network, ...more });
    const [claimed] = await store.submissions.claim("here", 60_000, 1, 0, [], true);
    assert.ok(claimed && hasNetwork(claimed));
    return claimed;
  };
  const read = ({ submission: { id } }: Claim) => store.submissions.network(id, key.accountId);
  return { store, key, engine, keeper, egress, runs, server, claim, read };
}

onEachDatabase((open) => {
  test(
    "a submission runs in a sandbox of its own, whose evidence and connections are known afterwards",
    LIMIT,
    async (t) => {
      const { engine, keeper, runs, server, claim, read, store, key } = await started(
        t,
        open,
        async (relay, cgroupId) => {
          await exchange(relay, server.port, cgroupId, "hello");
          return { stdout: Buffer.from("42\n"), stdoutSeen: 3, stdoutKept: 3 };
        },
      );
      const one = await claim();
      const release = await runs.place(one, never);
      assert.ok(release);
      assert.equal(keeper.counts().held.sandboxes, 1);
      const outcome = await runs.run(one, quiet);
      release();
      assert.deepEqual(
        [outcome.result.verdict, outcome.status],
        ["AC", "completed"],
        outcome.result.errorMessage ?? "",
      );
      assert.equal(outcome.evidence?.teardown.cleanupVerified, true);
      assert.ok(engine.boxes[0]?.controls.every((name) => outcome.evidence?.isolation.controlsApplied.includes(name)));
      assert.deepEqual([engine.boxes.length, engine.boxes[0]?.isEnded, engine.boxes[0]?.isKept], [1, true, false]);
      const found = await read(one);
      assert.deepEqual(
        found?.egress?.connections.map(({ name, bytes_up, bytes_down, ended }) => [name, bytes_up, bytes_down, ended]),
        [[NAME, 5, 5, "client"]],
      );
      const [host] = await store.egress.hosts({ accountId: key.accountId, fromDay: "2000", toDay: "3000", max: 9 });
      assert.deepEqual([host?.name, host?.connections], [NAME, 1]);
      // What was leased and not used was given back.
      await store.submissions.release(one.lease, false);
      const [again] = await store.submissions.claim("here", 60_000, 1, 0, [], true);
      assert.deepEqual(again?.network?.leased, { up: 5, down: 5 });
      const { held } = keeper.counts();
      assert.deepEqual([held.sandboxes, held.memoryBytes, held.connections], [0, 0, 0]);
    },
  );

  test("without room it waits, gets the first that becomes free, and is given up in time", LIMIT, async (t) => {
    const { keeper, runs, claim, key } = await started(t, open, async () => ({}));
    const sandbox = await keeper.create(sandboxRequest({}), callerOf(key), null);
    const one = await claim();
    let isPlaced = false;
    const waiting = runs.place(one, never).then((release) => {
      isPlaced = true;
      return release;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(isPlaced, false, "an account that has one of two places leaves the other one");
    await (await keeper.find(sandbox.id, key.accountId)).end();
    const release = await waiting;
    assert.ok(release);
    const stopping = new AbortController();
    const given = runs.place(one, stopping.signal);
    stopping.abort();
    assert.equal(await given, undefined);
    assert.equal(await runs.place(one, never), undefined);
    release();
    assert.equal(keeper.counts().held.sandboxes, 0);
  });

  test("a bound that was narrowed holds from the start, and while the program runs", LIMIT, async (t) => {
    const { store, key, runs, server, claim, read } = await started(t, open, async (relay, cgroupId) => {
      const connection = await relay.open(await addressOf(relay, NAME, cgroupId), server.port, cgroupId);
      assert.equal(connection.answer, 0);
      await openNetwork(store, key.accountId, { ports: [9] });
      assert.equal(await connection.ended, "reset");
      return {};
    });
    const one = await claim();
    assert.equal((await runs.run(one, quiet)).result.verdict, "AC");
    const egress = (await read(one))?.egress;
    assert.deepEqual([egress?.policy_version, egress?.connections[0]?.ended], [2, "policy"]);
    const two = await claim();
    await assert.rejects(runs.run(two, quiet), /has no address/);
    const second = (await read(two))?.egress;
    assert.deepEqual([second?.policy_version, second?.bytes_up, second?.dns.answered], [2, 0, 0]);
  });

  test("a cancelled run is killed, and what it reached is stored all the same", LIMIT, async (t) => {
    const over = new AbortController();
    const { engine, runs, server, claim, read } = await started(t, open, async (relay, cgroupId) => {
      await exchange(relay, server.port, cgroupId, "secret");
      over.abort();
      return await new Promise(() => {});
    });
    const one = await claim();
    await runs.run(one, { ...quiet, signal: over.signal });
    assert.equal(engine.boxes[0]?.isEnded, true);
    assert.equal((await read(one))?.egress?.bytes_up, 6);
  });

  test(
    "a box without all controls, a lost one and one that is too large are errors of the platform",
    LIMIT,
    async (t) => {
      const { engine, egress, runs, claim, read } = await started(t, open, async () => {
        engine.boxes.at(-1)?.lose();
        return {};
      });
      engine.missing = ["no_route_out: refused"];
      await assert.rejects(runs.run(await claim(), quiet), /no_route_out/);
      assert.equal(engine.boxes[0]?.isEnded, true);
      engine.missing = [];
      const lost = await claim();
      await assert.rejects(runs.run(lost, quiet));
      assert.ok((await read(lost))?.egress);
      assert.equal(egress.open, 0);
      const small = new NetworkRuns({
        ...{ engine, egress, languages: loadLanguages(LANGUAGES), leaseMs: 300, log: pino({ level: "silent" }) },
        store: (await open(t)).store,
        keeper: {
          capacity: { sandboxes: 2, memoryBytes: 64 * MIB, cpus: 2, diskBytes: 0, network: true },
          reserveRun: () => undefined,
          onRoom: () => () => {},
        },
      });
      const large = await claim();
      const release = await small.place(large, never);
      assert.ok(release);
      const { status, result } = await small.run(large, quiet);
      assert.deepEqual([status, /needs \d+/.test(result.errorMessage ?? "")], ["error", true]);
    },
  );
});
