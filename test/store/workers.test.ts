import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { notReady } from "../../src/domain/readiness.ts";
import type { AnnouncedWorker } from "../../src/store/port.ts";
import { onEachEngine, START_MS } from "./temporary.ts";

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
    assert.deepEqual(await workers.live(), [changed, worker("a")]);
  });

  test("an announcement holds for its lease, or until the worker leaves", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { workers } = store;
    const ids = async () => (await workers.live()).map(({ id }) => id);
    await workers.announce(worker("a"), LEASE_MS);
    await workers.announce(worker("b"), LEASE_MS);
    clock.nowMs += LEASE_MS - 1;
    assert.deepEqual(await ids(), ["a", "b"]);
    await workers.announce(worker("a"), LEASE_MS);
    clock.nowMs += 1;
    assert.deepEqual(await ids(), ["a"]);
    await workers.leave("a");
    assert.deepEqual(await ids(), []);
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
});
