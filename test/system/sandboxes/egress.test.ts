import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, before, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import type { ExecutionRequest } from "../../../src/domain/sandboxes/execution.ts";
import type { SandboxHandle } from "../../../src/domain/sandboxes/host.ts";
import { SandboxRefused } from "../../../src/domain/sandboxes/sandbox.ts";
import { toLongExecutionRecord } from "../../../src/domain/sandboxes/sandbox-record.ts";
import { sandboxesOf } from "../../../src/sandbox/held-sandbox.ts";
import { localServer } from "../../support/egress/network.ts";
import { watchThreads } from "../../support/egress/thread.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, tracesLeft } from "../../support/launcher/machine.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { newKeeper, untilOutput } from "../../support/sandboxes/keeper.ts";
import { egressDirectory, egressOf, openNetwork } from "../../support/sandboxes/networked.ts";
import { addKey, type OpenTemporary, onEachDatabase } from "../../support/store/temporary.ts";

/*
 * Sandboxes with a network, with the real launcher, relay, proxy and databases. Servers of the test, and its name server, stand for the internet.
 */

const MIB = 1_048_576;
const LIMIT = { timeout: 240_000 };
const NAME = "api.example.com";
const place = egressDirectory();
let launcher: Launcher;

before(async () => {
  launcher = await startLauncher({ sandboxes: 4, sandboxMemory: 2048 * MIB, egress: place.directory });
});

after(async () => {
  assert.equal(await launcher.stop(), 0, launcher.stderr());
  assert.deepEqual(await tracesLeft(launcher), []);
  place.remove();
});

const echo = (socket: Socket) => socket.pipe(socket);
/** Sends as long as somebody reads. */
const flood = (socket: Socket) => {
  const write = () => {
    if (!socket.destroyed) socket.write(Buffer.alloc(65_536, "x"), () => setImmediate(write));
  };
  write();
};

/** Python that exchanges bytes with a server, or says which error that was. */
const PROGRAM = `
import socket, sys
def exchange(name, port, data=b"hello"):
  try:
    s = socket.create_connection((name, port), 20)
    s.sendall(data)
    got = b""
    while len(got) < len(data):
      part = s.recv(65536)
      if not part: break
      got += part
    s.close()
    return got.decode()
  except OSError as error: return type(error).__name__
def download(name, port):
  s = socket.create_connection((name, port), 20)
  total = 0
  print("begun", flush=True)
  try:
    while part := s.recv(65536): total += len(part)
  except OSError as error: print(type(error).__name__)
  print(total)
`;
const python = (text: string) => `exec python3 -c '${PROGRAM}\n${text}'`;

const run = async (living: SandboxHandle, shell: string, changes: Partial<ExecutionRequest> = {}) =>
  await (await living.execute(shellRequest(shell, changes))).ended;

const outputOf = (ended: Awaited<ReturnType<typeof run>>) => {
  const { stdout, stderr } = ended.outcome?.output ?? {};
  assert.equal(stderr?.toString("utf8"), "");
  return stdout?.toString("utf8").trim();
};

/** A worker over a new database, and an account for which an operator has opened the network. */
async function worker(t: TestContext, open: OpenTemporary, ports: readonly number[]) {
  const temporary = await open(t);
  temporary.clock.nowMs = Date.now();
  const { store } = temporary;
  const key = await addKey(store, "one");
  await openNetwork(store, key.accountId, { ports });
  /** Starts a process with the sandboxes. */
  const begin = async (name = "here", leaves = false) => {
    const threads = watchThreads(t);
    const egress = await egressOf(t, place.directory, store, { worker: name });
    const keeper = newKeeper({
      store,
      egress,
      engine: sandboxesOf(launcher.socket),
      worker: name,
      capacity: { sandboxes: 4, memoryBytes: 2048 * MIB, cpus: 1, diskBytes: 0, network: true },
      leaseMs: 3_000, // it is renewed each second
      leaves,
    });
    let isStopped = false;
    const stop = async () => {
      if (isStopped) return;
      isStopped = true;
      await keeper.stop();
      await egress.stop();
    };
    t.after(stop);
    const create = async (policy: unknown): Promise<SandboxHandle> => {
      const request = sandboxRequest({ network: parseNetworkPolicy(policy) });
      const { id } = await keeper.create(request, callerOf(key), null);
      return await keeper.find(id, key.accountId);
    };
    return { egress, keeper, create, stop, killThread: async () => void (await threads.at(-1)?.terminate()) };
  };
  return { store, key, begin };
}

/** Waits until a condition holds. The time limit of the test ends a wait for something that never happens. */
async function until(_what: string, condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(100);
}

const allowing = (port: number, budgets: object = {}) => ({ allow: [{ host: NAME, ports: [port] }], ...budgets });

onEachDatabase((open) => {
  test("an execution reaches what the policy allows, and its record lists exactly that", LIMIT, async (t) => {
    const server = await localServer(t, echo);
    const { store, key, begin } = await worker(t, open, [server.port]);
    const { create } = await begin();
    const living = await create(allowing(server.port));
    assert.ok(living.sandbox.evidence?.controls.includes("no_route_out"));
    const ended = await run(
      living,
      python(`
print(exchange("${NAME}", ${server.port}))
print(exchange("www.evil.test", ${server.port}))
print(exchange("93.184.215.14", ${server.port}))
print(exchange("${NAME}", 9))`),
    );
    assert.equal(outputOf(ended), "hello\ngaierror\nConnectionResetError\nConnectionResetError");
    const { egress } = toLongExecutionRecord(ended);
    assert.deepEqual(
      egress?.connections.map(({ at: _, ...connection }) => connection),
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
        ...[
          [null, "93.184.215.14", server.port, "93.184.215.14 is not allowed by the policy of this sandbox"] as const,
          [
            NAME,
            egress?.connections[2]?.address,
            9,
            `port 9 of ${NAME} is not allowed by the policy of this sandbox`,
          ] as const,
        ].map(([name, address, port, reason]) => ({
          ...{ name, address, port, decision: "denied", rule: null, reason, bytes_up: 0, bytes_down: 0, ended: null },
        })),
      ],
    );
    assert.deepEqual(
      [egress?.source, egress?.complete, egress?.denied, egress?.bytes_up, egress?.bytes_down, egress?.policy_version],
      ["inet_diag cgroup id", true, 2, 5, 5, 1],
    );
    const refused = egress?.refused_names ?? [];
    assert.deepEqual(
      refused.map(({ name }) => name),
      ["www.evil.test"],
    );
    assert.ok((refused[0]?.queries ?? 9) <= 2, "one question for each version of addresses: nothing is tried again");
    // Two executions at the same time have records of their own; what one has left behind belongs to the sandbox.
    const at = (size: number) => run(living, python(`print(len(exchange("${NAME}", ${server.port}, b"x" * ${size})))`));
    const both = await Promise.all([at(100), at(20_000)]);
    assert.deepEqual(both.map(outputOf), ["100", "20000"]);
    assert.deepEqual(
      both.map((one) => [one.egress?.bytes_up, one.egress?.connections.length]),
      [
        [100, 1],
        [20_000, 1],
      ],
    );
    const left = await run(
      living,
      `(sleep 1; ${python(`exchange("${NAME}", ${server.port}, b"later")`)}) >/dev/null 2>&1 & true`,
      {
        background: true,
      },
    );
    assert.equal(left.egress?.connections.length, 0);
    await until(
      "the process that was left has connected",
      async () => (await living.egress())?.unattributed.bytes_up === 5,
    );
    const plain = await run(living, "echo $PIP_RETRIES");
    assert.deepEqual([outputOf(plain), plain.egress?.dns], ["0", { answered: 0, refused: 0 }]);
    const { id, accountId } = living.sandbox;
    await living.end();
    const whole = await store.sandboxes.egress(id, accountId);
    assert.deepEqual([whole?.bytes_up, whole?.denied, whole?.complete], [5 + 100 + 20_000 + 5, 2, true]);
    assert.deepEqual(
      whole?.hosts.filter(({ decision }) => decision === "allowed").map(({ name, connections }) => [name, connections]),
      [[NAME, 4]],
    );
    const day = new Date().toISOString().slice(0, 10);
    const hosts = await store.egress.hosts({ accountId: key.accountId, fromDay: "2000-01-01", toDay: day, max: 100 });
    assert.deepEqual(hosts.map(({ name, decision, connections }) => `${name} ${decision} ${connections}`).toSorted(), [
      `93.184.215.14 denied 1`,
      `${NAME} allowed 4`,
      `${NAME} denied 1`,
    ]);
  });

  test(
    "a budget is used to the last byte, whatever the number of connections, and is one of all executions",
    LIMIT,
    async (t) => {
      const server = await localServer(t, flood);
      const { begin } = await worker(t, open, [server.port]);
      const { create } = await begin();
      const bytes = 5_000_017;
      const living = await create(allowing(server.port, { bytes_down: bytes }));
      const many = python(`
import threading
threads = [threading.Thread(target=download, args=("${NAME}", ${server.port})) for n in range(16)]
for t in threads: t.start()
for t in threads: t.join()`);
      const ended = await Promise.all([run(living, many), run(living, many)]);
      const used = ended.reduce((sum, { egress }) => sum + (egress?.bytes_down ?? 0), 0);
      assert.equal(used, bytes);
      const [egress] = ended.map((one) => one.egress);
      assert.equal(egress?.budget_left.down, 0);
      for (const { ended: how, reason } of egress?.connections ?? [])
        assert.match(`${how}: ${reason}`, /^budget: the budget of bytes that this sandbox may receive is used up$/);
      const more = await run(living, python(`download("${NAME}", ${server.port})`));
      assert.match(outputOf(more) ?? "", /^begun\n(ConnectionResetError\n)?0$/);
    },
  );

  test("a policy that is replaced, or narrowed by an operator, ends a download at once", LIMIT, async (t) => {
    const server = await localServer(t, flood);
    const { store, key, begin } = await worker(t, open, [server.port, 9]);
    const { create } = await begin();
    const budgets = { bytes_down: 2 ** 40 };
    const living = await create(allowing(server.port, budgets));
    const downloading = async () => {
      const running = await living.execute(shellRequest(python(`download("${NAME}", ${server.port})`)));
      await untilOutput(running, "begun");
      return running;
    };
    const first = await downloading();
    const replaced = await living.replaceNetwork(parseNetworkPolicy(allowing(9, budgets)));
    assert.equal(replaced.network.version, 2);
    const ended = await first.ended;
    assert.match(outputOf(ended) ?? "", /ConnectionResetError/);
    const [connection] = ended.egress?.connections ?? [];
    assert.equal(connection?.ended, "policy");
    assert.equal(ended.egress?.policy_version, 2);
    assert.equal(
      outputOf(await run(living, python(`print(exchange("${NAME}", ${server.port}))`))),
      "ConnectionResetError",
    );
    await assert.rejects(
      living.replaceNetwork(parseNetworkPolicy({ allow: [{ host: "other.test", ports: [9] }] })),
      (error) => SandboxRefused.is(error, "networkForbidden"),
    );
    await living.replaceNetwork(parseNetworkPolicy(allowing(server.port, budgets)));
    const second = await downloading();
    await openNetwork(store, key.accountId, { ports: [9] });
    // No bytes are leased beyond the new bound from this moment on, which can end a connection before the renewal applies the new policy.
    assert.match((await second.ended).egress?.connections[0]?.ended ?? "", /^(policy|budget)$/);
    await eventually("the policy is narrowed", () => living.sandbox.network.version === 4);
  });

  test("a restart of the service keeps the network, the policy and what was used", LIMIT, async (t) => {
    const server = await localServer(t, echo);
    const { store, key, begin } = await worker(t, open, [server.port, 9]);
    const first = await begin("first", true);
    const before = await first.create(allowing(9, { bytes_up: 10_000 }));
    const { id } = before.sandbox;
    await before.replaceNetwork(parseNetworkPolicy(allowing(server.port, { bytes_up: 10_000 })));
    const sent = (size: number) => python(`print(len(exchange("${NAME}", ${server.port}, b"x" * ${size})))`);
    assert.equal(outputOf(await run(before, sent(4_000))), "4000");
    await first.stop();
    const second = await begin("second", true);
    await second.keeper.takeOver();
    const living = await second.keeper.find(id, key.accountId);
    assert.equal(living.sandbox.network.version, 2);
    const used = await living.egress();
    assert.deepEqual([used?.bytes_up, used?.budget_left.up, used?.complete], [4_000, 6_000, false]);
    await until("the relay has found the next proxy", async () => {
      const ended = await run(living, sent(10));
      return outputOf(ended) === "10" && ended.egress?.complete === true;
    });
    const rest = await run(living, python(`print(exchange("${NAME}", ${server.port}, b"x" * 20000))`));
    assert.equal(outputOf(rest), "ConnectionResetError");
    assert.deepEqual(rest.egress?.budget_left.up, 0);
    await living.end();
    assert.equal((await store.sandboxes.egress(id, key.accountId))?.bytes_up, 10_000);
  });

  test("while there is no proxy, nothing can be reached; the next one serves the sandbox again", LIMIT, async (t) => {
    const [server, floods] = [await localServer(t, echo), await localServer(t, flood)];
    const { begin } = await worker(t, open, [server.port, floods.port]);
    const { create, egress, killThread } = await begin();
    const living = await create({ allow: [{ host: NAME, ports: [server.port, floods.port] }], bytes_down: 2 ** 40 });
    const running = await living.execute(shellRequest(python(`download("${NAME}", ${floods.port})`)));
    await untilOutput(running, "begun");
    await killThread();
    const ended = await running.ended;
    assert.match(outputOf(ended) ?? "", /ConnectionResetError/);
    assert.equal(ended.egress?.complete, false);
    const exchange = python(`print(exchange("${NAME}", ${server.port}))`);
    await until("the next thread serves the sandbox", async () => outputOf(await run(living, exchange)) === "hello");
    const next = await run(living, exchange);
    assert.deepEqual([next.egress?.complete, next.egress?.connections.length], [true, 1]);
    // As when the worker dies: its sockets are closed. The launcher does not know what a proxy is.
    await egress.stop();
    const closed = await run(
      living,
      python(`
print(exchange("${NAME}", ${server.port}))
print(exchange("198.18.1.0", ${server.port}))`),
    );
    assert.match(outputOf(closed) ?? "", /^gaierror\nConnection(Reset|Refused)Error$/);
    assert.deepEqual([closed.egress?.complete, closed.egress?.connections], [false, []]);
  });
});
