import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { internalError } from "../../../src/domain/outcome.ts";
import type { Store } from "../../../src/store/store.ts";
import { stopwatch } from "../../support/stopwatch.ts";
import { addKey, enqueue, postgresServer, sweepLater, temporaryPostgres } from "../../support/store/temporary.ts";

const LIMIT = { timeout: 30_000 };
const NEVER = new AbortController().signal;
const WOKEN_WITHIN_MS = 100;

/** Two processes of one database: `here` receives the notifications of `there`. */
async function twoProcesses(t: TestContext) {
  const { store: here, another, database, clock } = await temporaryPostgres(t);
  assert.ok(database.kind === "postgres");
  const name = new URL(database.url).pathname.slice(1);
  const there = await another();
  const key = await addKey(there, "a", { concurrency: 1000, profiles: ["judge", "agent"] });
  const server = await postgresServer();
  /** The server's sessions that listen. */
  const listening = () =>
    server.admin(
      `select pid from pg_stat_activity where datname = '${name}' and application_name = 'assay listener'
       and state = 'idle'`,
    );
  const cut = () =>
    server.admin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'
       and application_name = 'assay listener'`);
  const listens = async () => {
    while ((await listening()).length === 0) await sleep(10);
    await sleep(50);
  };
  return { here, there, key, cut, listens, listening, clock };
}

/** A running submission, a waiter for its end in `here`, and a function that ends it in `there`. */
async function waitFor(here: Store, there: Store, key: { keyId: string; accountId: string }) {
  const accepted = await enqueue(there, key);
  assert.ok(accepted.kind === "enqueued");
  const { id } = accepted.submission;
  const ended = here.submissions.whenTerminal(id, key.accountId, NEVER).then((submission) => {
    assert.equal(submission?.status, "error");
  });
  const [claim] = await there.submissions.claim("w", 60_000);
  assert.ok(claim);
  return { ended, finish: () => there.submissions.finish(claim.lease, internalError("x")) };
}

test("an end in one process wakes waiters in another within 100 ms, without polling", LIMIT, async (t) => {
  const { here, there, key, listens } = await twoProcesses(t);
  t.after(here.onWork(() => {}));
  await listens();
  const tookMs: number[] = [];
  for (let i = 0; i < 9; i++) {
    const { ended, finish } = await waitFor(here, there, key);
    await sleep(20);
    const sinceEndMs = stopwatch();
    await finish();
    await ended;
    tookMs.push(sinceEndMs());
  }
  tookMs.sort((a, b) => a - b);
  t.diagnostic(`woken after ${tookMs.map((ms) => ms.toFixed(1)).join(", ")} ms`);
  assert.ok((tookMs[4] ?? Number.POSITIVE_INFINITY) < WOKEN_WITHIN_MS, `woken after ${tookMs} ms`);
});

test(
  "workers are notified of work that another process accepts, releases or ends, and only of that",
  LIMIT,
  async (t) => {
    const { here, there, key, listens } = await twoProcesses(t);
    let calls = 0;
    t.after(here.onWork(() => calls++));
    await listens();
    const notified = async (what: Promise<unknown>) => {
      calls = 0;
      await what;
      while (calls === 0) await sleep(2);
    };
    await notified(enqueue(there, key));
    const [claim] = await there.submissions.claim("w", 60_000);
    assert.ok(claim);
    await notified(there.submissions.release(claim.lease, false));
    const [again] = await there.submissions.claim("w", 60_000);
    assert.ok(again);
    await notified(there.submissions.finish(again.lease, internalError("x")));
    calls = 0;
    assert.equal((await enqueue(there, key, { maxPending: 0 })).kind, "full");
    await assert.rejects(enqueue(there, { keyId: "nobody", accountId: "nobody" }));
    await sleep(200);
    assert.equal(calls, 0);
  },
);

test("no notification is lost when the listening connection is cut", LIMIT, async (t) => {
  const { here, there, key, cut, listens } = await twoProcesses(t);
  let calls = 0;
  t.after(here.onWork(() => calls++));
  for (const order of ["before", "while", "after"]) {
    await listens();
    const { ended, finish } = await waitFor(here, there, key);
    calls = 0;
    if (order === "before") await cut();
    await Promise.all([finish(), ...(order === "while" ? [cut()] : [])]);
    if (order === "after") await cut();
    await ended;
    while (calls === 0) await sleep(5);
  }
});

test("a sweep that ends hundreds of submissions wakes all their waiters", LIMIT, async (t) => {
  const { here, there, key, clock, listens } = await twoProcesses(t);
  t.after(here.onWork(() => {}));
  await listens();
  const ids: string[] = [];
  for (let i = 0; i < 300; i++) {
    const accepted = await enqueue(there, key, { profile: "agent" });
    if (accepted.kind === "enqueued") ids.push(accepted.submission.id);
  }
  await there.submissions.claim("w", 1_000, 300);
  const waiting = ids.map((id) => here.submissions.whenTerminal(id, key.accountId, NEVER));
  await sleep(100);
  assert.equal((await sweepLater(there, clock, 1_000)).failed.length, 300);
  for (const submission of await Promise.all(waiting)) assert.equal(submission?.status, "error");
});

test("a store without subscribers has no listening connection", LIMIT, async (t) => {
  const { here, there, key, listening } = await twoProcesses(t);
  await enqueue(there, key);
  await here.submissions.claim("w", 1_000);
  assert.deepEqual(await listening(), []);
});
