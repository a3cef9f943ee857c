import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import type { Attempt } from "../../../src/domain/delivery.ts";
import { internalError } from "../../../src/domain/outcome.ts";
import type { DeliveryClaim } from "../../../src/store/deliveries/types.ts";
import type { Store } from "../../../src/store/store.ts";
import { onEachDatabase, START_MS, sweepLater } from "../../support/store/temporary.ts";
import {
  ACTOR,
  addEndpoint,
  addProject,
  DONE,
  deliveryBudget,
  endOne,
  submit,
} from "../../support/webhooks/project.ts";

const LEASE_MS = 1_000;

const attempt = (status: number | null, error: string | null = null): Attempt => ({
  atMs: START_MS,
  latencyMs: 12,
  status,
  error,
  answer: status === null ? null : Buffer.from([0, 255, 10]),
  sentHeaders: [["host", "receiver.example"]],
  answerHeaders: status === null ? null : [["x-\u0000", "a\ud800"]],
});

const claimAll = (store: Store, max = 100, perEndpoint = 100): Promise<DeliveryClaim[]> =>
  store.deliveries.claimDue({ leaseMs: LEASE_MS, ...deliveryBudget(max, perEndpoint) });

async function claimOne(store: Store): Promise<DeliveryClaim> {
  const [claim, ...others] = await claimAll(store);
  assert.ok(claim, "nothing is due");
  assert.deepEqual(others, []);
  return claim;
}

const all = (store: Store) => store.deliveries.list({ max: 100 });

onEachDatabase((temporaryStore) => {
  async function fixture(t: TestContext) {
    const { store, clock, another } = await temporaryStore(t);
    const project = await addProject(store);
    return { store, clock, project, another, endpoint: async () => (await addEndpoint(store, project)).id };
  }

  test("a result adds one delivery for each active endpoint of its project", async (t) => {
    const { store, endpoint, project } = await fixture(t);
    const endpoints = [await endpoint(), await endpoint(), await endpoint(), await endpoint()];
    await store.endpoints.setActive(endpoints[1] ?? "", false, ACTOR);
    await store.endpoints.remove(endpoints[2] ?? "", ACTOR);
    await addEndpoint(store, await addProject(store, "another"));
    const id = await endOne(store, project);
    const deliveries = await all(store);
    assert.deepEqual(deliveries.map((delivery) => delivery.endpointId).sort(), [endpoints[0], endpoints[3]].sort());
    for (const { submissionId, messageId, kind, state, nextAtMs, attempts, reason } of deliveries) {
      assert.deepEqual([submissionId, messageId, kind, state], [id, id, "result", "pending"]);
      assert.deepEqual([nextAtMs, attempts, reason], [START_MS, [], null]);
    }
  });

  for (const [where, restarted] of [
    ["the running process", false],
    ["a process started later", true],
  ] as const) {
    test(`setting the clock back by an hour does not delay attempts by an hour: in ${where}`, async (t) => {
      const { store, clock, project, endpoint, another } = await fixture(t);
      await endpoint();
      await endOne(store, project);
      await endOne(store, project);
      const [again, lost] = await claimAll(store);
      assert.ok(again && lost);
      const next = { state: "pending", atMs: clock.nowMs + 5_000 } as const;
      await store.deliveries.recordAttempt(again, attempt(503), next);
      clock.nowMs -= 3_600_000;
      const seeing = restarted ? await another() : store;
      assert.deepEqual([(await claimOne(seeing)).id, await claimAll(seeing)], [again.id, []]);
      clock.nowMs += LEASE_MS;
      assert.deepEqual((await claimAll(seeing)).map(({ id }) => id).sort(), [again.id, lost.id].sort());
    });
  }

  test("a key without a project delivers nothing", async (t) => {
    const { store, endpoint, project } = await fixture(t);
    await endpoint();
    await submit(store, { id: null, key: project.key });
    const [claim] = await store.submissions.claim("w", LEASE_MS);
    assert.ok(claim);
    await store.submissions.finish(claim.lease, DONE);
    assert.deepEqual(await all(store), []);
  });

  test("an error is delivered like a completion: finished, released and swept", async (t) => {
    const { store, endpoint, project, clock } = await fixture(t);
    await endpoint();
    const finished = await endOne(store, project, internalError("the sandbox was lost"));
    const released = await submit(store, project, "agent");
    const [mine] = await store.submissions.claim("w", LEASE_MS);
    assert.ok(mine);
    await store.submissions.release(mine.lease, true);
    const swept = await submit(store, project, "agent");
    await store.submissions.claim("w", LEASE_MS);
    await sweepLater(store, clock, LEASE_MS);
    assert.deepEqual(
      (await all(store)).map(({ messageId }) => messageId),
      [swept, released, finished],
    );
    for (const claim of await claimAll(store)) {
      const message = await store.deliveries.message(claim);
      assert.ok(message && "submission" in message);
      assert.deepEqual([message.submission.id, message.submission.status], [claim.messageId, "error"]);
    }
  });

  test("only an end is delivered: not a release, a requeue or a late finish", async (t) => {
    const { store, endpoint, project, clock } = await fixture(t);
    await endpoint();
    await submit(store, project);
    const [first] = await store.submissions.claim("w", LEASE_MS);
    assert.ok(first);
    await store.submissions.release(first.lease, true);
    const [second] = await store.submissions.claim("w", LEASE_MS);
    assert.ok(second);
    await sweepLater(store, clock, LEASE_MS);
    assert.equal(await store.submissions.finish(second.lease, DONE), false);
    assert.deepEqual(await all(store), []);
  });

  test("only an end with an endpoint wakes the deliverer", async (t) => {
    const { store, endpoint, project } = await fixture(t);
    let woken = 0;
    const unsubscribe = store.onDeliveries(() => woken++);
    const turn = () => new Promise((resolve) => setTimeout(resolve, 200));
    await new Promise((resolve) => setTimeout(resolve, 300)); // a new listening connection emits every notification once
    woken = 0;
    await endOne(store, project);
    await turn();
    assert.equal(woken, 0);
    await endpoint();
    await endOne(store, project);
    await turn();
    assert.notEqual(woken, 0);
    unsubscribe();
    woken = 0;
    await endOne(store, project);
    await turn();
    assert.equal(woken, 0);
  });

  test("a claim has all data of the attempt and is exclusive during its lease", async (t) => {
    const { store, project, clock } = await fixture(t);
    const { id: endpoint } = await addEndpoint(store, project, {
      url: "https://receiver.example/x?y=1",
      signing: "raw",
    });
    const id = await endOne(store, project);
    const claim = await claimOne(store);
    assert.deepEqual([claim.attempt, claim.messageId, claim.kind], [1, id, "result"]);
    assert.deepEqual([claim.endpoint.id, claim.endpoint.signing], [endpoint, "raw"]);
    assert.equal(claim.endpoint.url, "https://receiver.example/x?y=1");
    clock.nowMs += LEASE_MS - 1;
    assert.deepEqual(await claimAll(store), []);
  });

  test("an attempt whose lease expired is repeated with the same number; the former holder changes nothing", async (t) => {
    const { store, endpoint, project, clock } = await fixture(t);
    await endpoint();
    await endOne(store, project);
    const lost = await claimOne(store);
    clock.nowMs += LEASE_MS;
    const again = await claimOne(store);
    assert.deepEqual([again.id, again.attempt, again.messageId], [lost.id, 1, lost.messageId]);
    assert.equal(await store.deliveries.recordAttempt(lost, attempt(200), { state: "delivered" }), false);
    assert.equal(await store.deliveries.release(lost), false);
    assert.equal(await store.deliveries.recordAttempt(again, attempt(200), { state: "delivered" }), true);
    const [delivery] = await all(store);
    assert.deepEqual([delivery?.state, delivery?.attempts.length], ["delivered", 1]);
  });

  test("every attempt is kept, and the next is due at its recorded time", async (t) => {
    const { store, endpoint, project, clock } = await fixture(t);
    await endpoint();
    await endOne(store, project);
    const first = await claimOne(store);
    await store.deliveries.recordAttempt(first, attempt(503), { state: "pending", atMs: START_MS + 1_000 });
    clock.nowMs += 999;
    assert.deepEqual(await claimAll(store), []);
    assert.equal(await store.deliveries.nextDueMs(clock.nowMs), START_MS + 1_000);
    clock.nowMs += 1;
    const second = await claimOne(store);
    assert.equal(second.attempt, 2);
    const refused = attempt(null, "connect ECONNREFUSED");
    await store.deliveries.recordAttempt(second, refused, { state: "failed" });
    const [delivery] = await all(store);
    assert.deepEqual(delivery?.attempts, [attempt(503), refused]);
    assert.deepEqual([delivery?.state, delivery?.nextAtMs, delivery?.endedAtMs], ["failed", null, clock.nowMs]);
    clock.nowMs += 1e9;
    assert.deepEqual(await claimAll(store), []);
    assert.equal(await store.deliveries.nextDueMs(0), null);
  });

  test("a released attempt is due at once, with the same number", async (t) => {
    const { store, endpoint, project } = await fixture(t);
    await endpoint();
    await endOne(store, project);
    const claim = await claimOne(store);
    assert.equal(await store.deliveries.release(claim), true);
    assert.equal((await claimOne(store)).attempt, 1);
  });

  test("a delivery fails after 20 interrupted attempts, with the reason", async (t) => {
    const { store, endpoint, project, clock } = await fixture(t);
    await endpoint();
    await endOne(store, project);
    for (let time = 0; time < 20; time++) {
      await claimOne(store);
      clock.nowMs += LEASE_MS;
    }
    assert.deepEqual(await claimAll(store), []);
    const [delivery] = await all(store);
    assert.deepEqual([delivery?.state, delivery?.reason], ["failed", "the delivery was interrupted 20 times"]);
  });

  test("the end of a lease counts as a due time, so lost attempts are claimed again", async (t) => {
    const { store, endpoint, project, clock } = await fixture(t);
    await endpoint();
    assert.equal(await store.deliveries.nextDueMs(0), null);
    await endOne(store, project);
    await claimOne(store);
    assert.equal(await store.deliveries.nextDueMs(clock.nowMs), START_MS + LEASE_MS);
  });

  test("deliveries to inactive or removed endpoints fail with a reason in the log", async (t) => {
    const { store, endpoint, project } = await fixture(t);
    const [paused, removed] = [await endpoint(), await endpoint()];
    await endOne(store, project);
    await store.endpoints.setActive(paused, false, ACTOR);
    await store.endpoints.remove(removed, ACTOR);
    assert.deepEqual(await claimAll(store), []);
    const reasons = (await all(store)).map(({ endpointId, state, reason, attempts }) => {
      assert.deepEqual([state, attempts], ["failed", []]);
      return [endpointId, reason];
    });
    assert.deepEqual(Object.fromEntries(reasons), {
      [paused]: "the endpoint is not active",
      [removed]: "the endpoint was removed",
    });
  });

  test("an endpoint that is reactivated before the next attempt receives it", async (t) => {
    const { store, endpoint, project, clock } = await fixture(t);
    const id = await endpoint();
    await endOne(store, project);
    await store.deliveries.recordAttempt(await claimOne(store), attempt(500), {
      state: "pending",
      atMs: START_MS + 1_000,
    });
    await store.endpoints.setActive(id, false, ACTOR);
    assert.deepEqual(await claimAll(store), []);
    await store.endpoints.setActive(id, true, ACTOR);
    clock.nowMs += 1_000;
    assert.equal((await claimOne(store)).attempt, 2);
  });

  test("an endpoint with many due deliveries does not block others", async (t) => {
    const { store, endpoint, project } = await fixture(t);
    const other = await addProject(store, "another");
    const [busy, quiet] = [await endpoint(), (await addEndpoint(store, other)).id];
    for (let i = 0; i < 10; i++) await endOne(store, project);
    await endOne(store, other);
    const first = await claimAll(store, 2, 4);
    assert.deepEqual(first.map(({ endpoint }) => endpoint.id).sort(), [busy, quiet].sort());
    const then = await claimAll(store, 100, 4);
    assert.deepEqual(
      then.map(({ endpoint }) => endpoint.id),
      [busy, busy, busy],
    );
    assert.deepEqual(await claimAll(store, 100, 4), []);
  });

  test("deliveries of one endpoint are claimed in the order of their results", async (t) => {
    const { store, endpoint, project, clock } = await fixture(t);
    await endpoint();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      ids.push(await endOne(store, project));
      clock.nowMs++;
    }
    assert.deepEqual(
      (await claimAll(store)).map(({ messageId }) => messageId),
      ids,
    );
  });

  test("a replay is a new delivery of the same message and wakes the deliverer", async (t) => {
    const { store, endpoint, project } = await fixture(t);
    await endpoint();
    const id = await endOne(store, project);
    const claim = await claimOne(store);
    await store.deliveries.recordAttempt(claim, attempt(404), { state: "failed" });
    const woken = new Promise<void>((resolve) => store.onDeliveries(resolve));
    const replayed = await store.deliveries.replay(claim.id, "test");
    await woken;
    const again = await claimOne(store);
    assert.deepEqual([again.id, again.messageId, again.kind, again.attempt], [replayed, id, "replay", 1]);
    assert.deepEqual(await store.deliveries.message(again), await store.deliveries.message(claim));
    const [delivery] = await store.deliveries.list({ max: 1, id: claim.id });
    assert.equal(delivery?.state, "failed");
  });

  test("unknown deliveries and those of removed or paused endpoints are not replayed", async (t) => {
    const { store, endpoint, project } = await fixture(t);
    const id = await endpoint();
    await endOne(store, project);
    const claim = await claimOne(store);
    assert.equal(await store.deliveries.replay(randomUUID(), "test"), undefined);
    await store.endpoints.setActive(id, false, ACTOR);
    assert.equal(await store.deliveries.replay(claim.id, "test"), undefined);
    await store.endpoints.remove(id, ACTOR);
    assert.equal(await store.deliveries.replay(claim.id, "test"), undefined);
  });

  test("adding a test message also claims it, even for an inactive endpoint", async (t) => {
    const { store, endpoint } = await fixture(t);
    const id = await endpoint();
    await store.endpoints.setActive(id, false, ACTOR);
    const message = { messageId: randomUUID(), body: Buffer.from("{}"), leaseMs: LEASE_MS };
    const claim = await store.deliveries.addTest(id, message, "test");
    assert.ok(claim);
    assert.deepEqual([claim.attempt, claim.kind, claim.messageId], [1, "test", message.messageId]);
    assert.deepEqual(await claimAll(store), []);
    assert.deepEqual(await store.deliveries.message(claim), { body: message.body });
    assert.equal(await store.deliveries.recordAttempt(claim, attempt(204), { state: "delivered" }), true);
    const [delivery] = await all(store);
    assert.deepEqual([delivery?.kind, delivery?.submissionId, delivery?.state], ["test", null, "delivered"]);
    await store.endpoints.remove(id, ACTOR);
    assert.equal(await store.deliveries.addTest(id, message, "test"), undefined);
    assert.equal(await store.deliveries.addTest(randomUUID(), message, "test"), undefined);
  });

  test("the log is read by endpoint, by submission or by id, newest first", async (t) => {
    const { store, endpoint, project } = await fixture(t);
    const [one, two] = [await endpoint(), await endpoint()];
    const first = await endOne(store, project);
    const second = await endOne(store, project);
    const submissions = async (which: { endpointId?: string; submissionId?: string }) =>
      (await store.deliveries.list({ max: 100, ...which })).map(({ submissionId }) => submissionId);
    assert.deepEqual(await submissions({ endpointId: one }), [second, first]);
    assert.deepEqual(await submissions({ submissionId: first }), [first, first]);
    assert.deepEqual(await submissions({ submissionId: first, endpointId: two }), [first]);
    assert.deepEqual(await submissions({ submissionId: randomUUID() }), []);
    assert.equal((await store.deliveries.list({ max: 3 })).length, 3);
  });

  test("the log is paged and filtered by account, and keeps entries of removed endpoints", async (t) => {
    const { store, endpoint, project } = await fixture(t);
    const other = await addProject(store, "other");
    const [mine, theirs] = [await endpoint(), (await addEndpoint(store, other)).id];
    for (let at = 0; at < 3; at++) await endOne(store, project);
    await endOne(store, other);
    await store.endpoints.remove(mine, ACTOR);
    const ids = async (which: Partial<Parameters<Store["deliveries"]["list"]>[0]>) =>
      (await store.deliveries.list({ max: 100, ...which })).map(({ seq, endpointId, accountId }) => [
        seq,
        endpointId,
        accountId,
      ]);
    const [newest, second, ...rest] = await ids({});
    assert.deepEqual(newest?.slice(1), [theirs, other.key.accountId]);
    assert.deepEqual(await ids({ before: Number(second?.[0]) }), rest);
    assert.deepEqual(await ids({ accountIds: [project.key.accountId] }), [second, ...rest]);
    assert.deepEqual(await ids({ accountIds: [project.key.accountId], endpointId: theirs }), []);
    assert.deepEqual(await ids({ accountIds: [] }), []);
    assert.equal((await ids({ accountIds: null })).length, 4);
  });

  test("the 20 newest deliveries of each endpoint are counted by state", async (t) => {
    const { store, endpoint, project } = await fixture(t);
    const [one, idle] = [await endpoint(), await endpoint()];
    await store.endpoints.setActive(idle, false, ACTOR);
    await endOne(store, project);
    const [claim] = await store.deliveries.claimDue({ leaseMs: 1_000, ...deliveryBudget(1) });
    assert.ok(claim);
    await store.deliveries.recordAttempt(claim, attempt(204), { state: "delivered" });
    assert.deepEqual([...(await store.deliveries.recent([one]))], [[one, { delivered: 1, failed: 0, pending: 0 }]]);
    for (let at = 0; at < 19; at++) await store.deliveries.replay(claim.id, "test");
    assert.deepEqual((await store.deliveries.recent([one])).get(one), { delivered: 1, failed: 0, pending: 19 });
    await store.deliveries.replay(claim.id, "test");
    assert.deepEqual((await store.deliveries.recent([one])).get(one), { delivered: 0, failed: 0, pending: 20 });
    await store.endpoints.remove(one, ACTOR);
    assert.equal((await store.deliveries.recent([one])).size, 0);
  });

  test("an account's replays are limited, pending and per minute, across all processes", async (t) => {
    const { store, another, clock, endpoint, project } = await fixture(t);
    const [one, two] = [await endpoint(), await endpoint()];
    for (let at = 0; at < 8; at++) await endOne(store, project);
    const fail = async () => {
      for (const claim of await claimAll(store)) {
        await store.deliveries.recordAttempt(claim, attempt(500), { state: "failed" });
      }
    };
    await fail();
    const other = store.manyProcesses ? await another() : store;
    const ask = (by: Store, endpointId: string, bounds = { pending: 5, perMinute: 9 }) =>
      by.deliveries.replayFailed({ endpointId, sinceMs: 0, max: 100, onlyIdle: true, bounds }, "ada");
    const answers = await Promise.all([ask(store, one), ask(other, two)]);
    assert.deepEqual(answers.toSorted(), [5, null], "five are pending");
    const [first] = (await store.deliveries.list({ max: 100 })).filter(({ state }) => state === "failed");
    assert.equal(await store.deliveries.replay(first?.id ?? "", "ada", { pending: 5, perMinute: 9 }), null);
    await fail();
    assert.equal(await ask(other, two), 4, "nine in a minute");
    await fail();
    assert.equal(await ask(store, one), null);
    assert.equal(await other.deliveries.replay(first?.id ?? "", "ada", { pending: 5, perMinute: 9 }), null);
    assert.notEqual(await store.deliveries.replay(first?.id ?? "", "operator"), null, "an operator has no bounds");
    await fail();
    clock.nowMs += 60_000;
    assert.equal(await ask(store, one), 5);
  });

  test("send requests are counted across all processes, by account and kind, for a minute", async (t) => {
    const { store, another, clock, project } = await fixture(t);
    const { accountId } = project.key;
    const stores = store.manyProcesses ? [store, await another()] : [store];
    const take = (kind: "tests" | "replays", n: number) =>
      stores[n % stores.length]?.sends.take(accountId, kind, 10) ?? Promise.reject(new Error("no store"));
    const waits = await Promise.all(Array.from({ length: 30 }, (_, n) => take("tests", n)));
    assert.deepEqual([waits.filter((wait) => wait === 0).length, waits.filter((wait) => wait === 60).length], [10, 20]);
    assert.equal(await take("replays", 0), 0);
    assert.equal(await store.sends.take("another", "tests", 10), 0);
    clock.nowMs += 59_000;
    await store.sends.forget();
    assert.equal(await take("tests", 1), 1);
    clock.nowMs += 1_000;
    await store.sends.forget();
    assert.equal(await take("tests", 0), 0);
  });

  test("failed results are replayed once, oldest first, by endpoint and time, with audit entries", async (t) => {
    const { store, clock, endpoint, project } = await fixture(t);
    const [one, other, off] = [await endpoint(), await endpoint(), await endpoint()];
    const end = async (state: "failed" | "delivered") => {
      const id = await endOne(store, project);
      for (const claim of await claimAll(store)) await store.deliveries.recordAttempt(claim, attempt(500), { state });
      clock.nowMs += 1_000;
      return id;
    };
    const failed = [await end("failed"), await end("failed"), await end("failed")];
    await end("delivered");
    await store.deliveries.addTest(one, { messageId: "m", body: Buffer.from("{}"), leaseMs: LEASE_MS }, ACTOR);
    const [audited] = await store.audit.list({ max: 1 });
    assert.deepEqual([audited?.action, audited?.subject, audited?.actor], ["endpoint.test", one, ACTOR]);
    await store.endpoints.setActive(off, false, ACTOR);
    const again = (endpointId: string | undefined, max = 100, sinceMs = 0) =>
      store.deliveries.replayFailed({ endpointId, sinceMs, max }, "ada");
    const replays = async (endpointId: string) =>
      (await store.deliveries.list({ max: 100, endpointId }))
        .filter(({ kind }) => kind === "replay")
        .map(({ messageId }) => messageId)
        .reverse();
    const until = { endpointId: one, sinceMs: 0, untilMs: START_MS, max: 100 };
    assert.equal(await store.deliveries.replayFailed(until, "ada"), 0);
    assert.equal(await again(one, 100, START_MS + 2_000), 1);
    assert.deepEqual(await replays(one), [failed[2]]);
    assert.equal(await again(one, 1), 1);
    assert.deepEqual(await replays(one), [failed[2], failed[0]]);
    const [entry] = await store.audit.list({ max: 1 });
    assert.deepEqual([entry?.actor, entry?.action, entry?.subject], ["ada", "endpoint.replay-failed", one]);
    assert.deepEqual([entry?.accountId, entry?.detail.amount], [project.key.accountId, 1]);
    // On PostgreSQL, either of the two can come first.
    const both = await Promise.all([again(undefined), again(undefined)]);
    assert.deepEqual(both.toSorted(), [0, 4], "no result is replayed twice");
    assert.deepEqual([(await replays(one)).length, await replays(other), await replays(off)], [3, failed, []]);
    for (const claim of await claimAll(store)) {
      await store.deliveries.recordAttempt(claim, attempt(500), { state: "failed" });
    }
    assert.equal(await again(other), 3, "a result that failed again is replayed again");
    for (const claim of await claimAll(store)) {
      await store.deliveries.recordAttempt(claim, attempt(500), { state: "failed" });
    }
    const inSteps = { endpointId: other, sinceMs: 0, max: 2, maxRows: 1 };
    assert.equal(await store.deliveries.replayFailed(inSteps, "steps"), 2);
    const steps = (await store.audit.list({ max: 10 })).filter(({ actor }) => actor === "steps");
    assert.deepEqual(
      steps.map(({ detail }) => detail.amount),
      [1, 1],
      "each transaction looks at one failed delivery",
    );
    assert.equal(await again(other), 1, "the last failed delivery");
    const idle = () =>
      store.deliveries.replayFailed({ endpointId: other, sinceMs: 0, max: 100, onlyIdle: true }, "ada");
    await end("delivered");
    const id = await endOne(store, project);
    for (const claim of await claimAll(store)) {
      assert.notEqual(claim.kind, "replay", "all replays were claimed");
      await store.deliveries.recordAttempt(claim, attempt(500), { state: "failed" });
    }
    assert.equal(await idle(), 1, "nothing is pending");
    assert.equal(await idle(), undefined, "the replay is pending");
    const newest = (await store.deliveries.list({ max: 1, endpointId: other }))[0];
    assert.deepEqual([newest?.messageId, newest?.kind], [id, "replay"]);
  });
});
