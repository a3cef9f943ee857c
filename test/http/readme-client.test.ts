import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { runFetchClient, runShellClient } from "./readme-client.ts";
import { runPending, startHttp } from "./running.ts";

/** That they work with real runs is in test/engine/readme.test.ts; here, what is rare there: 408, 429 and refusal. */
const CLIENTS = { "the shell lines": runShellClient, "the JavaScript": runFetchClient };

for (const [name, client] of Object.entries(CLIENTS)) {
  test(`${name} of README.md fall back to polling when the run takes longer than the hold`, async (t) => {
    const { port, caPath, key, store, logs } = await startHttp(t, { holdMs: 200 });
    const running = client({ url: `https://127.0.0.1:${port}`, key: await key(), caPath });
    while (!logs.some((line) => line.includes('"status":408'))) await sleep(20);
    await sleep(300);
    await runPending(store);
    const { code, stdout, stderr } = await running;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /AC/);
    assert.match(stdout, /1\n|1\\n/);
    assert.ok(logs.some((line) => line.includes("/api/result/:id")));
  });

  test(`${name} of README.md end with the error that the service tells`, async (t) => {
    const { port, caPath } = await startHttp(t);
    const { code, stderr } = await client({ url: `https://127.0.0.1:${port}`, key: "assay_live_wrong", caPath });
    assert.notEqual(code, 0);
    assert.match(stderr, /unauthorized/);
  });
}

test("the JavaScript of README.md waits as told when the quota is used up", async (t) => {
  const { port, caPath, key, store, clock, ask, logs } = await startHttp(t);
  const mine = await key({ requestsPerMinute: 1 });
  await ask({ path: "/api/health", key: mine });
  clock.nowMs += 59_000;
  const running = runFetchClient({ url: `https://127.0.0.1:${port}`, key: mine, caPath });
  while (!logs.some((line) => line.includes('"status":429'))) await sleep(20);
  clock.nowMs += 1_000;
  while ((await runPending(store)) === 0) await sleep(20);
  const { code, stderr } = await running;
  assert.equal(code, 0, stderr);
});
