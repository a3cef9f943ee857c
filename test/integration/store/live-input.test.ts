import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { within } from "../../../bench/load/database.ts";
import { type LiveInput, MAX_LIVE_INPUT } from "../../../src/store/live/input.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { addKey, enqueue, onEachDatabase, sweepLater, type Temporary } from "../../support/store/temporary.ts";
import { DONE } from "../../support/webhooks/project.ts";

const bytes = (text: string): LiveInput => ({ kind: "bytes", bytes: Buffer.from(text) });

/** A running submission, and the id of its account. */
async function claimed(
  store: Store,
  takesInput = true,
  name = "key",
): Promise<{ claim: Claim; account: string; id: string }> {
  const key = await addKey(store, name);
  await enqueue(store, key, { live: true, takesInput });
  const [claim] = await store.submissions.claim("w", 1_000);
  assert.ok(claim);
  assert.deepEqual([claim.live, claim.takesInput], [true, takesInput]);
  return { claim, account: key.accountId, id: claim.submission.id };
}

async function rows({ database }: Temporary): Promise<number> {
  return await within(database, async ({ db }) => (await db.selectFrom("live_input").select("n").execute()).length);
}

onEachDatabase((temporaryStore) => {
  test("input is read in order, from the start by a repeated run, and deleted at the end", async (t) => {
    const temporary = await temporaryStore(t);
    const { store } = temporary;
    const { claim, account, id } = await claimed(store);
    const all: LiveInput[] = [bytes("a"), { kind: "signal", signal: 2 }, bytes("\0\u{1f600}"), { kind: "end" }];
    assert.equal(await store.liveInput.give(id, account, all.slice(0, 2)), "given");
    assert.deepEqual(await store.liveInput.read(claim.lease, 0), [
      [1, all[0]],
      [2, all[1]],
    ]);
    assert.equal(await store.liveInput.give(id, account, all.slice(2)), "given");
    assert.deepEqual(await store.liveInput.read(claim.lease, 2), [
      [3, all[2]],
      [4, all[3]],
    ]);
    assert.ok(await store.submissions.requeue(claim.lease));
    assert.equal(await store.liveInput.read(claim.lease, 0), null);
    const [again] = await store.submissions.claim("w", 1_000);
    assert.ok(again);
    assert.deepEqual(
      (await store.liveInput.read(again.lease, 0))?.map(([, input]) => input),
      all,
    );
    assert.ok(await store.submissions.finish(again.lease, DONE));
    assert.equal(await rows(temporary), 0);
    assert.equal(await store.liveInput.give(id, account, [bytes("late")]), "ended");
    assert.equal(await rows(temporary), 0);
  });

  test("input is bounded in bytes and pieces, and refused as a whole", async (t) => {
    const temporary = await temporaryStore(t);
    const { store } = temporary;
    const { account, id } = await claimed(store);
    const most = Buffer.alloc(MAX_LIVE_INPUT.bytes - 1, "x");
    assert.equal(await store.liveInput.give(id, account, [{ kind: "bytes", bytes: most }]), "given");
    assert.equal(await store.liveInput.give(id, account, [bytes("ab")]), "full");
    assert.equal(await store.liveInput.give(id, account, [bytes("a")]), "given");
    assert.equal(await store.liveInput.give(id, account, [bytes("a")]), "full");
    const ends = (amount: number) => Array<LiveInput>(amount).fill({ kind: "end" });
    assert.equal(await store.liveInput.give(id, account, ends(MAX_LIVE_INPUT.pieces - 1)), "full");
    for (let n = 0; n < 9; n++) assert.equal(await store.liveInput.give(id, account, ends(1_000)), "given");
    assert.equal(await store.liveInput.give(id, account, ends(999)), "full");
    assert.equal(await rows(temporary), 9_002);
  });

  test("calls at the same time lose nothing, and a call can have many pieces", async (t) => {
    const { store } = await temporaryStore(t);
    const { claim, account, id } = await claimed(store);
    const given = Array.from({ length: 32 }, (_, n) =>
      store.liveInput.give(id, account, [bytes(`${n},`), bytes(`${n};`)]),
    );
    assert.deepEqual([...new Set(await Promise.all(given))], ["given"]);
    const all: LiveInput[] = [];
    for (let after = 0; after < 64; ) {
      const read = (await store.liveInput.read(claim.lease, after)) ?? [];
      assert.ok(read.length > 0);
      for (const [n, input] of read) {
        assert.equal(n, ++after);
        all.push(input);
      }
    }
    const texts = all.map((input) => (input.kind === "bytes" ? input.bytes.toString() : ""));
    // The pieces of a call are together.
    for (let at = 0; at < 64; at += 2) assert.equal(texts[at]?.replace(",", ";"), texts[at + 1]);
    assert.equal(new Set(texts).size, 64);
    const many = Array<LiveInput>(MAX_LIVE_INPUT.pieces - 64).fill({ kind: "end" });
    assert.equal(await store.liveInput.give(id, account, many), "given");
  });

  test("the stdin of a submission remains, and counts as input", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "key");
    await enqueue(store, key, { live: true, takesInput: true, stdin: "four" });
    const [claim] = await store.submissions.claim("w", 1_000);
    assert.ok(claim);
    assert.equal(String(claim.program.stdin), "four");
    const { id } = claim.submission;
    const rest = Buffer.alloc(MAX_LIVE_INPUT.bytes - 4, "x");
    assert.equal(await store.liveInput.give(id, key.accountId, [{ kind: "bytes", bytes: rest }, bytes("x")]), "full");
    assert.equal(await store.liveInput.give(id, key.accountId, [{ kind: "bytes", bytes: rest }]), "given");
    assert.equal(await store.liveInput.give(id, key.accountId, [bytes("x")]), "full");
  });

  test("input is for submissions that take it, of the account alone", async (t) => {
    const { store } = await temporaryStore(t);
    const other = await addKey(store, "other");
    const { account, id } = await claimed(store);
    assert.equal(await store.liveInput.give(id, other.accountId, [bytes("a")]), "ended");
    assert.equal(await store.liveInput.give("unknown", account, [bytes("a")]), "ended");
    const watched = await enqueue(store, other, { live: true });
    assert.ok(watched.kind === "enqueued");
    assert.equal(await store.liveInput.give(watched.submission.id, other.accountId, [bytes("a")]), "takesNone");
  });

  test("input and output that meet the end of the run leave nothing", async (t) => {
    const { store, database } = await temporaryStore(t);
    const { claim, account, id } = await claimed(store);
    await within(database, async ({ db }) => {
      const ending = await db.startTransaction().execute();
      await ending
        .updateTable("submissions")
        .set({ status: "completed", worker_id: null })
        .where("id", "=", id)
        .execute();
      const piece = { stream: "stdout", at: 0, bytes: Buffer.from("a") } as const;
      const late = [store.liveInput.give(id, account, [bytes("a")]), store.live.append(claim.lease, 0, [piece])];
      await sleep(200);
      await ending.commit().execute();
      assert.deepEqual(await Promise.all(late), ["ended", false]);
    });
  });

  test("the previous release, which runs alongside this one, and this release agree on what takes input", async (t) => {
    const { store, database } = await temporaryStore(t);
    const { id, claim } = await claimed(store);
    const marks = (change: { live: number; takes_input: null }) =>
      within(database, async ({ db }) => {
        const { live } = await db
          .selectFrom("submissions")
          .select("live")
          .where("id", "=", id)
          .executeTakeFirstOrThrow();
        await db.updateTable("submissions").set(change).where("id", "=", id).execute();
        return live;
      });
    // The previous release claims what this one has accepted, and this one what the previous one has accepted.
    assert.equal(await marks({ live: 2, takes_input: null }), 2);
    assert.ok(await store.submissions.release(claim.lease, false));
    const [again] = await store.submissions.claim("w", 1_000);
    assert.equal(again?.takesInput, true);
  });

  test("an interrupted run that takes input ends and is not repeated, unless it has not begun", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const { claim, account, id } = await claimed(store);
    const read = async () => (await store.submissions.get(id, account))?.outcome?.result.errorMessage ?? null;
    assert.ok(await store.submissions.release(claim.lease, false));
    const [again] = await store.submissions.claim("w", 1_000);
    assert.ok(again);
    assert.equal(await read(), null);
    assert.ok(await store.submissions.release(again.lease, true));
    assert.match(String(await read()), /the run was interrupted; runs with live input are not repeated/);
    const lost = await claimed(store, true, "other");
    assert.deepEqual(await sweepLater(store, clock, 1_000), { requeued: [], failed: [lost.id] });
  });

  test("a submission that takes input is not claimed ahead, because it would end with its worker", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "key");
    for (const takesInput of [false, false, true, false]) await enqueue(store, key, { live: true, takesInput });
    assert.equal((await store.submissions.claim("w", 1_000, 1, 9)).length, 2);
    assert.equal((await store.submissions.claim("w", 1_000, 1, 9)).length, 2);
  });

  test("the worker of a run is notified in any process", async (t) => {
    const { store, another } = await temporaryStore(t);
    const worker = store.manyProcesses ? await another() : store;
    const { account, id } = await claimed(store);
    let woken = Promise.withResolvers<void>();
    const end = worker.liveInput.onInput(id, () => woken.resolve());
    if (store.manyProcesses) await woken.promise; // a new listening connection wakes all subscribers
    woken = Promise.withResolvers();
    await store.liveInput.give(id, account, [bytes("a")]);
    await woken.promise;
    end();
  });
});
