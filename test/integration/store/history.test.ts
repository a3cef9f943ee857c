import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { within } from "../../../bench/load/database.ts";
import { binOf } from "../../../src/domain/history.ts";
import { internalError } from "../../../src/domain/outcome.ts";
import type { Counts, Range } from "../../../src/store/history/types.ts";
import { openEngine, openStore } from "../../../src/store/open.ts";
import { migrateTo, NEWEST } from "../../../src/store/schema/migrate.ts";
import type { Store } from "../../../src/store/store.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import {
  addKey,
  type Clock,
  emptyDatabase,
  enqueue,
  onEachEngine,
  START_MS,
  sweepLater,
} from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";
import { addEndpoint, addProject, DONE, roomFor } from "../../support/webhooks/project.ts";

/** The last schema version without a history. */
const BEFORE = 4;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Start of the minute of the test clock. */
const MINUTE = START_MS - (START_MS % MINUTE_MS);
const ALL = { fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER, bucketMs: MINUTE_MS, accountIds: null };

const NOT_COMPILED = buildOutcome({ compile: report({ exitCode: 1 }) });

const sorted = (ended: Counts["ended"]) => ended.toSorted((a, b) => a.at - b.at || a.verdict.localeCompare(b.verdict));

type Key = Awaited<ReturnType<typeof addKey>>;

/** Accepts a submission, claims it after `waitMs` and ends it after another `runMs`. */
async function end(
  store: Store,
  clock: Clock,
  key: Key,
  { outcome = DONE, waitMs = 0, runMs = 0, language = "python", projectId = null as string | null } = {},
): Promise<string> {
  await enqueue(store, { ...key, projectId }, { nowMs: clock.nowMs, language });
  clock.nowMs += waitMs;
  const [claim] = await store.submissions.claim("w", 60_000);
  assert.ok(claim);
  clock.nowMs += runMs;
  assert.ok(await store.submissions.finish(claim.lease, outcome));
  return claim.submission.id;
}

async function countAll(store: Store): Promise<number> {
  let counted = 0;
  for (let more = true; more; ) {
    const some = await store.history.count(2);
    counted += some;
    more = some === 2;
  }
  return counted;
}

onEachEngine((temporaryStore) => {
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

  test("ends by language, key and project, the largest first, a compile error as CE", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const project = await addProject(store, "shop");
    const [first, other] = [{ ...project.key, hash: "" }, await addKey(store, "other")];
    for (let n = 0; n < 3; n++) await end(store, clock, first);
    await end(store, clock, first, { outcome: NOT_COMPILED, language: "c" });
    clock.nowMs = MINUTE + MINUTE_MS;
    await end(store, clock, other, { outcome: internalError("x") });
    await countAll(store);
    const groups = async (by: "language" | "key" | "project", most: number, of = ALL as Range) =>
      (await store.history.groups(of, by, most)).map(({ id, name, ended }) => [id, name, sorted(ended)]);
    const [atFirst, atSecond] = [MINUTE, MINUTE + MINUTE_MS];
    const ofShop = [
      { at: atFirst, verdict: "AC", amount: 3 },
      { at: atFirst, verdict: "CE", amount: 1 },
    ];
    const ofOther = [{ at: atSecond, verdict: "IE", amount: 1 }];
    assert.deepEqual(await groups("language", 9), [
      ["python", "python", [ofShop[0], ...ofOther]],
      ["c", "c", [ofShop[1]]],
    ]);
    assert.deepEqual(await groups("key", 9), [
      [first.keyId, "key of shop", ofShop],
      ["other", "other", ofOther],
    ]);
    // The playground of an account, and keys of before projects, have none.
    assert.deepEqual(await groups("project", 9), [
      [project.id, "shop", ofShop],
      ["", "", ofOther],
    ]);
    assert.deepEqual(await groups("project", 1), [[project.id, "shop", ofShop]]);
    assert.deepEqual(await groups("key", 9, { ...ALL, untilMs: atSecond, accountIds: [other.accountId] }), []);
    assert.deepEqual(await groups("key", 9, { ...ALL, accountIds: [] }), []);
    const own = { ...ALL, accountIds: [first.accountId] };
    assert.deepEqual(sorted(await store.history.readOf(own, { keyId: first.keyId })), ofShop);
    assert.deepEqual(sorted(await store.history.readOf(own, { projectId: project.id })), ofShop);
    assert.deepEqual(await store.history.readOf(own, { keyId: "other" }), []);
  });

  test("deliveries are counted once at their end, by endpoint and account, however they end", async (t) => {
    const { store, clock, another } = await temporaryStore(t);
    const project = await addProject(store);
    const [good, bad] = [
      await addEndpoint(store, project),
      await addEndpoint(store, project, { url: "https://b.example/" }),
    ];
    await end(store, clock, { ...project.key, hash: "" }, { projectId: project.id });
    const attempt = { atMs: clock.nowMs, latencyMs: 1, status: 200, error: null, answer: null };
    for (const claim of await store.deliveries.claimDue({ leaseMs: 60_000, ...roomFor(10) })) {
      const ends = claim.endpoint.id === good.id;
      const next = ends ? ({ state: "delivered" } as const) : ({ state: "pending", atMs: clock.nowMs + 1 } as const);
      assert.ok(await store.deliveries.recordAttempt(claim, attempt, next));
    }
    const read = async (accountIds: readonly string[] | null, id?: string) =>
      (await store.history.deliveries({ ...ALL, accountIds }, id)).toSorted((a, b) => a.state.localeCompare(b.state));
    assert.deepEqual(await read(null), []);
    assert.equal(await store.history.countDeliveries(10), 1);
    assert.deepEqual(await store.history.failing(ALL, 5), []);
    assert.ok(await store.endpoints.setActive(bad.id, false, "test"));
    clock.nowMs += 10;
    assert.deepEqual(await store.deliveries.claimDue({ leaseMs: 60_000, ...roomFor(10) }), []);
    const counted = await Promise.all([store, await another()].map((one) => one.history.countDeliveries(10)));
    assert.deepEqual(counted.toSorted(), [0, 1]);
    const [delivered, failed] = (["delivered", "failed"] as const).map((state) => ({ at: MINUTE, state, amount: 1 }));
    assert.deepEqual(await read(null), [delivered, failed]);
    assert.deepEqual(await read([project.key.accountId], bad.id), [failed]);
    assert.deepEqual(await read(["another"]), []);
    const one = { id: bad.id, url: "https://b.example/", removed: false, failed: 1 };
    assert.deepEqual(await store.history.failing({ ...ALL, accountIds: [project.key.accountId] }, 5), [one]);
    assert.deepEqual(await store.history.failing({ ...ALL, accountIds: ["another"] }, 5), []);
  });

  test("samples keep the most of each minute that was pending and running, of the service and of each account", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const [one, other] = [await addKey(store, "one"), await addKey(store, "other")];
    const load = (accountIds: readonly string[] | null, bucketMs = MINUTE_MS) =>
      store.history.load({ ...ALL, bucketMs, accountIds }).then((rows) => rows.toSorted((a, b) => a.at - b.at));
    for (const key of [one, one, other]) await enqueue(store, key, { nowMs: clock.nowMs });
    await store.history.sample(4);
    const claims = await store.submissions.claim("w", 60_000, 3);
    await store.history.sample(3);
    for (const { lease } of claims) await store.submissions.finish(lease, DONE);
    clock.nowMs = MINUTE + MINUTE_MS;
    await store.history.sample(2);
    const idle = { at: MINUTE + MINUTE_MS, pending: 0, running: 0, slots: 2 };
    assert.deepEqual(await load(null), [{ at: MINUTE, pending: 3, running: 3, slots: 4 }, idle]);
    assert.deepEqual(await load([one.accountId]), [{ at: MINUTE, pending: 2, running: 2, slots: 4 }, idle]);
    assert.deepEqual(await load([one.accountId, other.accountId]), await load(null));
    assert.deepEqual(await load([]), [{ at: MINUTE, pending: 0, running: 0, slots: 4 }, idle]);
    const hour = MINUTE - (MINUTE % HOUR_MS);
    const merged = [{ at: hour, pending: 3, running: 3, slots: 4 }];
    assert.deepEqual(await load(null, HOUR_MS), merged);
    await store.history.shrink({ hoursBeforeMs: hour + HOUR_MS, forgetBeforeMs: 0 });
    assert.deepEqual(await load(null), merged);
    await store.history.shrink({ hoursBeforeMs: 0, forgetBeforeMs: hour + 1 });
    assert.deepEqual(await load(null), []);
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
    const shrink = () => store.history.shrink({ hoursBeforeMs: hour + HOUR_MS, forgetBeforeMs: hour - HOUR_MS });
    const amounts = async () =>
      Object.fromEntries(
        (await store.history.read(ALL)).ended.map(({ at, amount }) => [(at - hour) / MINUTE_MS, amount]),
      );
    assert.equal(await store.history.count(4), 4);
    await shrink();
    assert.deepEqual(await amounts(), { 0: 3 });
    assert.equal(await countAll(store), 1);
    clock.nowMs = hour + 7 * MINUTE_MS;
    await end(store, clock, key);
    await countAll(store);
    assert.deepEqual(await amounts(), { 0: 3, 7: 1, 60: 1 });
    await shrink();
    await shrink();
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
    const engine = await openEngine(database);
    t.after(() => engine.db.destroy());
    await engine.db.transaction().execute((trx) => migrateTo(trx, engine.capabilities, BEFORE));
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
    await engine.db.transaction().execute((trx) => migrateTo(trx, engine.capabilities, NEWEST));
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
