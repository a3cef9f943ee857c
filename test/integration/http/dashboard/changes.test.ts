import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { TOPICS, type Topic } from "../../../../src/http/dashboard/api/changes.ts";
import { type Asker, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { type Running, runPending } from "../../../support/http/running.ts";
import { addKey, enqueue, onEachDatabase } from "../../../support/store/temporary.ts";
import { type Watching, watch } from "./watching.ts";

const EMPTY = { topics: [] };
/** Longer than the interval of each topic and two searches of the service together. */
const NOTICED_MS = 15_000;

/** The stream of a person's page, after its first event. */
async function follow(running: Running, { person }: Asker): Promise<Watching> {
  const stream = await watch(running, person, "changes", "", "");
  assert.deepEqual((await stream.next("state")).data, EMPTY);
  return stream;
}

function topicsOf({ received }: Watching): Set<Topic> {
  return new Set(received.flatMap(({ event, data }) => (event === "state" ? data.topics : [])));
}

/** Waits for an event with the topic. */
async function hears(stream: Watching, topic: Topic, what: string): Promise<void> {
  for (const until = performance.now() + NOTICED_MS; !topicsOf(stream).has(topic); await sleep(20))
    assert.ok(performance.now() < until, `${what}: ${topic} was not sent, but ${[...topicsOf(stream)]}`);
  stream.received.length = 0;
}

onEachDatabase((open) => {
  test("pages get the topics of changes, also by another process, and none of other accounts", async (t) => {
    const { running, root, ada, eve, projectId, accountId } = await startTwoTenants(t, { open });
    const { store } = running;
    const other = await running.another();
    const [streams, stranger] = [
      await Promise.all([ada, root].map((who) => follow(running, who))),
      await follow(running, eve),
    ];
    const all = (topic: Topic, what: string) => Promise.all(streams.map((stream) => hears(stream, topic, what)));
    const { key } = (await ada("POST", "/keys", { name: "k", projectId })).json;
    await all("settings", "a new key");
    await enqueue(store, { keyId: key.id, accountId, projectId });
    await all("runs", "an accepted submission");
    await runPending(store);
    await all("runs", "an end");
    await enqueue(other, { keyId: key.id, accountId, projectId });
    await all("runs", "a submission that another process accepted");
    const [claim] = await other.submissions.claim("w", 60_000);
    assert.ok(claim);
    await all("runs", "its start");
    await all("usage", "its key");
    await store.history.sample(3);
    await store.history.count(10);
    await other.history.count(10);
    await all("totals", "counted ends");
    assert.deepEqual(
      [...topicsOf(stranger)].filter((topic) => topic !== "nodes" && topic !== "health" && topic !== "usage"),
      [],
    );
    running.engine.workers = 0;
    for (const stream of [...streams, stranger]) await hears(stream, "health", "the workers, which all share");
    for (const stream of [...streams, stranger]) stream.leave();
  });

  test("a busy service sends each topic at most once in its interval; a lost session ends the stream", async (t) => {
    const { running, ada, accountId } = await startTwoTenants(t, { open });
    const key = await addKey(running.store, "busy", { account: "club", requestsPerMinute: 10_000 });
    assert.equal(key.accountId, accountId);
    const stream = await follow(running, ada);
    const started = performance.now();
    while (performance.now() - started < 4_000) {
      await enqueue(running.store, key);
      await sleep(5);
    }
    const seconds = (performance.now() - started) / 1_000;
    for (const [topic, least] of Object.entries(TOPICS)) {
      const times = stream.received.filter(
        ({ event, data }) => event === "state" && data.topics.includes(topic),
      ).length;
      assert.ok(times <= seconds / least + 1, `${topic}: ${times} times in ${seconds} s`);
    }
    assert.ok(topicsOf(stream).has("runs"));
    await ada("DELETE", "/session");
    await stream.ended;
  });

  test("a silent stream is not taken for a slow reader", async (t) => {
    const drain = { windowMs: 400, leastBytes: 1_000_000 };
    const { running, ada } = await startTwoTenants(t, { open, drain });
    const stream = await follow(running, ada);
    assert.equal(await Promise.race([stream.ended.then(() => "ended"), sleep(2_500, "open")]), "open");
    stream.leave();
  });

  test("a person has at most 16 streams", async (t) => {
    const { running, ada, eve } = await startTwoTenants(t, { open });
    const streams = await Promise.all(Array.from({ length: 16 }, () => follow(running, ada)));
    const more = await watch(running, ada.person, "changes", "", "");
    assert.equal(more.response.statusCode, 429);
    (await follow(running, eve)).leave();
    streams.pop()?.leave();
    for (;;) {
      const again = await watch(running, ada.person, "changes", "", "");
      again.leave();
      if (again.response.statusCode === 200) break;
      await sleep(50);
    }
    for (const stream of streams) stream.leave();
  });
});
