import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { binOf } from "../../../../src/domain/history.ts";
import { internalError } from "../../../../src/domain/outcome.ts";
import type { History, Overview, UsageHistory } from "../../../../src/http/dashboard/api/overview.ts";
import { type SeededRun, seedHistory } from "../../../support/http/dashboard/seeded-history.ts";
import { signedIn } from "../../../support/http/dashboard/signed-in.ts";
import { type Asker, NOT_THERE, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { runPending, startHttp } from "../../../support/http/running.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";
import { addEndpoint } from "../../../support/webhooks/project.ts";

const OVERVIEW = "/dashboard/api/overview";

onEachDatabase((open) => {
  test("the overview counts pending, running and ended submissions of the visible accounts", async (t) => {
    const running = await startHttp(t, { open });
    const { store, clock, key, submit, engine } = running;
    clock.nowMs = Date.now();
    const clubKey = await key({ account: "club" });
    const club = (await store.accounts.list()).find(({ name }) => name === "club")?.id ?? "";
    await submit(undefined, { key: clubKey });
    await submit(undefined, { key: clubKey });
    clock.nowMs = Date.now() + 40;
    await runPending(store);
    await submit();
    await runPending(store, () => internalError("x"));
    await submit();
    await store.submissions.claim("w", 60_000);
    await submit(undefined, { key: clubKey });
    assert.equal(await store.history.count(10), 3);
    const [ada, bob, eve] = [
      await signedIn(running, "ada@example.com", "administrator"),
      await signedIn(running, "bob@example.com", [club]),
      await signedIn(running, "eve@example.com", []),
    ];
    const see = async (who: typeof ada, query = "") => {
      const { status, json } = await who.ask({ path: `${OVERVIEW}${query}` });
      assert.equal(status, 200, JSON.stringify(json));
      return json;
    };
    const totals = ({ history }: { history: { buckets: { verdicts: object }[] } }) => {
      const all: Record<string, number> = {};
      for (const { verdicts } of history.buckets)
        for (const [verdict, amount] of Object.entries(verdicts)) all[verdict] = (all[verdict] ?? 0) + amount;
      return all;
    };
    const [all, mine, none] = [await see(ada), await see(bob), await see(eve)];
    assert.deepEqual([totals(all), totals(mine), totals(none)], [{ AC: 2, IE: 1 }, { AC: 2 }, {}]);
    assert.deepEqual(totals(await see(ada, `?account=${club}`)), { AC: 2 });
    const { at: _, oldestPendingMs, ...now } = all.now;
    assert.deepEqual(now, { pending: 1, running: 1, slots: 3, deliveriesDue: 0, ready: true });
    assert.ok(oldestPendingMs >= 0 && oldestPendingMs < 60_000);
    assert.deepEqual([mine.now.pending, mine.now.running, none.now.pending], [1, 0, 0]);
    engine.languages = [];
    assert.equal((await see(ada, "/now")).ready, false);
    assert.equal((await bob.ask({ path: `${OVERVIEW}/now?account=x` })).status, 404);
  });
});

const MINUTE_MS = 60_000;
const FAST = { waitMs: 4, runMs: 25 };

onEachDatabase((open) => {
  test("the numbers of the charts are those of the store, and each member sees those of their accounts", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, root, ada, eve, accountId, projectId, other } = club;
    const { store, clock } = running;
    clock.nowMs = Date.now();
    for (const [name, project] of [
      ["grader", projectId],
      ["nightly", projectId],
      ["theirs", other.projectId],
    ] as const)
      await running.key({ name, project });
    const keys = new Map((await store.keys.list()).map(({ name, id }) => [name, id]));
    const keyOf = (name: string) => keys.get(name) ?? "";
    const endpoint = await addEndpoint(store, { id: projectId, key: { keyId: "", accountId } });
    const thisMinute = clock.nowMs - (clock.nowMs % MINUTE_MS);
    const run = (minutesAgo: number, rest: Partial<SeededRun>): SeededRun => ({
      ...{ accountId, keyId: keyOf("grader"), language: "python", verdict: "AC" },
      ...{ endedMs: thisMinute - minutesAgo * MINUTE_MS, ...FAST, ...rest },
    });
    const runs = [
      ...Array.from({ length: 98 }, () => run(20, {})),
      run(20, { verdict: "CE", keyId: keyOf("nightly"), language: "c" }),
      // The newest bucket has a single slow run, which is no percentile of the hour.
      run(1, { verdict: "TLE", runMs: 10_000 }),
      run(1, { accountId: other.accountId, keyId: keyOf("theirs"), verdict: "SIG" }),
      run(1, { keyId: null, verdict: "RE" }),
    ];
    const failed = { endpointId: endpoint.id, state: "failed", endedMs: thisMinute - 3 * MINUTE_MS } as const;
    await seedHistory(running, runs, [failed, failed, { ...failed, state: "delivered" }]);
    await store.history.sample(4);
    const see = async (who: Asker, query = "?window=1h") => {
      const { status, json } = await who("GET", `/overview${query}`);
      assert.equal(status, 200, JSON.stringify(json));
      return (json as Overview).history;
    };
    const mine = await see(ada);
    const at = (minutesAgo: number, of = mine) => of.buckets[of.buckets.length - 1 - minutesAgo];
    assert.deepEqual(at(20)?.verdicts, { AC: 98, CE: 1 });
    assert.deepEqual(at(1)?.verdicts, { TLE: 1, RE: 1 });
    assert.deepEqual(at(3)?.deliveries, { delivered: 1, failed: 2 });
    assert.deepEqual(at(0)?.load, { pending: 0, running: 0, slots: 4 });
    assert.equal(at(2)?.load, null);
    assert.deepEqual(mine.run.percentiles, { p50: 30, p95: 30, p99: 30 });
    assert.deepEqual(mine.wait.percentiles, { p50: 5, p95: 5, p99: 5 });
    assert.equal(mine.run.buckets[mine.buckets.length - 2]?.percentiles?.p99, 10_000);
    assert.deepEqual(mine.run.buckets[mine.buckets.length - 21]?.bins, [[binOf(25), 99]]);
    assert.equal(mine.bounds[binOf(25)], 30);
    const url = "https://receiver.example/hook";
    assert.deepEqual(mine.failing, [{ id: endpoint.id, url, removed: false, failed: 2 }]);

    const totals = ({ groups }: History) => groups.map(({ name, verdicts }) => [name, verdicts]);
    assert.deepEqual(totals(await see(ada, "?window=1h&by=key")), [
      ["grader", { AC: 98, TLE: 1 }],
      ["nightly", { CE: 1 }],
    ]);
    assert.deepEqual(totals(await see(ada, "?window=1h&by=language")), [
      ["python", { AC: 98, TLE: 1, RE: 1 }],
      ["c", { CE: 1 }],
    ]);
    const byProject = await see(root, "?window=1h&by=project");
    assert.deepEqual(totals(byProject), [
      ["shop", { AC: 98, CE: 1, TLE: 1 }],
      ["blog", { SIG: 1 }],
    ]);
    assert.deepEqual([byProject.groups[0]?.amounts.at(-21), byProject.groups[0]?.amounts.at(-2)], [99, 1]);
    assert.deepEqual(totals(await see(eve, "?window=1h&by=project")), [["blog", { SIG: 1 }]]);
    assert.deepEqual([(await see(eve)).failing, at(3, await see(eve))?.deliveries.failed], [[], 0]);

    const past = await see(ada, `?from=${thisMinute - 25 * MINUTE_MS}&to=${thisMinute - 15 * MINUTE_MS}`);
    assert.deepEqual([past.window, past.bucketMs, past.buckets.length], [null, MINUTE_MS, 10]);
    assert.deepEqual(past.buckets[5]?.verdicts, { AC: 98, CE: 1 });
    assert.equal((await ada("GET", "/overview?from=1")).status, 400);
    assert.equal((await ada("GET", "/overview?window=2h")).status, 400);
    assert.equal((await ada("GET", `/overview?account=${other.accountId}`)).status, 404);
  });

  test("use over time is that of the key, the project or the endpoint, for members of its account alone", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, ada, eve, root, accountId, projectId, other } = club;
    const { store, clock } = running;
    clock.nowMs = Date.now();
    await running.key({ name: "grader", project: projectId });
    await running.key({ name: "nightly", project: projectId });
    const keys = await store.keys.list();
    const [grader = "", nightly = ""] = ["grader", "nightly"].map((name) => keys.find((key) => key.name === name)?.id);
    const endpoint = await addEndpoint(store, { id: projectId, key: { keyId: grader, accountId } });
    const endedMs = clock.nowMs - 3 * 86_400_000;
    const run = { accountId, language: "c", endedMs, ...FAST };
    await seedHistory(
      running,
      [
        { ...run, keyId: grader, verdict: "AC" },
        { ...run, keyId: grader, verdict: "CE" },
        { ...run, keyId: nightly, verdict: "AC" },
        { ...run, keyId: "elsewhere", accountId: other.accountId, verdict: "AC" },
      ],
      [{ endpointId: endpoint.id, state: "failed", endedMs }],
    );
    const use = async (query: string) => {
      const { json } = await ada("GET", `/use?${query}`);
      const all: Record<string, number> = {};
      for (const { amounts } of (json as UsageHistory).buckets)
        for (const [name, amount] of Object.entries(amounts)) all[name] = (all[name] ?? 0) + amount;
      return all;
    };
    assert.deepEqual(await use(`key=${grader}`), { AC: 1, CE: 1 });
    assert.deepEqual(await use(`project=${projectId}`), { AC: 2, CE: 1 });
    assert.deepEqual(await use(`endpoint=${endpoint.id}`), { failed: 1 });
    assert.deepEqual(await use(`key=${grader}&window=24h`), {});
    for (const which of [`key=${grader}`, `project=${projectId}`, `endpoint=${endpoint.id}`]) {
      const { status, json } = await eve("GET", `/use?${which}`);
      assert.deepEqual([status, json], [404, NOT_THERE], which);
      assert.equal((await root("GET", `/use?${which}`)).status, 200, which);
    }
    assert.deepEqual((await ada("GET", `/keys/${grader}`)).json.name, "grader");
    assert.equal((await eve("GET", `/keys/${grader}`)).status, 404);
    for (const query of ["", `key=${grader}&project=${projectId}`, "key=..%2F"])
      assert.equal((await ada("GET", `/use?${query}`)).status, 400, query);
  });

  test("the first steps are marked as they happen, by account, and runs of the playground are none", async (t) => {
    const { running, ada, eve, accountId, projectId } = await startTwoTenants(t, { open });
    const { store } = running;
    const steps = async (who: Asker) => (await who("GET", "/first-steps")).json;
    const start = { project: true, key: false, run: false, endpoint: false };
    assert.deepEqual(await steps(ada), start);
    const playground = { accountId, language: "python", code: "1", stdin: "", profile: "judge" };
    assert.equal((await ada("POST", "/submissions", playground)).status, 202);
    assert.deepEqual(await steps(ada), start);
    const key = await running.key({ project: projectId });
    assert.deepEqual(await steps(ada), { ...start, key: true });
    await running.submit(undefined, { key });
    for (
      const until = performance.now() + 20_000;
      !(await steps(ada)).run && performance.now() < until;
      await sleep(20)
    );
    await addEndpoint(store, { id: projectId, key: { keyId: "", accountId } });
    assert.deepEqual(await steps(ada), { project: true, key: true, run: true, endpoint: true });
    assert.deepEqual(await steps(eve), start);
    assert.equal((await eve("GET", `/first-steps?account=${accountId}`)).status, 404);
  });
});
