import assert from "node:assert/strict";
import type { AddressInfo, Socket } from "node:net";
import { before, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer } from "node:tls";
import pino from "pino";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import type { Delivery } from "../../../src/store/deliveries/types.ts";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { Deliverer } from "../../../src/webhooks/deliverer.ts";
import { threadedPost } from "../../../src/webhooks/threaded-post.ts";
import { temporaryStore } from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";
import {
  addEndpoint,
  addProject,
  deliveryBudget,
  endOne,
  type Project,
  sealer,
} from "../../support/webhooks/project.ts";
import { type Certificates, makeCertificates, type Receiver, startReceiver } from "../../support/webhooks/receiver.ts";

/** Effects of one account on another account's deliveries, with real receivers, store and services. */
const LIMIT = { timeout: 120_000 };
/**
 * The documented bound: an account's first attempt begins within this time, regardless of the actions of any other
 * single account.
 */
const FIRST_ATTEMPT_MS = 1_000;

let certificates: Certificates;
before(() => {
  certificates = makeCertificates();
});

function serve(t: TestContext, store: Store, receivers: readonly Pick<Receiver, "port">[]): Deliverer {
  const allowed = receivers.map(({ port }) => ({ host: "127.0.0.1", port }));
  const post = threadedPost({ ca: certificates.ca });
  const sending = { sealer, allowed, post, foreignApis: FOREIGN_APIS, userAgent: "Assay/0.0.0" };
  const deliverer = Deliverer.start({ store, log: pino({ enabled: false }), drainMs: 0, ...sending });
  t.after(() => deliverer.stop());
  return deliverer;
}

/** A store with the real clock. */
async function fixture(t: TestContext) {
  const { database } = await temporaryStore(t);
  const stores: Store[] = [];
  t.after(() => Promise.all(stores.map((store) => store.close())));
  const open = async () => {
    const store = await openStore({ database });
    stores.push(store);
    return store;
  };
  return { store: await open(), open };
}

/** Creates an account with 20 endpoints in two projects and five results for each endpoint. */
async function attack(store: Store, url: string, account = "attacker"): Promise<Project[]> {
  const projects = [await addProject(store, account), await addProject(store, `${account} 2`, account)];
  for (const project of projects) {
    for (let at = 0; at < 10; at++) await addEndpoint(store, project, { url });
    for (let at = 0; at < 5; at++) await endOne(store, project);
  }
  return projects;
}

/** The time from each result to the first attempt of its delivery. */
async function firstAttempts(store: Store, project: Project, receiver: Receiver, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at++) {
    const before = receiver.received.length;
    const endedMs = Date.now();
    await endOne(store, project);
    await Promise.race([receiver.until(before + 1), sleep(3 * FIRST_ATTEMPT_MS)]);
    times.push((receiver.received[before]?.atMs ?? Number.POSITIVE_INFINITY) - endedMs);
  }
  return times.sort((a, b) => a - b);
}

const at = (sorted: readonly number[], part: number) => sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN;
const text = (sorted: readonly number[]) => `p50 ${at(sorted, 0.5)} ms, p99 ${at(sorted, 0.99)} ms`;

for (const services of [1, 2]) {
  test(
    `receivers that never respond do not delay the first attempt of another account: ${services} services`,
    LIMIT,
    async (t) => {
      const silent = await startReceiver(t, certificates, () => {});
      const quick = await startReceiver(t, certificates);
      const { store, open } = await fixture(t);
      const honest = await addProject(store, "honest");
      await addEndpoint(store, honest, { url: quick.url });
      serve(t, store, [silent, quick]);
      for (let other = 1; other < services; other++) serve(t, await open(), [silent, quick]);
      const alone = await firstAttempts(store, honest, quick, 30);
      await attack(store, silent.url);
      await sleep(1_500);
      const during = await firstAttempts(store, honest, quick, 30);
      t.diagnostic(`alone: ${text(alone)}; during ${silent.received.length} attempts: ${text(during)}`);
      assert.ok(silent.received.length >= 32, `${silent.received.length} attempts of the attacker`);
      assert.ok(at(during, 1) < FIRST_ATTEMPT_MS, text(during));
    },
  );
}

/** The longest record: 1 MiB of control characters on both streams, six bytes of JSON each. */
const MIB = Buffer.alloc(1024 * 1024, 1);
const LONGEST = buildOutcome({ execute: report({ stdout: MIB, stderr: MIB }) });

test(
  "receivers that do not read hold 32 MiB of one account's bodies and do not delay another account",
  LIMIT,
  async (t) => {
    const deaf = await startDeafReceiver(t);
    const quick = await startReceiver(t, certificates);
    const { store } = await fixture(t);
    const honest = await addProject(store, "honest");
    await addEndpoint(store, honest, { url: quick.url });
    const attacker = await addProject(store, "attacker");
    for (let at = 0; at < 10; at++) await addEndpoint(store, attacker, { url: deaf.url });
    await endOne(store, attacker, LONGEST);
    await endOne(store, attacker, LONGEST);
    const before = memoryMib();
    serve(t, store, [deaf, quick]);
    await sleep(2_000);
    const during = await firstAttempts(store, honest, quick, 10);
    const heldMib = memoryMib() - before;
    t.diagnostic(
      `${deaf.connections()} attempts with a body of 12.6 MB hold ${heldMib} MiB; in the meantime: ${text(during)}`,
    );
    assert.equal(deaf.connections(), 2);
    assert.ok(heldMib < 64, `${heldMib} MiB`);
    assert.ok(at(during, 1) < FIRST_ATTEMPT_MS, text(during));
  },
);

/** Accepts connections and stops reading after the handshake. */
async function startDeafReceiver(t: TestContext): Promise<Pick<Receiver, "url" | "port" | "connections">> {
  const sockets = new Set<Socket>();
  const server = createServer({ cert: certificates.cert, key: certificates.key }, (socket) => {
    sockets.add(socket.on("error", () => {}).pause());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `https://127.0.0.1:${port}/hook`, connections: () => sockets.size };
}

/** This process's memory outside of V8's heap, where bodies are. */
function memoryMib(): number {
  return Math.round(process.memoryUsage().external / 1024 / 1024);
}

test("pending deliveries of a removed endpoint end in parts and do not delay another account", LIMIT, async (t) => {
  const quick = await startReceiver(t, certificates);
  const { store } = await fixture(t);
  const honest = await addProject(store, "honest");
  await addEndpoint(store, honest, { url: quick.url });
  const [project] = await attack(store, quick.url);
  assert.ok(project);
  const [endpoint] = await store.endpoints.list({ projectId: project.id });
  const [delivery] = await store.deliveries.list({ max: 1, endpointId: endpoint?.id });
  assert.ok(endpoint && delivery);
  for (let at = 0; at < 1_200; at++) await store.deliveries.replay(delivery.id, "test");
  await store.endpoints.remove(endpoint.id, "test");
  const left = async () =>
    (await store.deliveries.list({ max: 2_000, endpointId: endpoint.id })).filter(pending).length;
  await store.deliveries.claimDue({ leaseMs: 1_000, ...deliveryBudget(1) });
  assert.equal(await left(), 1_205 - 500);
  serve(t, store, [quick]);
  const [first = Number.NaN] = await firstAttempts(store, honest, quick, 1);
  assert.ok(first < FIRST_ATTEMPT_MS, `${first} ms`);
  while ((await left()) > 0) await sleep(100); // woken by remaining deliveries, not by the clock
});

const pending = ({ state }: Delivery) => state === "pending";
