import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, before, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import { parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import { toRecord } from "../../../src/domain/record.ts";
import { isTerminal } from "../../../src/domain/submission.ts";
import { sandboxesOf } from "../../../src/sandbox/held-sandbox.ts";
import { NetworkRuns } from "../../../src/worker/sandboxes/network-runs.ts";
import { Worker } from "../../../src/worker/worker.ts";
import { localServer } from "../../support/egress/network.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { tracesLeft } from "../../support/launcher/machine.ts";
import { newKeeper } from "../../support/sandboxes/keeper.ts";
import { egressDirectory, egressOf, openNetwork } from "../../support/sandboxes/networked.ts";
import { addKey, enqueue, type OpenTemporary, onEachDatabase } from "../../support/store/temporary.ts";
import { someLanguages } from "../../support/worker/some-languages.ts";

/*
 * Submissions with a network, with the real launcher, worker, proxy and databases. Servers of the test, and its name server, stand for the internet.
 */

const MIB = 1_048_576;
const LIMIT = { timeout: 240_000 };
const NAME = "api.example.com";
const place = egressDirectory();
let launcher: Launcher;

before(async () => {
  launcher = await startLauncher({ slots: 4, sandboxes: 2, sandboxMemory: 2600 * MIB, egress: place.directory });
});

after(async () => {
  assert.equal(await launcher.stop(), 0, launcher.stderr());
  assert.deepEqual(await tracesLeft(launcher), []);
  place.remove();
});

const echo = (socket: Socket) => socket.pipe(socket);

/** Python that prints what a server sends back, or the error. */
const python = (port: number, then = "") => `
import socket, sys, time
def exchange(name, port, data):
  try:
    s = socket.create_connection((name, port), 20)
    s.sendall(data)
    return s.recv(100).decode()
  except OSError as error: return type(error).__name__
print(exchange("${NAME}", ${port}, sys.stdin.buffer.read()), flush=True)
print(exchange("www.evil.test", ${port}, b"x"))
${then}
`;

/** The same in C, without the second host: compiled in the sandbox as well. */
const c = (port: number) => `
#include <netdb.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
  char text[100] = "";
  if (argc != 2 || getaddrinfo("${NAME}", "${port}", &hints, &found)) return 2;
  int s = socket(found->ai_family, SOCK_STREAM, 0);
  if (connect(s, found->ai_addr, found->ai_addrlen) || write(s, argv[1], 5) != 5 || read(s, text, 99) < 1) return 3;
  return puts(text) < 0;
}
`;

/** A worker that gives programs a network, and an account for which an operator has opened one. */
async function started(t: TestContext, open: OpenTemporary) {
  const server = await localServer(t, echo);
  const temporary = await open(t);
  temporary.clock.nowMs = Date.now();
  const { store } = temporary;
  const key = await addKey(store, "one");
  await openNetwork(store, key.accountId, { ports: [server.port] });
  const log = pino({ level: process.env.ASSAY_TEST_LOG ?? "silent" });
  const languages = someLanguages(["python", "c"]);
  const worker = Worker.start({
    ...{ store, languages, log, foreignApis: FOREIGN_APIS, launcherSocket: launcher.socket },
    ...{ workers: 2, leaseMs: 3_000, drainMs: 10_000 },
  });
  const egress = await egressOf(t, place.directory, store, { worker: worker.id });
  const engine = sandboxesOf(launcher.socket);
  const keeper = newKeeper({
    ...{ store, egress, engine, worker: worker.id, leaseMs: 3_000 },
    capacity: { sandboxes: 2, memoryBytes: 2600 * MIB, cpus: 1, diskBytes: 0, network: true },
  });
  t.after(async () => {
    await Promise.all([worker.stop(), keeper.stop()]);
    await egress.stop();
  });
  await worker.begun;
  const submit = async (more: Partial<Parameters<typeof enqueue>[2]>) => {
    const network = parseNetworkPolicy({ allow: [{ host: NAME, ports: [server.port] }] });
    const added = await enqueue(store, key, { profile: "agent", network, ...more });
    assert.ok("submission" in added);
    return added.submission.id;
  };
  const ended = async (id: string) => {
    for (;;) {
      const submission = await store.submissions.get(id, key.accountId);
      assert.ok(submission);
      if (isTerminal(submission.status)) return toRecord(submission);
      await sleep(50);
    }
  };
  const egressIn = async (id: string) => (await store.submissions.network(id, key.accountId))?.egress ?? null;
  const runs = new NetworkRuns({ store, keeper, engine, egress, languages, leaseMs: 3_000, log });
  return { store, key, server, worker, keeper, runs, submit, ended, egressIn };
}

onEachDatabase((open) => {
  test("a program reaches what its policy allows, with a record like any other", LIMIT, async (t) => {
    const { store, key, server, worker, keeper, runs, submit, ended, egressIn } = await started(t, open);
    const first = await submit({ code: python(server.port), stdin: "hello" });
    const plain = await enqueue(store, key, { profile: "agent", code: python(server.port), stdin: "hello" });
    assert.ok("submission" in plain);
    // Until the worker can give programs a network, it serves what is behind the submission.
    const without = await ended(plain.submission.id);
    assert.match(without.output.stdout ?? "", /^(?!hello)\w+\n\w+\n$/);
    assert.equal((await store.submissions.get(first, key.accountId))?.status, "pending");
    worker.runNetworks(runs);
    const record = await ended(first);
    assert.deepEqual(
      [record.status, record.result.verdict, record.output.stdout, record.output.stderr],
      ["completed", "AC", "hello\ngaierror\n", ""],
      record.result.error_message ?? "",
    );
    const { evidence } = record;
    assert.ok(evidence?.isolation.controls_applied.includes("no_route_out"));
    assert.deepEqual([evidence?.isolation.mode, evidence?.isolation.controls_missing], ["strict", []]);
    assert.equal(evidence?.teardown.cleanup_verified, true, JSON.stringify(evidence?.teardown));
    const egress = await egressIn(first);
    assert.deepEqual(
      egress?.connections.map(({ name, bytes_up, bytes_down, decision }) => [name, bytes_up, bytes_down, decision]),
      [[NAME, 5, 5, "allowed"]],
    );
    assert.deepEqual([egress?.source, egress?.complete], ["inet_diag cgroup id", true]);
    assert.deepEqual(
      egress?.refused_names.map(({ name }) => name),
      ["www.evil.test"],
    );
    const options = { files: [], entry: null, args: ["hello"], env: {}, limits: {} };
    const compiled = await submit({ language: "c", code: c(server.port), options });
    const second = await ended(compiled);
    assert.deepEqual([second.result.verdict, second.output.stdout], ["AC", "hello\n"], JSON.stringify(second.result));
    assert.equal((await egressIn(compiled))?.bytes_up, 5);
    const wrong = await ended(await submit({ language: "c", code: "int main(void) { return x; }" }));
    assert.deepEqual([wrong.result.verdict, wrong.result.cause], ["RE", "compile_error"]);
    const { sandboxes, memoryBytes, connections } = keeper.counts().held;
    assert.deepEqual([sandboxes, memoryBytes, connections], [0, 0, 0]);
  });

  test("its limits give the same verdicts as without a network, and a cancelled one is removed", LIMIT, async (t) => {
    const { store, key, server, worker, runs, submit, ended, egressIn } = await started(t, open);
    worker.runNetworks(runs);
    const limited = async (then: string, limits: object) => {
      const options = { files: [], entry: null, args: [], env: {}, limits };
      const id = await submit({ code: python(server.port, then), stdin: "hello", options });
      return { record: await ended(id), egress: await egressIn(id) };
    };
    for (const [then, limits, verdict, cause] of [
      ["time.sleep(60)", { wall_time_secs: 2 }, "TLE", "wall_timeout"],
      ["x = bytearray(300 << 20)", { memory_bytes: 128 * MIB }, "MLE", "oom_kill"],
      ["import os\nwhile True: os.fork() or time.sleep(60)", { processes: 8 }, "PLE", "pids_limit"],
      ["sys.exit(3)", {}, "RE", "nonzero_exit"],
    ] as const) {
      const { record, egress } = await limited(then, limits);
      assert.deepEqual([record.result.verdict, record.result.cause], [verdict, cause], JSON.stringify(record.result));
      assert.equal(record.evidence?.teardown.cleanup_verified, true);
      assert.deepEqual([egress?.connections.length, egress?.bytes_up], [1, 5]);
    }
    const id = await submit({ code: python(server.port, "time.sleep(600)"), stdin: "hello" });
    while ((await store.submissions.get(id, key.accountId))?.status !== "running") await sleep(20);
    await sleep(1_000);
    await store.submissions.cancel(id, key.accountId);
    while ((await egressIn(id)) === null) await sleep(20);
  });
});
