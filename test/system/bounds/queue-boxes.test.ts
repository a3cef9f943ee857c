import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { percentile, TIMES_ALONE } from "../../support/bounds/measured.ts";
import { assay } from "../../support/cli/processes.ts";
import { useProduct } from "../../support/programs/product.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";

const product = useProduct({ workers: 2 });
const LONG_SECONDS = 2;
const KEYS = 4;
const WAITING = 200;
const RUNS = 7;

test("with real boxes, another account waits for one run of the busy account, and not at all after its queue is dropped", {
  timeout: 240_000 * PATIENCE,
}, async (t) => {
  const { data, ask, runAs } = product();
  const honest = await runAs("honest");
  const measure = async () => {
    const took: number[] = [];
    for (let i = 0; i < RUNS; i++) {
      const started = performance.now();
      const record = (await honest("python", "print(1)")) as { result: { verdict: string } };
      assert.equal(record.result.verdict, "AC");
      took.push(performance.now() - started);
    }
    return took;
  };
  const alone = await measure();

  const create = ["keys", "create", "--account", "busy", "--rpm", "1000000", "--data", data];
  const made = await Promise.all(Array.from({ length: KEYS }, (_, at) => assay(...create, "--name", `k${at}`)));
  const keys = made.map(({ stdout }) => stdout.trim());
  const body = { language: "python", code: `import time; time.sleep(${LONG_SECONDS})` };
  for (let at = 0; at < WAITING; at++) {
    const { status } = await ask("POST", "/api/submit", body, { "x-api-key": keys[at % KEYS] ?? "" });
    assert.equal(status, 202);
  }
  await sleep(500); // the busy account has both slots
  const alongside = await measure();
  for (const part of [0.5, 0.99]) {
    const [was, is] = [percentile(alone, part), percentile(alongside, part)];
    t.diagnostic(`${part}: ${was.toFixed(0)} ms alone, ${is.toFixed(0)} ms alongside`);
    // One run of the busy account from start to end, including set-up and teardown of its box.
    const runMs = LONG_SECONDS * 1000 + 500 * PATIENCE;
    assert.ok(is <= TIMES_ALONE * was + runMs, `${part}: ${was} ms alone, ${is} ms alongside`);
  }

  const { code, stdout } = await assay("accounts", "suspend", "busy", "--drop-pending", "--json", "--data", data);
  assert.equal(code, 0);
  const { dropped, suspended } = JSON.parse(stdout) as { dropped: number; suspended: boolean };
  assert.ok(suspended && dropped > WAITING / 2, stdout);
  await sleep(LONG_SECONDS * 1000 * PATIENCE); // running submissions end by themselves
  const { json } = await ask("GET", "/api/health");
  assert.equal((json as { queue_depth: number }).queue_depth, 0);
  assert.equal((await ask("POST", "/api/submit", body, { "x-api-key": keys[0] ?? "" })).status, 403);
  const after = percentile(await measure(), 0.5);
  assert.ok(after <= TIMES_ALONE * percentile(alone, 0.5) + 500 * PATIENCE, `${after} ms after the queue was dropped`);
});
