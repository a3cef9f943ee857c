import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { within } from "../../../bench/load/database.ts";
import { binOf } from "../../../src/domain/history.ts";
import { internalError } from "../../../src/domain/outcome.ts";
import { openDatabase, openStore } from "../../../src/store/open.ts";
import { migrateTo, NEWEST } from "../../../src/store/schema/migrate.ts";
import { countAll, end } from "../../support/store/history.ts";
import { addKey, emptyDatabase, enqueue, onEachDatabase, START_MS, sweepLater } from "../../support/store/temporary.ts";
import { addProject } from "../../support/webhooks/project.ts";

/** The last schema version without a history. */
const BEFORE = 4;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Start of the minute of the test clock. */
const MINUTE = START_MS - (START_MS % MINUTE_MS);
const ALL = { fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER, bucketMs: MINUTE_MS, accountIds: null };

onEachDatabase((temporaryStore) => {
  test("each end is counted once, in its minute, by account and verdict, with its wait and run times", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const [one, other] = [await addKey(store, "one"), await addKey(store, "other")];
    await end(store, clock, one, { waitMs: 40, runMs: 900 });
    await end(store, clock, one, { waitMs: 40, runMs: 900, language: "c" });
    await end(store, clock, other, { outcome: internalError("x") });
    clock.nowMs = MINUTE + MINUTE_MS;
    await end(store, clock, one);
    assert.deepEqual((await store.history.read(ALL)).ended, []);
    assert.equal(await countAll(store), 4);
    assert.equal(await countAll(store), 0);
    const { ended, times } = await store.history.read(ALL);
    assert.deepEqual(
      ended.toSorted((a, b) => a.at - b.at || a.verdict.localeCompare(b.verdict)),
      [
        { at: MINUTE, verdict: "AC", amount: 2 },
        { at: MINUTE, verdict: "IE", amount: 1 },
        { at: MINUTE + MINUTE_MS, verdict: "AC", amount: 1 },
      ],
    );
    const inFirst = times
      .filter(({ at }) => at === MINUTE)
      .toSorted((a, b) => a.kind.localeCompare(b.kind) || a.bin - b.bin);
    assert.deepEqual(inFirst, [
      { at: MINUTE, kind: "run", bin: binOf(0), amount: 1 },
      { at: MINUTE, kind: "run", bin: binOf(900), amount: 2 },
      { at: MINUTE, kind: "wait", bin: binOf(0), amount: 1 },
      { at: MINUTE, kind: "wait", bin: binOf(40), amount: 2 },
    ]);
    const ofOther = await store.history.read({ ...ALL, accountIds: [other.accountId] });
    assert.deepEqual(ofOther.ended, [{ at: MINUTE, verdict: "IE", amount: 1 }]);
    assert.deepEqual(await store.history.read({ ...ALL, accountIds: [] }), { ended: [], times: [] });
    assert.deepEqual(
      (await store.history.read({ ...ALL, bucketMs: HOUR_MS })).ended.map(({ amount }) => amount).toSorted(),
      [1, 3],
    );
    assert.deepEqual((await store.history.read({ ...ALL, fromMs: MINUTE + 1 })).ended, [
      { at: MINUTE + MINUTE_MS, verdict: "AC", amount: 1 },
    ]);
  });

  test("an end by sweep is counted; a requeue is not", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const key = await addKey(store, "key", { profiles: ["judge", "agent"] });
    await enqueue(store, key, { profile: "agent" });
    await enqueue(store, key);
    assert.equal((await store.submissions.claim("w", 1_000, 2)).length, 2);
    const swept = await sweepLater(store, clock, 1_000);
    assert.deepEqual([swept.failed.length, swept.requeued.length], [1, 1]);
    assert.equal(await countAll(store), 1);
    assert.deepEqual((await store.history.read(ALL)).ended, [{ at: MINUTE, verdict: "IE", amount: 1 }]);
  });

  test("concurrent counts by two processes count each end once", async (t) => {
    const { store, clock, another } = await temporaryStore(t);
    const key = await addKey(store, "key");
    for (let n = 0; n < 9; n++) await end(store, clock, key);
    const other = await another();
    const counted = await Promise.all([countAll(store), countAll(other), countAll(store), countAll(other)]);
    assert.equal(
      counted.reduce((sum, amount) => sum + amount, 0),
      9,
    );
    const [only, ...more] = (await store.history.read(ALL)).ended;
    assert.deepEqual([only?.amount, more.length], [9, 0]);
  });

  test("records that are purged stay in the history, counted before or not", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const project = await addProject(store);
    await end(store, clock, { ...project.key, hash: "" });
    await countAll(store);
    const id = await end(store, clock, { ...project.key, hash: "" });
    assert.equal(await store.retention.purge(clock.nowMs, 100), 2);
    assert.equal(await store.submissions.get(id, project.key.accountId), undefined);
    assert.equal(await countAll(store), 1);
    assert.deepEqual((await store.history.read(ALL)).ended, [{ at: MINUTE, verdict: "AC", amount: 2 }]);
  });

  test("old minutes are merged into hours without loss, late ones included, and the oldest are deleted", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const key = await addKey(store, "key");
    const hour = START_MS - (START_MS % HOUR_MS);
    for (const at of [hour - 2 * HOUR_MS, hour, hour + MINUTE_MS, hour + 5 * MINUTE_MS, hour + HOUR_MS]) {
      clock.nowMs = at;
      await end(store, clock, key);
    }
    const mergeAndExpire = () =>
      store.history.mergeAndExpire({ mergeBeforeMs: hour + HOUR_MS, deleteBeforeMs: hour - HOUR_MS });
    const amounts = async () =>
      Object.fromEntries(
        (await store.history.read(ALL)).ended.map(({ at, amount }) => [(at - hour) / MINUTE_MS, amount]),
      );
    assert.equal(await store.history.count(4), 4);
    await mergeAndExpire();
    assert.deepEqual(await amounts(), { 0: 3 });
    assert.equal(await countAll(store), 1);
    clock.nowMs = hour + 7 * MINUTE_MS;
    await end(store, clock, key);
    await countAll(store);
    assert.deepEqual(await amounts(), { 0: 3, 7: 1, 60: 1 });
    await mergeAndExpire();
    await mergeAndExpire();
    assert.deepEqual(await amounts(), { 0: 4, 60: 1 });
    const { times } = await store.history.read({ ...ALL, bucketMs: HOUR_MS });
    assert.equal(
      times.filter(({ kind }) => kind === "run").reduce((sum, { amount }) => sum + amount, 0),
      5,
    );
  });
});

for (const kind of ["sqlite", "postgres"] as const) {
  test(`the migrations count earlier ends once, by key too, on ${kind}`, async (t) => {
    const database = await emptyDatabase(t, kind);
    const engine = await openDatabase(database);
    t.after(() => engine.db.destroy());
    await engine.db.transaction().execute((trx) => migrateTo(trx, engine.abilities, BEFORE));
    await sql`insert into accounts values ('a', 'a', 'beta', 0)`.execute(engine.db);
    await sql`insert into api_keys (id, account_id, name, prefix, hash, profiles, default_profile, created_at)
      values ('k', 'a', 'k', 'p', 'h', '["judge"]', 'judge', 0)`.execute(engine.db);
    for (const [id, started, completed] of [
      ["x", 70_000, 70_100],
      ["y", null, null],
    ] as const) {
      await sql`insert into submissions (id, account_id, key_id, language, profile, status, attempts, created_at, started_at, completed_at, verdict)
        values (${id}, 'a', 'k', 'c', 'judge', ${completed ? "completed" : "pending"}, 1, 60000, ${started}, ${completed}, ${completed && "TLE"})`.execute(
        engine.db,
      );
    }
    await engine.db.transaction().execute((trx) => migrateTo(trx, engine.abilities, NEWEST));
    await within(database, async ({ db }) => {
      assert.deepEqual(
        await db.selectFrom("uncounted").select(["account_id", "language", "verdict", "wait_ms", "run_ms"]).execute(),
        [{ account_id: "a", language: "c", verdict: "TLE", wait_ms: 10_000, run_ms: 100 }],
      );
      const byKey = { at: 60_000, account_id: "a", key_id: "k", verdict: "TLE", amount: 1 };
      const all = () => db.selectFrom("history_keys").selectAll().execute();
      assert.deepEqual(await all(), [byKey]);
      const store = await openStore({ database });
      assert.equal(await store.history.count(10), 1);
      await store.close();
      assert.deepEqual(await all(), [byKey]);
    });
  });
}
