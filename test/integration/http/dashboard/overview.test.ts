import assert from "node:assert/strict";
import { test } from "node:test";
import { internalError } from "../../../../src/domain/outcome.ts";
import { signedIn } from "../../../support/http/dashboard/signed-in.ts";
import { runPending, startHttp } from "../../../support/http/running.ts";
import { onEachEngine } from "../../../support/store/temporary.ts";

const OVERVIEW = "/dashboard/api/overview";
const HOUR_MS = 3_600_000;

onEachEngine((open) => {
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
    const busy = all.history.buckets.filter(({ runMs }: { runMs: unknown }) => runMs);
    assert.equal(
      busy.reduce((sum: number, { errors }: { errors: number }) => sum + errors, 0),
      1,
    );
    for (const { waitMs, runMs } of busy)
      assert.ok(waitMs.p50 <= waitMs.p95 && waitMs.p95 <= waitMs.p99 && runMs.p50 >= 1);
    engine.languages = [];
    assert.equal((await see(ada, "/now")).ready, false);
    assert.equal((await bob.ask({ path: `${OVERVIEW}/now?account=x` })).status, 404);
  });
});

test("each window is complete, oldest first, and its last bucket is in progress", async (t) => {
  const running = await startHttp(t);
  const ada = await signedIn(running, "ada@example.com", "administrator");
  for (const [window, amount, bucketMs] of [
    ["1h", 60, HOUR_MS / 60],
    ["24h", 96, HOUR_MS / 4],
    ["7d", 84, 2 * HOUR_MS],
    ["30d", 120, 6 * HOUR_MS],
  ] as const) {
    const { history } = (await ada.ask({ path: `${OVERVIEW}?window=${window}` })).json;
    assert.deepEqual([history.window, history.bucketMs, history.buckets.length], [window, bucketMs, amount]);
    const starts = history.buckets.map(({ at }: { at: string }) => Date.parse(at));
    for (const [index, start] of starts.entries()) assert.equal(start, starts[0] + index * bucketMs);
    assert.ok(starts.at(-1) <= Date.now() && starts.at(-1) > Date.now() - bucketMs - 5_000);
    assert.deepEqual(history.buckets[0], {
      at: history.buckets[0].at,
      verdicts: {},
      errors: 0,
      waitMs: null,
      runMs: null,
    });
  }
  assert.equal((await ada.ask({ path: `${OVERVIEW}?window=2h` })).status, 400);
  assert.equal((await running.ask({ path: OVERVIEW, key: null })).status, 401);
});
