import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { dropPendingOf, resumeAccount, suspendAccount } from "../../../src/admin/accounts.ts";
import type { Store } from "../../../src/store/store.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { percentile, TIMES_ALONE } from "../../support/bounds/measured.ts";
import { type Reply, type Running, startHttp } from "../../support/http/running.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { onEachDatabase, temporaryStore } from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";

const SLOTS = 4;
/** The longest run of the busy account, for which another account may have to wait. */
const LONG_MS = 400;
const SHORT_MS = 40;
/** Delay of a response caused by the test's clients, which share the process and the cores with the service. */
const MACHINE_MS = 100;
const KEYS = 20;
const MAX_PENDING = 200;
const RUNS = 25;
const BURST = 16;

/**
 * Simulated slots without boxes: on a notification of the store, they claim as many submissions as slots are free. A
 * program is the number of milliseconds that it runs.
 */
function startSlots(t: TestContext, store: Store): void {
  const stopped = new AbortController();
  let free = SLOTS;
  let claiming = false;
  let again = false;
  const wake = async (): Promise<void> => {
    again = true;
    if (claiming) return;
    claiming = true;
    while (again && free > 0 && !stopped.signal.aborted) {
      again = false;
      const claims = await store.submissions.claim("w", 60_000, free);
      free -= claims.length;
      for (const { program, lease } of claims) {
        void (async () => {
          await sleep(Number(program.code.toString()), undefined, { signal: stopped.signal });
          await store.submissions.finish(lease, buildOutcome({ execute: report({ stdout: Buffer.from("1\n") }) }));
          free++;
          await wake();
        })().catch(() => {});
      }
    }
    claiming = false;
  };
  const end = store.onWork(() => void wake());
  t.after(() => {
    stopped.abort();
    end();
  });
}

/** Waits for responses with status 200. @returns their times in milliseconds. */
async function timed(replies: readonly Promise<Reply>[]): Promise<number[]> {
  const started = performance.now();
  return await Promise.all(
    replies.map(async (one) => {
      const { status, text } = await one;
      assert.equal(status, 200, text);
      return performance.now() - started;
    }),
  );
}

const WAIT = { path: "/api/submit?wait=true" };
const program = (ms: number) => ({ language: "python", code: String(ms) });

async function oneByOne({ submit }: Running, key: string): Promise<number[]> {
  const took: number[] = [];
  for (let i = 0; i < RUNS; i++) took.push(...(await timed([submit(program(SHORT_MS), { ...WAIT, key })])));
  return took;
}

/** @returns the time of the last response of a burst in milliseconds. */
async function burst({ submit }: Running, key: string): Promise<number> {
  return Math.max(...(await timed(Array.from({ length: BURST }, () => submit(program(SHORT_MS), { ...WAIT, key })))));
}

onEachDatabase((open) => {
  test("alongside an account that fills the queue with 20 keys, an honest one takes at most twice its time plus one run", {
    timeout: 120_000,
    skip: open === temporaryStore && SKIPS_LONG,
  }, async (t) => {
    const running = await startHttp(t, { open, maxPending: MAX_PENDING, transport: { kind: "loopback" } });
    const { key, submit, store } = running;
    startSlots(t, store);
    const honest = await key({ account: "honest" });
    const alone = await oneByOne(running, honest);
    const burstAlone = await burst(running, honest);

    const keys = await Promise.all(
      Array.from({ length: KEYS }, () => key({ account: "busy", requestsPerMinute: undefined })),
    );
    const attack = { over: false, accepted: 0, refused: 0 };
    const attackers = keys.map(async (one) => {
      while (!attack.over) {
        const { status } = await submit(program(LONG_MS), { key: one });
        if (status === 202) attack.accepted++;
        else attack.refused++;
        // The rate that the tier allows: 60 requests a minute for each key.
        if (status !== 202) await sleep(1_000);
      }
    });
    while (attack.refused < KEYS) await sleep(10);
    const alongside = await oneByOne(running, honest);
    const burstAlongside = await burst(running, honest);
    const depth = await store.submissions.depth();
    attack.over = true;
    await Promise.all(attackers);

    for (const [name, of] of [
      ["p50", 0.5],
      ["p99", 0.99],
    ] as const) {
      const [was, is] = [percentile(alone, of), percentile(alongside, of)];
      t.diagnostic(`${name}: ${was.toFixed(0)} ms alone, ${is.toFixed(0)} ms alongside`);
      assert.ok(is <= TIMES_ALONE * was + LONG_MS + MACHINE_MS, `${name}: ${was} ms alone, ${is} ms alongside`);
    }
    t.diagnostic(`a burst of ${BURST}: ${burstAlone.toFixed(0)} ms alone, ${burstAlongside.toFixed(0)} ms alongside`);
    assert.ok(
      burstAlongside <= TIMES_ALONE * burstAlone + LONG_MS + MACHINE_MS,
      `${burstAlone} ms alone, ${burstAlongside} ms alongside`,
    );
    assert.ok(depth <= MAX_PENDING / 2, `${depth} pending, all of one account`);
    t.diagnostic(`the busy account: ${attack.accepted} accepted, ${attack.refused} rejected`);

    const [first = ""] = keys;
    await suspendAccount(store, "busy", "test");
    const { dropped } = await dropPendingOf(store, "busy", "test");
    assert.ok(dropped > MAX_PENDING / 4, `${dropped} dropped`);
    assert.equal(await store.submissions.depth(), 0);
    assert.equal((await submit(program(1), { key: first })).status, 403);
    await resumeAccount(store, "busy", "test");
    assert.equal((await submit(program(1), { key: first })).status, 202);
  });

  test("an account that fills the queue first leaves space for each later account", async (t) => {
    const { key, submit, store } = await startHttp(t, {
      open,
      maxPending: 60,
      transport: { kind: "loopback" },
    });
    const accepted: number[] = [];
    for (const account of ["first", "second", "third", "fourth"]) {
      const own = await key({ account });
      const replies = await Promise.all(Array.from({ length: 40 }, () => submit(program(1), { key: own })));
      for (const { status, json, headers } of replies.filter(({ status }) => status !== 202)) {
        assert.equal(status, 503);
        assert.deepEqual(json, { error: "queue full, try again later" });
        assert.match(headers["retry-after"] ?? "", /^[1-9]\d*$/);
      }
      accepted.push(replies.filter(({ status }) => status === 202).length);
    }
    assert.deepEqual(accepted, [30, 15, 8, 4]);
    assert.equal(await store.submissions.depth(), 57);
  });
});
