import assert from "node:assert/strict";
import { test } from "node:test";
import { runsBody } from "../../../src/http/api/result.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { runsOf } from "../../../src/worker/runner.ts";
import { runPending, startHttp } from "../../support/http/running.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";

const LIMIT = { timeout: 60_000 };
const PYTHON = { language: "python", code: "print(1)" };
const ENDED = buildOutcome({
  execute: report({ stdout: Buffer.from("1\n"), cpuUsec: 90_000, memoryPeakBytes: 4_096 }),
});

onEachDatabase((open) => {
  test("a program runs as often as its request says, and its account can read the means", LIMIT, async (t) => {
    const { ask, store, key } = await startHttp(t, { open });
    const submit = async (more: object) =>
      (await ask({ method: "POST", path: "/api/submit", body: { ...PYTHON, ...more } })).json.id as string;
    const [several, once] = [await submit({ runs: 3 }), await submit({ runs: 1 })];
    const asked = new Map<string, number>();
    await runPending(store, (claim) => {
      asked.set(claim.submission.id, runsOf(claim));
      const means = { cpuUsec: 30_000, memoryPeakBytes: 2_048, runs: 2 };
      return runsOf(claim) > 1 ? { ...ENDED, means } : ENDED;
    });
    assert.deepEqual([asked.get(several), asked.get(once)], [3, 1]);
    const read = async (id: string) => runsBody.parse((await ask({ path: `/api/result/${id}/runs` })).json);
    assert.deepEqual(await read(several), { id: several, runs: 2, cpu_time_secs: 0.03, memory_peak_bytes: 2_048 });
    assert.deepEqual(await read(once), { id: once, runs: 1, cpu_time_secs: 0.09, memory_peak_bytes: 4_096 });
    const record = (await ask({ path: `/api/result/${several}` })).json;
    assert.deepEqual([record.metrics.cpu_time_secs, record.metrics.memory_peak_bytes], [0.09, 4_096]);
    assert.doesNotMatch(JSON.stringify(record), /means|"runs"/);
    const other = await key({ account: "other" });
    assert.equal((await ask({ path: `/api/result/${several}/runs`, key: other })).status, 404);
  });

  test(
    "a number of runs that is not possible is refused, and so is one where nothing runs several times",
    LIMIT,
    async (t) => {
      const { ask } = await startHttp(t, { open });
      const post = async (path: string, body: object) => (await ask({ method: "POST", path, body })).status;
      for (const runs of [0, 21, 1.5, "2", -1, null])
        assert.equal(await post("/api/submit", { ...PYTHON, runs }), 400, `${runs}`);
      assert.equal(await post("/api/submit", { ...PYTHON, runs: 2, stream: true }), 400);
      assert.equal(await post("/api/submit", { ...PYTHON, runs: 1, stream: true }), 202);
      assert.equal(await post("/api/judge", { ...PYTHON, runs: 2, cases: [{ stdin: "", stdout: "1" }] }), 400);
    },
  );

  test("each run counts against the rate limit, in a batch as well", LIMIT, async (t) => {
    const { ask, store, key } = await startHttp(t, { open });
    const own = await key({ requestsPerMinute: 10 });
    const post = (path: string, body: unknown) => ask({ method: "POST", path, body, key: own });
    assert.equal((await post("/api/submit", { ...PYTHON, runs: 20 })).status, 429);
    assert.equal(await store.submissions.depth(), 0);
    const { headers, status } = await post("/api/submit", { ...PYTHON, runs: 4 });
    assert.equal(status, 202);
    assert.equal(Number(headers["ratelimit-remaining"]), 10 - 1 - 4, "the refused request counts as one");
    const { json } = await post("/api/submissions/batch", [
      { ...PYTHON, runs: 3 },
      { ...PYTHON, runs: 20 },
    ]);
    assert.deepEqual(
      json.map((one: object) => "id" in one),
      [true, false],
    );
  });

  test(
    "a repeated request with an idempotency key runs nothing, and does not count the runs again",
    LIMIT,
    async (t) => {
      const { ask, key } = await startHttp(t, { open });
      const own = await key({ requestsPerMinute: 25 });
      const headers = { "idempotency-key": "3c2b8a6e-52a7-4b0f-9d57-6f1d9a3e7c11" };
      const post = () => ask({ method: "POST", path: "/api/submit", body: { ...PYTHON, runs: 20 }, key: own, headers });
      const first = await post();
      assert.deepEqual([first.status, first.headers["ratelimit-remaining"]], [202, "5"]);
      const again = await post();
      assert.deepEqual([again.status, again.json.id, again.headers["ratelimit-remaining"]], [202, first.json.id, "4"]);
    },
  );

  test("what the compiler wrote can be read once the run has ended, by its account only", LIMIT, async (t) => {
    const { ask, submit, store, key } = await startHttp(t, { open });
    const { id } = (await submit({ language: "c", code: "int main(void) { return 0; }" })).json;
    const path = `/api/result/${id}/compile-output`;
    assert.equal((await ask({ path })).status, 404);
    await runPending(store, () => ({ ...ENDED, compileOutput: Buffer.from("main.c:1: warning: é\n") }));
    const { status, text, headers } = await ask({ path });
    assert.deepEqual(
      [status, text, headers["content-type"]],
      [200, "main.c:1: warning: é\n", "application/octet-stream"],
    );
    const part = await ask({ path, headers: { range: "bytes=0-5" } });
    assert.deepEqual([part.status, part.text], [206, "main.c"]);
    assert.doesNotMatch((await ask({ path: `/api/result/${id}` })).text, /warning/);
    assert.equal((await ask({ path, key: await key({ account: "other" }) })).status, 404);
    const silent = (await submit()).json.id;
    await runPending(store);
    assert.deepEqual((await ask({ path: `/api/result/${silent}/compile-output` })).text, "");
  });
});
