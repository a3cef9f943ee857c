import assert from "node:assert/strict";
import { existsSync, statSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { egressSchema } from "../../../src/domain/egress/egress-record.ts";
import { parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import { localServer, until } from "../../support/egress/network.ts";
import { FakeRelay, type RelayedConnection } from "../../support/egress/relay.ts";
import { addressOf, connectAgain, registration, startEgress, TOKEN } from "../../support/egress/thread.ts";

const NAME = "api.example.com";
const echo = (socket: Socket) => socket.pipe(socket);
const text = (connection: RelayedConnection) => Buffer.concat(connection.received).toString("latin1");
const allowing = (port: number, budgets: object = {}) => ({ allow: [{ host: NAME, ports: [port] }], ...budgets });

/** Sends bytes over a connection, and waits until they are back. */
async function exchange(connection: RelayedConnection, bytes: string): Promise<void> {
  assert.equal(connection.answer, 0);
  const before = text(connection).length;
  connection.socket.write(bytes);
  await until(() => text(connection).length === before + bytes.length);
}

test("a sandbox reaches what its policy allows, and its execution has the connection in its record", async (t) => {
  const server = await localServer(t, echo);
  const { egress, path, counts, ledger } = await startEgress(t);
  assert.equal(statSync(path).mode & 0o777, 0o666, "relays are users of their own");
  const network = await egress.register(registration(allowing(server.port)));
  const relay = await FakeRelay.connect(path, TOKEN);
  const step = network.step(1);
  step.begun(77n);
  const connection = await relay.open(await addressOf(relay, NAME, 77n), server.port, 77n);
  await exchange(connection, "hello");
  assert.equal((await relay.open("93.184.215.14", 443, 77n)).answer, 1);
  await assert.rejects(addressOf(relay, "evil.test", 77n), /has no address/);
  const now = await network.record(1);
  assert.equal(now.connections[0]?.ended, null);
  connection.socket.end();
  step.over();
  const record = egressSchema.parse(await network.take(1, true));
  assert.deepEqual(
    record.connections.map(({ at: _, ...rest }) => rest),
    [
      {
        name: NAME,
        address: "127.0.0.1",
        port: server.port,
        decision: "allowed",
        rule: NAME,
        reason: null,
        bytes_up: 5,
        bytes_down: 5,
        ended: "client",
      },
      {
        name: null,
        address: "93.184.215.14",
        port: 443,
        decision: "denied",
        rule: null,
        reason: "93.184.215.14 is not allowed by the policy of this sandbox",
        bytes_up: 0,
        bytes_down: 0,
        ended: null,
      },
    ],
  );
  assert.deepEqual(record.refused_names, [{ name: "evil.test", queries: 1 }]);
  assert.deepEqual(
    [record.source, record.complete, record.dns],
    ["inet_diag cgroup id", true, { answered: 1, refused: 1 }],
  );
  assert.deepEqual((await network.record(1)).connections, [], "forgotten");
  const totals = await network.totals();
  assert.deepEqual([totals.bytes_up, totals.bytes_down, totals.denied, totals.complete], [5, 5, 1, true]);
  assert.deepEqual(totals.unattributed.connections, []);
  await network.close();
  assert.deepEqual(ledger.leased, { up: 5, down: 5 }, "what was not used is given back");
  assert.deepEqual(
    ledger.hosts.map(({ name, decision, connections }) => [name, decision, connections]),
    [
      ["93.184.215.14", "denied", 1],
      [NAME, "allowed", 1],
    ],
  );
  await until(() => counts.get("egressBytes up") === 5 && counts.get("egressConnections denied_policy") === 1);
  assert.equal(counts.get("egressConnections client"), 1);
});

test("a connection that comes before its step has begun waits, and belongs to it; leftovers belong to the sandbox", async (t) => {
  const server = await localServer(t, echo);
  const { egress, path } = await startEgress(t);
  const network = await egress.register(registration(allowing(server.port)));
  const relay = await FakeRelay.connect(path, TOKEN);
  const address = await addressOf(relay, NAME);
  const first = network.step(1);
  first.begun(5n);
  await exchange(await relay.open(address, server.port, 5n), "a");
  first.over();
  // The next execution uses the cgroup again. Its connection arrives before this process has read that it has begun.
  const second = network.step(2);
  const early = relay.open(address, server.port, 5n);
  await sleep(30);
  second.begun(5n);
  await exchange(await early, "bb");
  const [one, two] = [await network.take(1, false), await network.record(2)];
  assert.deepEqual([one.bytes_up, two.bytes_up], [1, 2]);
  second.over();
  const background = await network.take(2, false);
  assert.equal(background.connections[0]?.ended, null);
  await exchange(await early, "ccc");
  await exchange(await relay.open(address, server.port, 5n), "dddd");
  const { unattributed, hosts, bytes_up } = await network.totals();
  assert.deepEqual(
    unattributed.connections.map((connection) => connection.bytes_up).toSorted(),
    [0, 3, 4],
    "the connection of the first execution is still open, too",
  );
  assert.equal(unattributed.source, "sandbox");
  assert.equal(bytes_up, 10);
  assert.deepEqual(
    hosts.map(({ name, connections }) => [name, connections]),
    [[NAME, 3]],
  );
});

test("a policy holds when its replacement resolves, and a lower version is refused", async (t) => {
  const server = await localServer(t, echo);
  const { egress, path } = await startEgress(t);
  const network = await egress.register(registration(allowing(server.port)));
  const relay = await FakeRelay.connect(path, TOKEN);
  const address = await addressOf(relay, NAME);
  const connection = await relay.open(address, server.port);
  await exchange(connection, "x");
  await network.replacePolicy({ version: 2, network: parseNetworkPolicy(allowing(1)) });
  assert.equal(await connection.ended, "reset");
  assert.equal((await relay.open(address, server.port)).answer, 1);
  await assert.rejects(network.replacePolicy({ version: 2, network: "none" }), /does not follow/);
  await network.replacePolicy({ version: 3, network: "none" });
  assert.equal((await relay.open(address, 1)).answer, 1);
  assert.equal((await network.record(null)).policy_version, 3);
});

test("budgets are leased, and what earlier processes used counts", async (t) => {
  const server = await localServer(t, echo);
  const { egress, path, ledger } = await startEgress(t);
  ledger.limits = { up: 100, down: 1_000 };
  ledger.leased.up = 60;
  const network = await egress.register(
    registration(allowing(server.port, { bytes_up: 100, bytes_down: 1_000 }), { used: { up: 60, down: 0 } }),
  );
  const relay = await FakeRelay.connect(path, TOKEN);
  const connection = await relay.open(await addressOf(relay, NAME), server.port);
  connection.socket.write("x".repeat(500));
  assert.equal(await connection.ended, "reset");
  const { bytes_up, budget_left } = await network.totals();
  assert.deepEqual([bytes_up, budget_left.up, ledger.leased.up], [100, 0, 100]);
});

test("a database that fails ends connections, says nothing of itself, and is counted", async (t) => {
  const server = await localServer(t, echo);
  const { egress, path, ledger, counts } = await startEgress(t);
  const network = await egress.register(registration(allowing(server.port)));
  const relay = await FakeRelay.connect(path, TOKEN);
  const address = await addressOf(relay, NAME);
  ledger.isBroken = true;
  const connection = await relay.open(address, server.port);
  connection.socket.write("x");
  assert.equal(await connection.ended, "reset");
  const [logged] = (await network.record(null)).connections;
  assert.deepEqual(
    [logged?.ended, logged?.reason],
    ["budget", "no bytes could be reserved: the database cannot be reached"],
  );
  assert.equal(counts.get("egressLeaseFailures lease"), 1);
  await network.storeHosts();
  ledger.isBroken = false;
  await exchange(await relay.open(address, server.port), "y");
  await network.storeHosts();
  const stored = ledger.hosts.reduce((sum, { connections }) => sum + connections, 0);
  assert.equal(stored, 2, "what could not be stored is stored later, and once");
  ledger.isBroken = true;
  await network.close(); // never rejects
  assert.ok((counts.get("egressLeaseFailures give_back") ?? 0) > 0);
});

test("a thread that dies closes everything, counts its leases as used, and the next one serves the sandbox again", async (t) => {
  const server = await localServer(t, echo);
  const { egress, path, ledger, counts, killThread } = await startEgress(t);
  const MiB = 2 ** 20;
  const network = await egress.register(registration(allowing(server.port, { bytes_up: 16 * MiB })));
  const relay = await FakeRelay.connect(path, TOKEN);
  const step = network.step(1);
  step.begun(5n);
  const connection = await relay.open(await addressOf(relay, NAME, 5n), server.port, 5n);
  await exchange(connection, "before");
  assert.equal(ledger.leased.up, MiB);
  await network.replacePolicy({
    version: 2,
    network: parseNetworkPolicy(allowing(server.port, { bytes_up: 8 * MiB })),
  });
  const controlEnded = new Promise((resolve) => relay.control.once("close", resolve));
  await killThread();
  await Promise.all([connection.ended, controlEnded]);
  const next = await connectAgain(path);
  await exchange(await next.open(await addressOf(next, NAME, 5n), server.port, 5n), "after");
  const totals = await network.totals();
  assert.deepEqual([totals.policy_version, totals.complete], [2, false]);
  assert.equal(totals.bytes_up, MiB + 5, "a lease that was lost counts as used");
  step.over();
  const record = await network.take(1, false);
  assert.deepEqual([record.complete, record.bytes_up, record.connections.length], [false, 5, 1]);
  const later = network.step(2);
  later.begun(5n);
  assert.equal((await network.record(2)).complete, true);
  assert.equal(counts.get("egressRestarts"), 1);
});

test("a sandbox that is closed, or taken over, while no thread runs is neither lost nor open", async (t) => {
  const server = await localServer(t, echo);
  const { egress, path, killThread } = await startEgress(t);
  const first = await egress.register(registration(allowing(server.port)));
  await killThread();
  const other = "f".repeat(32);
  const [second] = await Promise.all([
    egress.register(registration(allowing(server.port), { token: other, sandboxId: "second" })),
    first.close(),
    first.take(1, true),
  ]);
  const relay = await connectAgain(path, other);
  await exchange(await relay.open(await addressOf(relay, NAME), server.port), "x");
  await assert.rejects(FakeRelay.connect(path, TOKEN), /the answer to the control connection is null/);
  assert.equal((await second.totals()).complete, true);
});

test("a socket that an earlier process left is replaced, and a stop leaves none", async (t) => {
  const { egress, path } = await startEgress(t);
  await egress.stop();
  assert.equal(existsSync(path), false);
  writeFileSync(path, "");
  const { egress: next } = await startEgress(t, { path });
  await next.register(registration("none"));
  await FakeRelay.connect(path, TOKEN);
});

test("a thread that cannot begin is an error at the start", async (t) => {
  await assert.rejects(startEgress(t, { path: "/no/such/directory/egress.sock" }), /ENOENT|EACCES/);
});
