import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assay, dataDirectory, get, NOBODY, serve } from "../../support/cli/processes.ts";
import { PostgresServer } from "../../support/store/postgres-server.ts";

const isRoot = process.getuid?.() === 0;

test("serve responds over HTTPS, accepts keys created while it runs, and drains with 0", async (t) => {
  const data = dataDirectory(t);
  const service = await serve(t, data);
  const key = (await assay("keys", "create", "--name", "n", "--data", data)).stdout.trim();
  assert.equal((await get(service.port, "/api/health", key)).status, 200);
  await assay("keys", "revoke", key, "--data", data);
  assert.equal((await get(service.port, "/api/health", key)).status, 401);
  service.process.kill("SIGTERM");
  assert.equal(await service.ended, 0, service.output());
  assert.equal(service.output().includes(key), false);
});

test("the first signal starts a drain; a second signal of either kind ends it immediately", async () => {
  const module = JSON.stringify(new URL("../../../src/cli/serve.ts", import.meta.url));
  const waits = `import { signalled } from ${module}; setTimeout(() => {}, 60_000); const first = signalled(); console.log("1");
    await first; console.log("2");`;
  for (const [first, second] of [
    ["SIGTERM", "SIGINT"],
    ["SIGINT", "SIGTERM"],
    ["SIGTERM", "SIGTERM"],
  ] as const) {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", waits], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    for (const signal of [first, second]) {
      await once(child.stdout, "data");
      child.kill(signal);
    }
    assert.deepEqual(await once(child, "exit"), [null, second]);
  }
});

test("never serves as root", { skip: !isRoot && "needs root" }, async (t) => {
  const service = await serve(t, dataDirectory(t));
  const status = readFileSync(`/proc/${service.process.pid}/status`, "utf8");
  assert.match(status, new RegExp(`^Uid:\\t${NOBODY}\\t${NOBODY}\\t${NOBODY}\\t${NOBODY}$`, "m"));
  assert.match(status, /^CapEff:\t0+$/m);
});

test("an address in use ends it with one sentence", async (t) => {
  const first = await serve(t, dataDirectory(t));
  const second = await assay("serve", "--data", dataDirectory(t), "--listen", `127.0.0.1:${first.port}`);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /^assay: .*EADDRINUSE.*\n$/);
});

test("a failure after the worker's start ends it", { timeout: 30_000 }, async (t) => {
  const nowhere = ["--listen", "127.0.0.1:0", "--dashboard", "/nowhere"];
  const { code, stderr } = await assay("serve", "--data", dataDirectory(t), ...nowhere);
  assert.equal(code, 1);
  assert.match(stderr, /^assay: ENOENT.*\/nowhere'\n$/);
});

test("refuses plain HTTP on a network address", async (t) => {
  const { code, stderr } = await assay("serve", "--data", dataDirectory(t), "--listen", "0.0.0.0:0", "--plain-http");
  assert.equal(code, 1);
  assert.match(stderr, /plain HTTP is only allowed on loopback/);
});

test("refuses SQLite for several processes", async (t) => {
  const data = dataDirectory(t);
  const alone = await assay("serve", "--no-worker", "--data", data);
  assert.equal(alone.code, 1);
  assert.match(alone.stderr, /^assay: --no-worker needs --database postgres:.*\n$/);
  const worker = await assay("worker", "--data", data);
  assert.equal(worker.code, 1);
  assert.match(worker.stderr, /^assay: a worker needs --database postgres:.*\n$/);
});

test("an unavailable database prints one sentence without the password", async (t) => {
  const url = "postgres://assay:secret@127.0.0.1:1/assay";
  for (const command of [["serve"], ["worker"], ["keys", "list"]]) {
    const { code, stderr } = await assay(...command, "--data", dataDirectory(t), "--database", url);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^assay: cannot use the database postgres:\/\/assay@127\.0\.0\.1:1\/assay: .*ECONNREFUSED.*\n$/,
    );
    assert.doesNotMatch(stderr, /secret/);
  }
});

test("a service without workers serves, reports that, and survives an outage of its database", {
  timeout: 60_000,
}, async (t) => {
  const server = await PostgresServer.start();
  const url = server.url(await server.createDatabase());
  const data = dataDirectory(t);
  const service = await serve(t, data, "--no-worker", "--database", url);
  const key = (await assay("keys", "create", "--name", "n", "--data", data, "--database", url)).stdout.trim();
  const ask = async (path: string) => {
    const { status, body } = await get(service.port, path, key);
    return { status, json: JSON.parse(body) };
  };
  const none = { status: "degraded", enforcement_mode: "none", workers: 0, queue_depth: 0 };
  assert.deepEqual(await ask("/api/health"), { status: 200, json: none });
  assert.deepEqual((await ask("/api/health/ready")).status, 503);
  assert.deepEqual((await ask("/api/languages")).json, []);
  await server.stop();
  for (const path of ["/api/health", "/api/health/ready", "/api/languages", "/api/result/x"]) {
    const { status, json } = await ask(path);
    assert.deepEqual([status, json], [503, { error: "the database does not respond, try again later" }], path);
  }
  await server.start();
  while ((await ask("/api/health")).status !== 200) await sleep(20);
  service.process.kill("SIGTERM");
  assert.equal(await service.ended, 0, service.output());
  assert.doesNotMatch(service.output(), /password|a%20/);
  await server.stop();
});
