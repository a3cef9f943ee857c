import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { notReady } from "../../../src/domain/readiness.ts";
import type { AnnouncedWorker } from "../../../src/store/workers.ts";
import { addKey, enqueue, onEachDatabase, START_MS } from "../../support/store/temporary.ts";

const LEASE_MS = 1_000;

const worker = (id: string, more: Partial<AnnouncedWorker> = {}): AnnouncedWorker => ({
  id,
  slots: 2,
  languages: ["c", "python"],
  readiness: { ready: true, cgroupBackend: "cgroup_v2", checks: [{ name: "sandbox", ok: true, detail: "held" }] },
  provenAtMs: START_MS,
  ...more,
});

onEachDatabase((temporaryStore) => {
  test("the newest announcement of each worker is returned unchanged", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { workers } = store;
    await workers.announce(worker("b"), LEASE_MS);
    clock.nowMs += 1;
    await workers.announce(worker("a"), LEASE_MS);
    const changed = worker("b", { slots: 0, languages: [], readiness: notReady("the launcher is unavailable") });
    await workers.announce(changed, LEASE_MS);
    const seen = (await workers.announced()).map(({ untilMs, ...announced }) => announced);
    assert.deepEqual(seen, [changed, worker("a")]);
  });

  test("each heartbeat of a worker is visible, regardless of its clock, until it leaves", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { workers } = store;
    const seen = new Set<number | undefined>();
    for (const stepMs of [0, 0, 1, -3_000_000, 0, 3_000_000]) {
      clock.nowMs += stepMs;
      await workers.announce(worker("a"), LEASE_MS);
      seen.add((await workers.announced())[0]?.untilMs);
    }
    assert.equal(seen.size, 6);
    await workers.leave("a");
    assert.deepEqual(await workers.announced(), []);
  });

  test("a worker without heartbeats for an hour is removed by the next heartbeat of another", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { workers } = store;
    const ids = async () => (await workers.announced()).map(({ id }) => id);
    await workers.announce(worker("a"), LEASE_MS);
    clock.nowMs += 3_600_000 + LEASE_MS;
    await workers.announce(worker("b"), LEASE_MS);
    assert.deepEqual(await ids(), ["a", "b"]);
    clock.nowMs += 1;
    await workers.announce(worker("b"), LEASE_MS);
    assert.deepEqual(await ids(), ["b"]);
  });

  test("announcements and requests for self-tests notify subscribers", { timeout: 10_000 }, async (t) => {
    const { store } = await temporaryStore(t);
    const notified: string[] = [];
    const stops = [
      store.workers.onChange(() => notified.push("change")),
      store.workers.onAsked(() => notified.push("ask")),
    ];
    await sleep(300); // a new listening connection emits every notification once
    notified.length = 0;
    await store.workers.announce(worker("a"), LEASE_MS);
    while (notified.length < 1) await sleep(2);
    await store.workers.askForProof();
    while (notified.length < 2) await sleep(2);
    await store.workers.leave("a");
    while (notified.length < 3) await sleep(2);
    assert.deepEqual(notified, ["change", "ask", "change"]);
    for (const stop of stops) stop();
  });

  test("running submissions are counted by worker, for some accounts or all", async (t) => {
    const { store } = await temporaryStore(t);
    const [one, two] = [await addKey(store, "one"), await addKey(store, "two")];
    for (const key of [one, one, two]) await enqueue(store, key);
    await store.submissions.claim("a", 60_000, 2);
    await store.submissions.claim("b", 60_000, 1);
    const { workers } = store;
    assert.deepEqual([...(await workers.running(null))].sort(), [
      ["a", 2],
      ["b", 1],
    ]);
    const counts = async (accountIds: string[]) => [...(await workers.running(accountIds)).values()].sort();
    assert.deepEqual(await counts([one.accountId]), [1, 1]);
    assert.deepEqual(await counts([two.accountId]), [1]);
    assert.deepEqual(await counts([]), []);
  });
});
