import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { Webhook } from "standardwebhooks";
import { rotateEndpointSecret } from "../../../src/admin/endpoints.ts";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import { internalError } from "../../../src/domain/outcome.ts";
import { toRecord } from "../../../src/domain/record.ts";
import type { Delivery } from "../../../src/store/deliveries/types.ts";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { Deliverer, type DelivererOptions } from "../../../src/webhooks/deliverer.ts";
import { threadedPost } from "../../../src/webhooks/threaded-post.ts";
import { noting } from "../../support/metrics/noting.ts";
import { stopwatch } from "../../support/stopwatch.ts";
import { type Temporary, temporaryStore } from "../../support/store/temporary.ts";
import {
  ACTOR,
  addEndpoint,
  addProject,
  deliveryBudget,
  endOne,
  type Project,
  SEALING_KEY,
  sealer,
} from "../../support/webhooks/project.ts";
import { type Answer, makeCertificates, type Receiver, startReceiver } from "../../support/webhooks/receiver.ts";

const certificates = makeCertificates();
const LIMIT = { timeout: 30_000 };

interface Fixture {
  readonly temporary: Temporary;
  readonly store: Store;
  readonly project: Project;
}

/** A store with the real wall clock. */
async function fixture(t: TestContext): Promise<Fixture> {
  const temporary = await temporaryStore(t);
  Object.defineProperty(temporary.clock, "nowMs", { get: () => Date.now() });
  return { temporary, store: temporary.store, project: await addProject(temporary.store) };
}

function start(t: TestContext, store: Store, receivers: readonly Receiver[], more: Partial<DelivererOptions> = {}) {
  const deliverer = Deliverer.start({
    store,
    sealer,
    allowed: receivers.map(({ port }) => ({ host: "127.0.0.1", port })),
    post: threadedPost({ ca: certificates.ca }),
    foreignApis: FOREIGN_APIS,
    userAgent: "Assay/0.0.0",
    drainMs: 5_000,
    log: pino({ level: "silent" }),
    ...more,
  });
  t.after(() => deliverer.stop());
  return deliverer;
}

async function ended(store: Store, submissionId: string): Promise<Delivery> {
  for (;;) {
    const [delivery] = await store.deliveries.list({ max: 1, submissionId });
    if (delivery && delivery.state !== "pending") return delivery;
    await sleep(10);
  }
}

/** Ends a submission while a deliverer runs. Stops the deliverer before the store. */
async function deliverTo(t: TestContext, answer: Answer, outcome?: Parameters<typeof endOne>[2]) {
  const receiver = await startReceiver(t, certificates, answer);
  const { store, project } = await fixture(t);
  const { secret } = await addEndpoint(store, project, { url: receiver.url });
  const { meter, said } = noting();
  const deliverer = start(t, store, [receiver], { meter });
  await sleep(50); // now it sleeps and must be woken
  const sinceEndMs = stopwatch();
  const id = await endOne(store, project, outcome);
  const delivery = await ended(store, id);
  const tookMs = sinceEndMs();
  await deliverer.stop();
  return { receiver, secret, store, project, id, delivery, said, tookMs };
}

test("delivers a result at once, signed, as the record that the API returns", LIMIT, async (t) => {
  const { receiver, secret, store, project, id, delivery, tookMs } = await deliverTo(t, (response) =>
    response.end("ok"),
  );
  assert.ok(tookMs < 3_000, "the deliverer was not woken");
  assert.deepEqual([delivery.state, delivery.attempts.length, delivery.attempts[0]?.status], ["delivered", 1, 200]);
  const [one, ...others] = receiver.received;
  assert.ok(one);
  assert.deepEqual(others, []);
  const submission = await store.submissions.get(id, project.key.accountId);
  assert.ok(submission);
  assert.deepEqual(new Webhook(secret).verify(one.body, one.headers as Record<string, string>), toRecord(submission));
  assert.equal(one.body.toString(), JSON.stringify(toRecord(submission)));
  assert.equal(one.headers["webhook-id"], id);
});

test("delivers an error like a completion", LIMIT, async (t) => {
  const { receiver, delivery } = await deliverTo(
    t,
    (response) => response.end(),
    internalError("the sandbox was lost"),
  );
  assert.equal(delivery.state, "delivered");
  const record = JSON.parse(receiver.received[0]?.body.toString() ?? "");
  assert.deepEqual([record.status, record.result.verdict], ["error", "IE"]);
});

test(
  "5xx: three attempts after delays of one and five seconds, with the same id and new signatures",
  LIMIT,
  async (t) => {
    const { receiver, secret, store, project, id, delivery, said } = await deliverTo(t, (response) =>
      response.writeHead(503).end("busy"),
    );
    assert.deepEqual(
      said,
      ["again", "again", "failed"].map((outcome) => `webhookAttempts ${outcome}`),
    );
    assert.deepEqual([delivery.state, delivery.nextAtMs], ["failed", null]);
    assert.deepEqual(
      delivery.attempts.map(({ status, answer }) => [status, answer?.toString()]),
      [1, 2, 3].map(() => [503, "busy"]),
    );
    // How long a busy machine needs beyond that is not a promise. test/unit/webhooks/next-attempt.test.ts has the exact delays.
    const [first = 0, second = 0, third = 0] = receiver.received.map(({ atMs }) => atMs);
    assert.ok(second - first >= 1_000, `${second - first} ms`);
    assert.ok(third - second >= 5_000, `${third - second} ms`);
    const signatures = new Set<unknown>();
    for (const { headers, body } of receiver.received) {
      assert.equal(headers["webhook-id"], id);
      new Webhook(secret).verify(body, headers as Record<string, string>);
      signatures.add(headers["webhook-signature"]);
    }
    assert.equal(signatures.size, 3);
    assert.equal((await store.submissions.get(id, project.key.accountId))?.status, "completed");
  },
);

test("a second attempt that succeeds is the last", LIMIT, async (t) => {
  let times = 0;
  const { delivery, said } = await deliverTo(t, (response) => response.writeHead(times++ === 0 ? 500 : 200).end());
  assert.deepEqual(said, ["webhookAttempts again", "webhookAttempts delivered"]);
  assert.equal(delivery.state, "delivered");
  assert.deepEqual(
    delivery.attempts.map(({ status }) => status),
    [500, 200],
  );
});

test("4xx and redirects have no second attempt", LIMIT, async (t) => {
  for (const status of [400, 410, 302]) {
    const { receiver, delivery } = await deliverTo(t, (response) => response.writeHead(status).end());
    assert.deepEqual([delivery.state, delivery.attempts.length, receiver.received.length], ["failed", 1, 1]);
  }
});

test("a restart keeps the schedule and the count of attempts", LIMIT, async (t) => {
  const receiver = await startReceiver(t, certificates, (response) => response.writeHead(500).end());
  const { temporary, store, project } = await fixture(t);
  await addEndpoint(store, project, { url: receiver.url });
  const id = await endOne(store, project);
  const first = await openStore({ database: temporary.database });
  const deliverer = start(t, first, [receiver]);
  await receiver.until(1);
  await deliverer.stop();
  await first.close();
  const second = await openStore({ database: temporary.database });
  t.after(() => second.close());
  const [pending] = await second.deliveries.list({ max: 1, submissionId: id });
  assert.deepEqual([pending?.state, pending?.attempts.length], ["pending", 1]);
  const nextAtMs = pending?.nextAtMs ?? 0;
  assert.ok(nextAtMs >= (receiver.received[0]?.atMs ?? 0) + 1_000, `${nextAtMs}`);
  const planned: unknown[] = [];
  const { claimDue } = second.deliveries;
  t.mock.method(second.deliveries, "claimDue", async (...args: Parameters<typeof claimDue>) => {
    if (receiver.received.length === 1)
      planned.push((await second.deliveries.list({ max: 1, submissionId: id }))[0]?.nextAtMs);
    return claimDue(...args);
  });
  const again = start(t, second, [receiver]);
  const delivery = await ended(second, id);
  await again.stop();
  assert.equal(delivery.attempts.length, 3);
  assert.equal(receiver.received.length, 3);
  assert.deepEqual([...new Set(planned)], [nextAtMs]);
  assert.ok((receiver.received[1]?.atMs ?? 0) >= nextAtMs);
});

test("stopping waits for an attempt under way and records it", LIMIT, async (t) => {
  const receiver = await startReceiver(t, certificates, (response) => setTimeout(() => response.end("late"), 500));
  const { store, project } = await fixture(t);
  await addEndpoint(store, project, { url: receiver.url });
  const id = await endOne(store, project);
  const deliverer = start(t, store, [receiver]);
  await receiver.until(1);
  await deliverer.stop();
  const [delivery] = await store.deliveries.list({ max: 1, submissionId: id });
  assert.deepEqual([delivery?.state, delivery?.attempts[0]?.answer?.toString()], ["delivered", "late"]);
});

test(
  "an attempt that outlasts the stop is released and repeated at the next start with the same id",
  LIMIT,
  async (t) => {
    let times = 0;
    const receiver = await startReceiver(t, certificates, (response) => void (times++ > 0 && response.end()));
    const { store, project } = await fixture(t);
    await addEndpoint(store, project, { url: receiver.url });
    const id = await endOne(store, project);
    const deliverer = start(t, store, [receiver], { drainMs: 100 });
    await receiver.until(1);
    const tookMs = stopwatch();
    await deliverer.stop();
    assert.ok(tookMs() < 2_000);
    const [pending] = await store.deliveries.list({ max: 1, submissionId: id });
    assert.deepEqual([pending?.state, pending?.attempts], ["pending", []]);
    const again = start(t, store, [receiver]);
    const delivery = await ended(store, id);
    await again.stop();
    assert.deepEqual([delivery.state, delivery.attempts.length], ["delivered", 1]);
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers["webhook-id"]),
      [id, id],
    );
  },
);

test("a claim of a dead process is sent after its lease", LIMIT, async (t) => {
  const receiver = await startReceiver(t, certificates);
  const { store, project } = await fixture(t);
  await addEndpoint(store, project, { url: receiver.url });
  const id = await endOne(store, project);
  const [begun, endedMs] = [Date.now(), stopwatch()];
  assert.equal((await store.deliveries.claimDue({ leaseMs: 700, ...deliveryBudget(1) })).length, 1);
  const deliverer = start(t, store, [receiver]);
  assert.equal((await ended(store, id)).state, "delivered");
  const [leastMs, mostMs] = [Date.now() - begun, endedMs()];
  assert.ok(leastMs >= 700 && mostMs < 3_000, `${leastMs} and ${mostMs} ms`);
  await deliverer.stop();
});

test(
  "a delivery whose process is killed during an attempt is repeated after its lease with the same id",
  LIMIT,
  async (t) => {
    let times = 0;
    const receiver = await startReceiver(t, certificates, (response) => void (times++ > 0 && response.end()));
    const { temporary, store, project } = await fixture(t);
    await addEndpoint(store, project, { url: receiver.url });
    const id = await endOne(store, project);
    const child = new URL("./dying-deliverer.ts", import.meta.url).pathname;
    const key = SEALING_KEY.toString("hex");
    const given = { database: temporary.database, port: receiver.port, ca: certificates.ca, key, leaseMs: 3_000 };
    const dying = spawn(process.execPath, [child, JSON.stringify(given)], { stdio: "inherit" });
    t.after(() => dying.kill("SIGKILL"));
    await receiver.until(1);
    const killed = once(dying, "exit");
    dying.kill("SIGKILL");
    await killed;
    const deliverer = start(t, store, [receiver]);
    const delivery = await ended(store, id);
    await deliverer.stop();
    assert.deepEqual([delivery.state, delivery.attempts.length], ["delivered", 1]);
    const [first, second, ...others] = receiver.received;
    assert.deepEqual([first?.headers["webhook-id"], second?.headers["webhook-id"], others], [id, id, []]);
    assert.deepEqual(second?.body, first?.body);
  },
);

test("two services on one outbox make each attempt once", LIMIT, async (t) => {
  const receiver = await startReceiver(t, certificates, (response) => setTimeout(() => response.end(), 20));
  const { temporary, store, project } = await fixture(t);
  for (let i = 0; i < 3; i++) await addEndpoint(store, project, { url: receiver.url });
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) ids.push(await endOne(store, project));
  const other = await openStore({ database: temporary.database });
  t.after(() => other.close());
  const deliverers = [start(t, store, [receiver]), start(t, other, [receiver])];
  await receiver.until(60);
  await sleep(300);
  await Promise.all(deliverers.map((deliverer) => deliverer.stop()));
  const got = receiver.received.map(({ headers }) => headers["webhook-id"]).sort();
  assert.deepEqual(got, ids.flatMap((id) => [id, id, id]).sort());
  const all = await store.deliveries.list({ max: 100 });
  assert.deepEqual(
    all.map(({ state, attempts }) => [state, attempts.length]),
    all.map(() => ["delivered", 1]),
  );
});

test("receivers that never answer do not delay other receivers", LIMIT, async (t) => {
  const silent = await startReceiver(t, certificates, () => {});
  const quick = await startReceiver(t, certificates);
  const { store, project } = await fixture(t);
  const other = await addProject(store, "another");
  for (let i = 0; i < 3; i++) await addEndpoint(store, project, { url: silent.url });
  await addEndpoint(store, other, { url: quick.url });
  for (let i = 0; i < 15; i++) await endOne(store, project);
  const deliverer = start(t, store, [silent, quick], { drainMs: 0 });
  await silent.until(12); // four of each endpoint
  await sleep(100);
  assert.equal(silent.received.length, 12);
  const tookMs = stopwatch();
  for (let i = 0; i < 5; i++) await ended(store, await endOne(store, other));
  const took = tookMs();
  assert.ok(took < 3_000, `${took} ms`);
  assert.equal(quick.received.length, 5);
  await deliverer.stop();
});

test("an endpoint that was deactivated meanwhile gets no attempt", LIMIT, async (t) => {
  const receiver = await startReceiver(t, certificates);
  const { store, project } = await fixture(t);
  const { id: endpoint } = await addEndpoint(store, project, { url: receiver.url });
  const id = await endOne(store, project);
  await store.endpoints.setActive(endpoint, false, ACTOR);
  const deliverer = start(t, store, [receiver]);
  const delivery = await ended(store, id);
  await deliverer.stop();
  assert.deepEqual([delivery.state, delivery.reason, delivery.attempts], ["failed", "the endpoint is not active", []]);
  assert.equal(receiver.connections(), 0);
});

test("the service sends a replay requested by a command, with the same id and body", LIMIT, async (t) => {
  const receiver = await startReceiver(t, certificates);
  const { temporary, store, project } = await fixture(t);
  await addEndpoint(store, project, { url: receiver.url });
  const deliverer = start(t, store, [receiver]);
  const id = await endOne(store, project);
  const delivery = await ended(store, id);
  const command = await openStore({ database: temporary.database });
  const replayed = await command.deliveries.replay(delivery.id, "test");
  await command.close();
  await receiver.until(2);
  await deliverer.stop();
  const [first, second] = receiver.received;
  assert.deepEqual(second?.body, first?.body);
  assert.equal(second?.headers["webhook-id"], id);
  const [again] = await store.deliveries.list({ max: 1, id: replayed ?? "" });
  assert.deepEqual([again?.kind, again?.state], ["replay", "delivered"]);
});

test("a disallowed address is recorded as one attempt without a connection", LIMIT, async (t) => {
  const receiver = await startReceiver(t, certificates);
  const { store, project } = await fixture(t);
  await addEndpoint(store, project, { url: receiver.url });
  const deliverer = start(t, store, []);
  const delivery = await ended(store, await endOne(store, project));
  await deliverer.stop();
  assert.equal(delivery.state, "failed");
  assert.deepEqual([delivery.attempts.length, delivery.attempts[0]?.status], [1, null]);
  assert.match(delivery.attempts[0]?.error ?? "", /only public addresses are allowed: 127\.0\.0\.1 is loopback/);
  assert.equal(receiver.connections(), 0);
});

test(
  "receivers can verify with both secrets during the overlap of a rotation, and with the new one afterwards",
  LIMIT,
  async (t) => {
    const receiver = await startReceiver(t, certificates);
    const { store, project } = await fixture(t);
    const { id, secret: old } = await addEndpoint(store, project, { url: receiver.url });
    const deliverer = start(t, store, [receiver]);
    const signedWith = async () => {
      const count = receiver.received.length;
      await ended(store, await endOne(store, project));
      const one = receiver.received[count];
      assert.ok(one);
      return one;
    };
    const verifies = ({ body, headers }: Awaited<ReturnType<typeof signedWith>>, secret: string) => {
      try {
        new Webhook(secret).verify(body, headers as Record<string, string>);
        return true;
      } catch {
        return false;
      }
    };
    const rotate = (overlapMs: number) => rotateEndpointSecret({ store, sealer }, id, overlapMs, ACTOR);
    const before = await signedWith();
    assert.match(String(before.headers["webhook-signature"]), /^v1,[A-Za-z0-9+/]{43}=$/);
    const { secret, formerEndsAt } = await rotate(3_000);
    const during = await signedWith();
    assert.match(String(during.headers["webhook-signature"]), /^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
    assert.deepEqual([verifies(during, secret), verifies(during, old)], [true, true]);
    assert.ok(Date.now() < Date.parse(formerEndsAt), "the machine was too slow for this test");
    await sleep(Date.parse(formerEndsAt) - Date.now() + 50);
    const after = await signedWith();
    assert.match(String(after.headers["webhook-signature"]), /^v1,[A-Za-z0-9+/]{43}=$/);
    assert.deepEqual([verifies(after, secret), verifies(after, old)], [true, false]);
    for (let at = 0; at < 3; at++) await rotate(60_000);
    assert.equal((await signedWith()).headers["webhook-signature"]?.length, 4 * 47 + 3);
    await assert.rejects(rotate(60_000), /3 old secrets of the endpoint are still valid/);
    const { secret: last } = await rotate(0);
    const now = await signedWith();
    assert.deepEqual([verifies(now, last), verifies(now, secret)], [true, false]);
    await deliverer.stop();
  },
);
