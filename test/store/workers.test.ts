import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { notReady } from "../../src/domain/readiness.ts";
import type { AnnouncedWorker } from "../../src/store/port.ts";
import { addKey, enqueue, onEachEngine, START_MS } from "./temporary.ts";

const LEASE_MS = 1_000;

const worker = (id: string, more: Partial<AnnouncedWorker> = {}): AnnouncedWorker => ({
  id,
  slots: 2,
  languages: ["c", "python"],
  readiness: { ready: true, cgroupBackend: "cgroup_v2", checks: [{ name: "sandbox", ok: true, detail: "held" }] },
  provenAtMs: START_MS,
  ...more,
});

onEachEngine((temporaryStore) => {
  test("what a worker announces is seen as it was said, the newest word of each", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { workers } = store;
    await workers.announce(worker("b"), LEASE_MS);
    clock.nowMs += 1;
    await workers.announce(worker("a"), LEASE_MS);
    const changed = worker("b", { slots: 0, languages: [], readiness: notReady("the launcher is gone") });
    await workers.announce(changed, LEASE_MS);
    const seen = (await workers.announced()).map(({ untilMs, ...said }) => said);
    assert.deepEqual(seen, [changed, worker("a")]);
  });

  test("every word of a worker shows, whatever its clock says by then, until it leaves", async (t) => {
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

  test("one that has been silent for an hour is cleared away by the next who speaks", async (t) => {
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

  test("announcements and questions are heard", { timeout: 10_000 }, async (t) => {
    const { store } = await temporaryStore(t);
    const heard: string[] = [];
    const stops = [store.workers.onChange(() => heard.push("change")), store.workers.onAsked(() => heard.push("ask"))];
    await sleep(300); // a connection that begins to listen says everything once
    heard.length = 0;
    await store.workers.announce(worker("a"), LEASE_MS);
    while (heard.length < 1) await sleep(2);
    await store.workers.askForProof();
    while (heard.length < 2) await sleep(2);
    await store.workers.leave("a");
    while (heard.length < 3) await sleep(2);
    assert.deepEqual(heard, ["change", "ask", "change"]);
    for (const stop of stops) stop();
  });

  test("what runs is counted by worker, of some accounts or all", async (t) => {
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
