import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { runFetchClient, runShellClient } from "../../support/http/documented-clients.ts";
import { runPending, startHttp } from "../../support/http/running.ts";

/** test/system/programs/docs.test.ts covers real runs; this file covers 408, 429 and rejection. */
const CLIENTS = { "docs/client.sh": runShellClient, "docs/client.mjs": runFetchClient };

for (const [name, client] of Object.entries(CLIENTS)) {
  test(`${name}: falls back to polling when the run takes longer than the hold`, async (t) => {
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

  test(`${name}: ends with the error of the service`, async (t) => {
    const { port, caPath } = await startHttp(t);
    const { code, stderr } = await client({ url: `https://127.0.0.1:${port}`, key: "assay_live_wrong", caPath });
    assert.notEqual(code, 0);
    assert.match(stderr, /unauthorized/);
  });
}

test("docs/client.mjs waits for Retry-After when the quota is used up", async (t) => {
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

for (const [name, client] of Object.entries(CLIENTS)) {
  test(`${name}: ends when the key is revoked during polling`, async (t) => {
    const { port, caPath, key, store, logs } = await startHttp(t, { holdMs: 200 });
    const running = client({ url: `https://127.0.0.1:${port}`, key: await key({ name: "mine" }), caPath });
    while (!logs.some((line) => line.includes('"status":408'))) await sleep(20);
    const mine = (await store.keys.list()).find(({ name }) => name === "mine");
    await store.keys.revoke(mine?.id ?? "", "test");
    const { code, stderr } = await running;
    assert.notEqual(code, 0);
    assert.match(stderr, /unauthorized/);
  });
}

test("docs/client.mjs retries when the connection is lost", async (t) => {
  const { port, caPath, key, store } = await startHttp(t);
  let lost = 0;
  // Forwards all connections except the first two, which it closes at the first data.
  const proxy = createServer((client) => {
    if (lost < 2) {
      client.once("data", () => client.destroy());
      lost++;
      return;
    }
    const service = connect(port, "127.0.0.1");
    client.pipe(service).pipe(client);
    for (const socket of [client, service]) socket.on("error", () => socket.destroy());
  }).listen(0, "127.0.0.1");
  t.after(() => proxy.close());
  await once(proxy, "listening");
  const { port: through } = proxy.address() as AddressInfo;
  const running = runFetchClient({ url: `https://127.0.0.1:${through}`, key: await key(), caPath });
  while ((await runPending(store)) === 0) await sleep(20);
  const { code, stderr, stdout } = await running;
  assert.equal(code, 0, stderr);
  assert.match(stdout, /AC/);
  assert.equal(lost, 2);
});
