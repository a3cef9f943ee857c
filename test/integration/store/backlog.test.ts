import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type RawBuilder, sql } from "kysely";
import { NO_RUN_TOTALS } from "../../../src/domain/progress.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { openDatabase } from "../../../src/store/open.ts";
import { dueNow, ended, runningNow, waiting } from "../../../src/store/queue/backlog.ts";
import { SHARES } from "../../../src/store/queue/shares.ts";
import {
  addKey,
  enqueue,
  type OpenTemporary,
  onEachDatabase,
  START_MS,
  temporaryPostgres,
  temporaryStore,
} from "../../support/store/temporary.ts";
import { addEndpoint, addProject, DONE, deliveryBudget, submit } from "../../support/webhooks/project.ts";

onEachDatabase((temporary) => {
  test("the backlog counts pending submissions by key and running ones by language", async (t) => {
    const { store, clock } = await temporary(t);
    const none = {
      pending: 0,
      oldestPendingMs: 0,
      held: 0,
      largestShare: 0,
      running: {},
      deliveries: 0,
      oldestDueMs: 0,
    };
    assert.deepEqual(await store.backlog(), none);
    const narrow = await addKey(store, "narrow", { concurrency: 1 });
    const wide = await addKey(store, "wide", { concurrency: 10 });
    for (const language of ["c", "python", "c"]) await enqueue(store, narrow, { language });
    clock.nowMs += 500;
    await enqueue(store, wide, { language: "rust", nowMs: clock.nowMs });
    clock.nowMs += 1_000;
    assert.deepEqual(await store.backlog(), {
      ...none,
      pending: 4,
      oldestPendingMs: 1_500,
      held: 2,
      largestShare: 0.75,
    });
    assert.equal((await store.submissions.claim("w", 60_000, 10)).length, 2);
    const running = { c: 1, rust: 1 };
    assert.deepEqual(await store.backlog(), {
      ...none,
      pending: 2,
      oldestPendingMs: 1_500,
      held: 2,
      largestShare: 1,
      running,
    });
  });

  test("pending work of a suspended account counts as held and does not age the queue", async (t) => {
    const { store, clock } = await temporary(t);
    const { accountId } = await addKey(store, "one");
    await enqueue(store, { keyId: "one", accountId });
    clock.nowMs += 1_000;
    await enqueue(store, await addKey(store, "other"), { nowMs: clock.nowMs });
    clock.nowMs += 500;
    await store.accounts.setSuspended(accountId, true, "x");
    const { pending, held, oldestPendingMs } = await store.backlog();
    assert.deepEqual([pending, held, oldestPendingMs], [2, 1, 500]);
  });

  test("a submission that gave up its slot between two runs is pending, but does not age the queue", async (t) => {
    const { store, clock } = await temporary(t);
    const [one, other] = [await addKey(store, "one"), await addKey(store, "other")];
    await enqueue(store, one);
    const [claim] = await store.submissions.claim("w", 60_000, 1);
    assert.ok(claim);
    clock.nowMs += 400_000;
    await store.submissions.yieldSlot(claim.lease, { runs: 1, measured: NO_RUN_TOTALS, nextPass: null });
    const seen = async () => {
      const { pending, held, oldestPendingMs } = await store.backlog();
      return [pending, held, oldestPendingMs];
    };
    assert.deepEqual(await seen(), [1, 0, 0]);
    // Two more wait behind it: one of the same key, and one of another key.
    await enqueue(store, one, { nowMs: clock.nowMs });
    clock.nowMs += 1_000;
    await enqueue(store, other, { nowMs: clock.nowMs });
    clock.nowMs += 500;
    assert.deepEqual(await seen(), [3, 0, 1_500]);
  });

  test("shares are by account, with all its keys together, most pending first", async (t) => {
    const { store } = await temporary(t);
    const keys = [await addKey(store, "a", { account: "two" }), await addKey(store, "b", { account: "two" })];
    const one = await addKey(store, "one");
    for (const key of [...keys, ...keys, one]) await enqueue(store, key);
    await store.submissions.claim("w", 60_000, 3);
    for (const { keyId } of [...keys, one]) assert.equal(await store.quota.take(keyId, 60), 0);
    const shown = (await store.queue.shares(10)).accounts.map(({ id: _, ...share }) => share);
    assert.deepEqual(shown, [
      { name: "two", pending: 2, running: 2, requests: 2 },
      { name: "one", pending: 0, running: 1, requests: 1 },
    ]);
    const { accounts, amount } = await store.queue.shares(1);
    assert.deepEqual([accounts.length, amount], [1, 2]);
    assert.equal((await store.backlog()).largestShare, 1);
  });

  test("the age of due deliveries starts when the first was due; later ones are not overdue", async (t) => {
    const { store, clock } = await temporary(t);
    const project = await addProject(store);
    await addEndpoint(store, project);
    await submit(store, project);
    const [claim] = await store.submissions.claim("w", 60_000);
    assert.ok(claim);
    await store.submissions.finish(claim.lease, DONE);
    clock.nowMs += 700;
    const { deliveries, oldestDueMs } = await store.backlog();
    assert.deepEqual([deliveries, oldestDueMs], [1, 700]);
    const [delivery] = await store.deliveries.claimDue({ leaseMs: 1_000, ...deliveryBudget(1) });
    assert.ok(delivery);
    const attempt = { atMs: clock.nowMs, latencyMs: 1, status: 503, error: null, answer: null };
    await store.deliveries.recordAttempt(delivery, attempt, { state: "pending", atMs: clock.nowMs + 5_000 });
    const later = await store.backlog();
    assert.deepEqual([later.deliveries, later.oldestDueMs], [1, 0]);
  });

  test("the backlog of accounts has only their work", async (t) => {
    const { store } = await temporary(t);
    const project = await addProject(store, "one");
    await addEndpoint(store, project);
    for (let n = 0; n < 3; n++) await submit(store, project);
    const other = await addKey(store, "other");
    await enqueue(store, other, { language: "rust" });
    const [claim] = await store.submissions.claim("w", 60_000, 3);
    assert.ok(claim);
    await store.submissions.finish(claim.lease, DONE);
    const of = async (accountIds: string[]) => {
      const { pending, running, deliveries } = await store.backlog(accountIds);
      return { pending, running, deliveries };
    };
    const [one, two] = [project.key.accountId, other.accountId];
    assert.deepEqual(await of([one]), { pending: 1, running: { python: 1 }, deliveries: 1 });
    assert.deepEqual(await of([two]), { pending: 0, running: { rust: 1 }, deliveries: 0 });
    assert.deepEqual(await of([one, two]), { pending: 1, running: { python: 1, rust: 1 }, deliveries: 1 });
    assert.deepEqual(await of([]), { pending: 0, running: {}, deliveries: 0 });
  });

  test("recently ended submissions are counted by verdict", async (t) => {
    const { store, clock } = await temporary(t);
    const key = await addKey(store, "key");
    const endOne = async () => {
      await enqueue(store, key);
      const [claim] = await store.submissions.claim("w", 60_000);
      assert.ok(claim);
      await store.submissions.finish(claim.lease, DONE);
    };
    await endOne();
    clock.nowMs += 60_000;
    await endOne();
    await endOne();
    assert.deepEqual(await store.endedWithin(30_000), { AC: 2 });
    assert.deepEqual(await store.endedWithin(60_001), { AC: 3 });
  });
});

/** Ended records that the statements must not scan; a service has about this many after some weeks. */
const RECORDS = 20_000;

async function fill(engine: Database, open: string): Promise<void> {
  await sql.raw(`insert into accounts (id, name, tier, created_at) values ('a', 'a', 'beta', 0)`).execute(engine.db);
  await sql
    .raw(`insert into api_keys (id, account_id, name, prefix, hash, profiles, default_profile, created_at)
      values ('k', 'a', 'k', 'p', 'h', '["judge"]', 'judge', 0)`)
    .execute(engine.db);
  await sql
    .raw(`insert into submissions (id, account_id, key_id, language, profile, status, attempts, created_at, completed_at, verdict)
      ${open} select 'id' || n, 'a', 'k', 'c', 'judge', 'completed', 1, n, n, 'AC' from numbers`)
    .execute(engine.db);
  await sql.raw("insert into projects (id, account_id, name, created_at) values ('p', 'a', 'p', 0)").execute(engine.db);
  await sql
    .raw(`insert into endpoints (id, project_id, url, secret, signing, active, created_at)
      values ('e', 'p', 'u', 's', 'raw', 1, 0)`)
    .execute(engine.db);
  await sql
    .raw(`insert into deliveries (id, endpoint_id, message_id, kind, state, created_at, ended_at)
      ${open} select 'id' || n, 'e', 'm', 'result', 'delivered', n, n from numbers`)
    .execute(engine.db);
  await sql.raw("analyze").execute(engine.db);
}

const STATEMENTS: Readonly<Record<string, RawBuilder<unknown>>> = {
  "pending of each account": SHARES.pending(),
  "running of each account": SHARES.running(),
  waiting: waiting(),
  running: runningNow(),
  due: dueNow(),
  "waiting of accounts": waiting(["a", "b"]),
  "running of accounts": runningNow(["a", "b"]),
  "due of accounts": dueNow(["a", "b"]),
  ended: ended(START_MS),
};

const ENGINES: readonly [string, OpenTemporary, string, string][] = [
  [
    "SQLite",
    temporaryStore,
    `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${RECORDS})`,
    "explain query plan",
  ],
  ["PostgreSQL", temporaryPostgres, `with numbers as (select n from generate_series(1, ${RECORDS}) as n)`, "explain"],
];

for (const [name, temporary, numbers, explain] of ENGINES) {
  describe(`on ${name}`, () => {
    test("a scrape finds the queue by an index, regardless of the number of records", async (t) => {
      const { database } = await temporary(t);
      const engine = await openDatabase(database);
      try {
        await fill(engine, numbers);
        for (const [what, statement] of Object.entries(STATEMENTS)) {
          const { rows } = await sql`${sql.raw(explain)} ${statement}`.execute(engine.db);
          const plan = rows.map((row) => Object.values(row as object).join(" ")).join("\n");
          assert.doesNotMatch(plan, /Seq Scan on (submissions|deliveries)/, `${what}:\n${plan}`);
          assert.doesNotMatch(plan, /SCAN (submissions|deliveries)$/m, `${what}:\n${plan}`);
          assert.match(plan, /(submissions|deliveries)_[a-z]+/, `${what}:\n${plan}`);
        }
      } finally {
        await engine.db.destroy();
      }
    });
  });
}
