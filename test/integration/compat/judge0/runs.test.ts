import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_COMPILE_OUTPUT_BYTES } from "../../../../src/domain/outcome.ts";
import { buildOutcome } from "../../../../src/verdict/build-outcome.ts";
import { runsOf } from "../../../../src/worker/runner.ts";
import { runPending, startHttp } from "../../../support/http/running.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";
import { report } from "../../../support/verdict/reports.ts";

const LIMIT = { timeout: 60_000 };
const PYTHON = { language_id: 71, source_code: "print(1)" };
const ENDED = buildOutcome({
  execute: report({ stdout: Buffer.from("1\n"), cpuUsec: 90_000, memoryPeakBytes: 4_096 }),
});

onEachDatabase((open) => {
  test("the worker gets the number of runs and the expected output, and the answer has the means", LIMIT, async (t) => {
    const { ask, store } = await startHttp(t, { open });
    const post = (path: string, body: unknown) => ask({ method: "POST", path: `/judge0/${path}`, body });
    const sent = [
      { ...PYTHON, number_of_runs: 3, expected_output: "1" },
      { ...PYTHON, number_of_runs: "20" },
      { ...PYTHON, number_of_runs: 1, expected_output: "1" },
    ];
    const { token } = (await post("submissions", sent[0])).json;
    const { json: more } = await post("submissions/batch", { submissions: sent.slice(1) });
    const tokens = [token, ...more.map((one: { token: string }) => one.token)];
    const repeats = new Map<string, unknown>();
    await runPending(store, (claim) => {
      repeats.set(claim.submission.id, { runs: runsOf(claim), expected: claim.foreign?.reference });
      return { ...ENDED, means: { cpuUsec: 30_000, memoryPeakBytes: 2_048 } };
    });
    const expected = [
      { runs: 3, expected: Buffer.from("1") },
      { runs: 20, expected: null },
      { runs: 1, expected: Buffer.from("1") },
    ];
    assert.deepEqual(
      tokens.map((one) => repeats.get(one)),
      expected,
    );
    const fields = "number_of_runs,time,memory,wall_time,status_id,stdout";
    assert.deepEqual((await ask({ path: `/judge0/submissions/${token}?fields=${fields}` })).json, {
      number_of_runs: 3,
      time: "0.03",
      memory: 2,
      wall_time: "0.02",
      status_id: 3,
      stdout: "1\n",
    });
    const { json: record } = await ask({ path: `/api/result/${token}` });
    assert.deepEqual([record.metrics.cpu_time_secs, record.metrics.memory_peak_bytes], [0.09, 4_096]);
    assert.doesNotMatch(JSON.stringify(record), /means|runs/);
  });

  test("each run counts against the rate limit", LIMIT, async (t) => {
    const { ask, store, key } = await startHttp(t, { open });
    const own = await key({ requestsPerMinute: 10 });
    const post = (path: string, body: unknown) => ask({ method: "POST", path: `/judge0/${path}`, body, key: own });
    const runs = (number_of_runs: number) => ({ ...PYTHON, number_of_runs });
    assert.equal((await post("submissions", runs(20))).status, 429);
    assert.equal(await store.submissions.depth(), 0);
    const first = await post("submissions", runs(4));
    const used = 10 - Number(first.headers["ratelimit-remaining"]);
    assert.ok(first.status === 201 && used >= 4, `${used}`);
    const { status, json } = await post("submissions/batch", { submissions: [runs(3), runs(20)] });
    assert.equal(status, 201);
    assert.deepEqual(
      json.map((one: object) => Object.keys(one)),
      [["token"], ["error"]],
    );
  });

  test(
    "submissions with several runs are claimed ahead only as far as their expected outputs fit",
    LIMIT,
    async (t) => {
      const { ask, store } = await startHttp(t, { open });
      const expected_output = "x".repeat(1_000_000);
      for (let at = 0; at < 12; at++) {
        const body = { ...PYTHON, number_of_runs: 2, expected_output };
        assert.equal((await ask({ method: "POST", path: "/judge0/submissions", body })).status, 201);
      }
      assert.equal((await store.submissions.claim("worker", 60_000, 1, 11)).length, 1 + 8);
    },
  );

  test("compile_output has the warnings of the compiler, which the record does not have", LIMIT, async (t) => {
    const { ask, store } = await startHttp(t, { open });
    const body = { language_id: 50, source_code: "int main(void) { return 0; }" };
    const made = async (output: Buffer) => {
      const { json } = await ask({ method: "POST", path: "/judge0/submissions", body });
      await runPending(store, () => ({ ...ENDED, compileOutput: output }));
      return json.token as string;
    };
    const read = async (token: string, query = "") =>
      (await ask({ path: `/judge0/submissions/${token}${query}` })).json.compile_output;
    const warning = "main.c:1: warning: é\n";
    const token = await made(Buffer.from(warning));
    assert.equal(await read(token), warning);
    assert.equal(Buffer.from(await read(token, "?base64_encoded=true"), "base64").toString(), warning);
    assert.doesNotMatch((await ask({ path: `/api/result/${token}` })).text, /warning/);
    // Cut in the middle of a character.
    const long = Buffer.from(`x${"é".repeat(MAX_COMPILE_OUTPUT_BYTES)}`);
    assert.match(await read(await made(long.subarray(0, MAX_COMPILE_OUTPUT_BYTES))), /^xé+$/);
  });
});
