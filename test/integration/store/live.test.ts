import assert from "node:assert/strict";
import { test } from "node:test";
import { within } from "../../../bench/load/database.ts";
import type { LivePiece } from "../../../src/store/live/types.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { addKey, enqueue, onEachDatabase, sweepLater, type Temporary } from "../../support/store/temporary.ts";
import { DONE } from "../../support/webhooks/project.ts";

const piece = (text: string, at = 0, stream: LivePiece["stream"] = "stdout") => ({
  stream,
  at,
  bytes: Buffer.from(text),
});

/** Adds a submission with live output and claims it. */
async function claimed(store: Store, live = true): Promise<Claim> {
  const key = await addKey(store, "key");
  await enqueue(store, key, { live });
  const [claim] = await store.submissions.claim("w", 1_000);
  assert.ok(claim);
  return claim;
}

const text = (look: { pieces: readonly { bytes: Buffer }[] } | undefined) =>
  look?.pieces.map(({ bytes }) => bytes.toString()).join("");

async function rows({ database }: Temporary): Promise<number> {
  return await within(database, async ({ db }) => (await db.selectFrom("live_output").select("n").execute()).length);
}

onEachDatabase((temporaryStore) => {
  test("a run's output is readable as it is written, each piece once, and deleted at the end", async (t) => {
    const temporary = await temporaryStore(t);
    const { store } = temporary;
    const { lease, live } = await claimed(store);
    assert.equal(live, true);
    assert.deepEqual(await store.live.readAfter(lease.submissionId, null), {
      status: "running",
      fence: lease.fence,
      pieces: [],
    });
    assert.ok(await store.live.append(lease, 0, [piece("a"), piece("!", 0, "stderr")]));
    assert.ok(await store.live.append(lease, 2, [piece("b", 1)]));
    const first = await store.live.readAfter(lease.submissionId, null);
    const { fence } = lease;
    assert.deepEqual(first?.pieces, [
      { ...piece("a"), fence, n: 0 },
      { ...piece("!", 0, "stderr"), fence, n: 1 },
      { ...piece("b", 1), fence, n: 2 },
    ]);
    assert.equal(text(await store.live.readAfter(lease.submissionId, { fence, n: 1 })), "b");
    assert.ok(await store.submissions.finish(lease, DONE));
    assert.deepEqual(await store.live.readAfter(lease.submissionId, null), {
      status: "completed",
      fence: lease.fence,
      pieces: [],
    });
    assert.equal(await rows(temporary), 0);
    assert.equal(await store.live.readAfter("nobody's", null), undefined);
  });

  test("a repeated run starts with no output, and the former holder can add none", async (t) => {
    const temporary = await temporaryStore(t);
    const { store } = temporary;
    const { lease } = await claimed(store);
    await store.live.append(lease, 0, [piece("lost")]);
    assert.ok(await store.submissions.requeue(lease));
    assert.equal(await store.live.append(lease, 1, [piece("late")]), false);
    const [again] = await store.submissions.claim("w", 1_000);
    assert.ok(again);
    await store.live.append(again.lease, 0, [piece("new")]);
    assert.equal(text(await store.live.readAfter(lease.submissionId, { fence: lease.fence, n: 7 })), "new");
    assert.equal(await rows(temporary), 1);
  });

  test("sweeps delete the output of lost runs", async (t) => {
    const temporary = await temporaryStore(t);
    const { store, clock } = temporary;
    const { lease } = await claimed(store);
    for (let attempt = 1; attempt <= 3; attempt++) {
      const held = attempt === 1 ? lease : (await store.submissions.claim("w", 1_000))[0]?.lease;
      assert.ok(held);
      await store.live.append(held, 0, [piece("x")]);
      await sweepLater(store, clock, 1_000);
    }
    assert.equal((await store.live.readAfter(lease.submissionId, null))?.status, "error");
    assert.equal(await rows(temporary), 0);
  });

  test("watchers of a run are notified of its start, pieces and end in any process; others are not", async (t) => {
    const { store, another } = await temporaryStore(t);
    const watching = store.manyProcesses ? await another() : store;
    const key = await addKey(store, "key");
    const ids: string[] = [];
    for (const live of [true, false]) {
      const enqueued = await enqueue(store, key, { live });
      assert.ok(enqueued.kind === "enqueued");
      ids.push(enqueued.submission.id);
    }
    const woken = [0, 0];
    const notified = async (at: number, times: number) => {
      for (const until = performance.now() + 5_000; (woken[at] ?? 0) < times && performance.now() < until; )
        await new Promise((resolve) => setTimeout(resolve, 5));
      assert.equal(woken[at], times);
    };
    const ends = ids.map((id, at) =>
      watching.live.onChange(id, () => {
        woken[at] = (woken[at] ?? 0) + 1;
      }),
    );
    if (store.manyProcesses) {
      // A new listening connection wakes all subscribers.
      for (const until = performance.now() + 5_000; woken[1] === 0 && performance.now() < until; )
        await new Promise((resolve) => setTimeout(resolve, 5));
      woken.fill(0);
    }
    const [watched, other] = await store.submissions.claim("w", 60_000, 2);
    assert.ok(watched && other);
    assert.deepEqual([watched.live, other.live], [true, false]);
    await notified(0, 1);
    await store.live.append(watched.lease, 0, [piece("a")]);
    await notified(0, 2);
    await store.submissions.finish(watched.lease, DONE);
    await notified(0, 3);
    assert.equal(woken[1], 0);
    for (const end of ends) end();
    await store.submissions.finish(other.lease, DONE);
    assert.equal(woken[1], 0);
  });
});
