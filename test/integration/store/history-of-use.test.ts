import assert from "node:assert/strict";
import { test } from "node:test";
import { internalError } from "../../../src/domain/outcome.ts";
import type { Counts, HistoryRange } from "../../../src/store/history/types.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { countAll, end } from "../../support/store/history.ts";
import { addKey, enqueue, onEachDatabase, START_MS } from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";
import { addEndpoint, addProject, DONE, deliveryBudget } from "../../support/webhooks/project.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Start of the minute of the test clock. */
const MINUTE = START_MS - (START_MS % MINUTE_MS);
const ALL = { fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER, bucketMs: MINUTE_MS, accountIds: null };

const NOT_COMPILED = buildOutcome({ compile: report({ exitCode: 1 }) });

const sorted = (ended: Counts["ended"]) => ended.toSorted((a, b) => a.at - b.at || a.verdict.localeCompare(b.verdict));

onEachDatabase((temporaryStore) => {
  test("ends by language, key and project, the largest first, a compile error as CE", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const project = await addProject(store, "shop");
    const [first, other] = [{ ...project.key, hash: "" }, await addKey(store, "other")];
    for (let n = 0; n < 3; n++) await end(store, clock, first);
    await end(store, clock, first, { outcome: NOT_COMPILED, language: "c" });
    clock.nowMs = MINUTE + MINUTE_MS;
    await end(store, clock, other, { outcome: internalError("x") });
    await countAll(store);
    const groups = async (by: "language" | "key" | "project", most: number, of = ALL as HistoryRange) =>
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
    for (const claim of await store.deliveries.claimDue({ leaseMs: 60_000, ...deliveryBudget(10) })) {
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
    assert.deepEqual(await store.deliveries.claimDue({ leaseMs: 60_000, ...deliveryBudget(10) }), []);
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
    await store.history.mergeAndExpire({ mergeBeforeMs: hour + HOUR_MS, deleteBeforeMs: 0 });
    assert.deepEqual(await load(null), merged);
    await store.history.mergeAndExpire({ mergeBeforeMs: 0, deleteBeforeMs: hour + 1 });
    assert.deepEqual(await load(null), []);
  });
});
