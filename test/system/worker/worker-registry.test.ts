import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { notReady, type Readiness } from "../../../src/domain/readiness.ts";
import { WorkerHeartbeat } from "../../../src/worker/worker-heartbeat.ts";
import { WorkerRegistry } from "../../../src/worker/worker-registry.ts";
import { stopwatch } from "../../support/stopwatch.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";

const LIMIT = { timeout: 20_000 };
const PATIENT = { timeout: 60_000 };
const LEASE_MS = 1_500;
const PROVEN: Readiness = {
  ready: true,
  cgroupBackend: "cgroup_v2",
  checks: [{ name: "sandbox", ok: true, detail: "held" }],
};

/** What a worker reports of itself; tests change it. */
class Said {
  slots = 2;
  known: readonly string[] = ["c", "python"];
  proof: Readiness = PROVEN;
  proofs = 0;
  capacity = () => this.slots;
  languages = () => this.known;
  readiness = async () => {
    this.proofs++;
    return this.proof;
  };
}

onEachDatabase((temporaryStore) => {
  /** A service that sees workers only through the store, and workers that a test starts. */
  async function fleetOf(t: TestContext, proofHoldsMs?: number, wrongMs = 0) {
    const users: { stop(): Promise<void> }[] = [];
    t.after(async () => {
      for (const user of users.reverse()) await user.stop(); // this hook is the first, because hooks run in order
    });
    const { store, clock } = await temporaryStore(t);
    clock.nowMs = Date.now() + wrongMs;
    const tick = setInterval(() => {
      clock.nowMs = Date.now() + wrongMs;
    }, 5);
    t.after(() => clearInterval(tick));
    const log = pino({ level: "silent" });
    const fleet = await WorkerRegistry.start({ store, leaseMs: LEASE_MS, log, ...(proofHoldsMs && { proofHoldsMs }) });
    users.push(fleet);
    let ids = 0;
    const join = async (worker: Said) => {
      const options = { store, id: `worker ${ids++}`, worker, leaseMs: LEASE_MS, log };
      const announcer = WorkerHeartbeat.start(options, Promise.resolve());
      users.push(announcer);
      await until(() => fleet.capacity() > 0);
      return announcer;
    };
    return { fleet, join, store };
  }

  test("a service without workers reports that and is not ready", LIMIT, async (t) => {
    const { fleet } = await fleetOf(t);
    assert.equal(fleet.capacity(), 0);
    assert.deepEqual(fleet.languages(), []);
    assert.equal((await fleet.readiness()).ready, false);
  });

  test("adds up workers, and offers a language if each of them has proven it", LIMIT, async (t) => {
    const { fleet, join } = await fleetOf(t);
    const first = new Said();
    await join(first);
    assert.deepEqual(fleet.languages(), ["c", "python"]);
    const second = await join(Object.assign(new Said(), { slots: 3, known: ["python", "rust"] }));
    await until(() => fleet.capacity() === 5);
    assert.deepEqual(fleet.languages(), ["python"]);
    await second.stop();
    await until(() => fleet.capacity() === 2);
    assert.deepEqual(fleet.languages(), ["c", "python"]);
    first.slots = 1;
    await until(() => fleet.capacity() === 1);
  });

  test("one worker with a recent proof of every control is enough to be ready", LIMIT, async (t) => {
    const { fleet, join } = await fleetOf(t);
    const broken = Object.assign(new Said(), { proof: notReady("no launcher") });
    await join(broken);
    const before = await fleet.readiness();
    assert.equal(before.ready, false);
    assert.match(JSON.stringify(before.checks), /0 of 1 .*no launcher/);
    await join(new Said());
    await until(async () => (await fleet.readiness()).ready);
    const readiness = await fleet.readiness();
    assert.equal(readiness.cgroupBackend, "cgroup_v2");
    assert.deepEqual(readiness.checks[0], {
      name: "workers",
      ok: true,
      detail: "1 of 2 have recently proven every control",
    });
  });

  test(
    "each worker is asked separately, and a worker that does not respond is not ready and waited for only briefly",
    PATIENT,
    async (t) => {
      const { store, clock } = await temporaryStore(t);
      clock.nowMs = Date.now();
      const shared = { store, leaseMs: 60_000, log: pino({ level: "silent" }) };
      const fleet = await WorkerRegistry.start({ ...shared, proofHoldsMs: 60_000 });
      const broken = Object.assign(new Said(), { proof: notReady("no launcher") });
      const begun = Promise.resolve();
      const announcers = [new Said(), broken].map((worker, id) =>
        WorkerHeartbeat.start({ ...shared, id: `${id}`, worker }, begun),
      );
      try {
        await until(() => fleet.capacity() === 4);
        const announced = { id: "stuck", slots: 1, languages: [], readiness: PROVEN, provenAtMs: Date.now() };
        await store.workers.announce(announced, 60_000);
        const nodes = await fleet.nodes();
        assert.deepEqual(Object.fromEntries(nodes.map(({ id, readiness }) => [id, readiness])), {
          0: PROVEN,
          1: notReady("no launcher"),
          stuck: notReady("no proof within 3 s"),
        });
      } finally {
        for (const user of [...announcers, fleet]) await user.stop();
      }
    },
  );

  test("an old proof is renewed on request, not periodically", LIMIT, async (t) => {
    const { fleet, join } = await fleetOf(t, 1_000);
    const worker = new Said();
    await join(worker);
    assert.equal((await fleet.readiness()).ready, true);
    await sleep(500); // a new listening connection reports everything once
    const { proofs } = worker;
    await sleep(3 * LEASE_MS);
    assert.equal(worker.proofs, proofs, "heartbeats make no proof");
    assert.equal((await fleet.readiness()).ready, true);
    assert.equal(worker.proofs, proofs + 1);
    worker.proof = notReady("broken since");
    await sleep(1_500); // longer than a proof is valid
    assert.equal((await fleet.readiness()).ready, false);
  });

  test("a proof requested during a heartbeat is made after it", LIMIT, async (t) => {
    const { store } = await fleetOf(t);
    const worker = new Said();
    let announced = 0;
    const sending = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const slow = {
      ...store,
      workers: {
        ...store.workers,
        async announce(...args: Parameters<typeof store.workers.announce>) {
          if (++announced === 2) {
            sending.resolve();
            await release.promise;
          }
          await store.workers.announce(...args);
        },
      },
    };
    const options = { store: slow, id: "slow", worker, leaseMs: LEASE_MS, log: pino({ level: "silent" }) };
    const announcer = WorkerHeartbeat.start(options, Promise.resolve());
    await sending.promise; // the first announcement had the proof, this one is a heartbeat
    const { proofs } = worker;
    await store.workers.askForProof();
    await sleep(300);
    assert.equal(worker.proofs, proofs);
    release.resolve();
    await until(() => worker.proofs > proofs);
    await announcer.stop();
  });

  for (const [way, wrongMs] of [
    ["ahead", 3_600_000],
    ["behind", -3_600_000],
  ] as const) {
    test(`a worker whose clock is an hour ${way} is registered, ready and removed like any other`, LIMIT, async (t) => {
      const { fleet, join, store } = await fleetOf(t, undefined, wrongMs);
      await join(new Said());
      await until(() => fleet.capacity() === 2);
      await until(async () => (await fleet.readiness()).ready);
      // From here on, the worker is silent as if it had been killed.
      store.workers.announce = async () => {};
      await until(() => fleet.capacity() === 0);
      assert.equal((await fleet.readiness()).ready, false);
    });
  }

  test("a proof from before the service started does not count, regardless of its time", LIMIT, async (t) => {
    const { fleet, store } = await fleetOf(t, 1_000);
    const { id, ...rest } = { id: "said", slots: 2, languages: ["c"], readiness: PROVEN };
    const announce = (provenAtMs: number) => store.workers.announce({ id, ...rest, provenAtMs }, 60_000);
    await announce(Date.now());
    await until(() => fleet.capacity() === 2);
    const answer = fleet.readiness();
    assert.equal(await Promise.race([answer, sleep(300)]), undefined, "the request waits for a new proof");
    await announce(Date.now());
    assert.equal((await answer).ready, true);
  });

  test("workers that died silently are removed after their lease", LIMIT, async (t) => {
    const { fleet, store } = await fleetOf(t);
    const dead = { id: "dead", slots: 2, languages: ["c"], readiness: PROVEN, provenAtMs: Date.now() };
    await store.workers.announce(dead, LEASE_MS);
    await until(() => fleet.capacity() === 2);
    const tookMs = stopwatch();
    await until(() => fleet.capacity() === 0);
    assert.ok(tookMs() < 3 * LEASE_MS);
    assert.equal((await fleet.readiness()).ready, false);
  });
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(5);
}
