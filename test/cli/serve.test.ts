import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { assay, dataDirectory, get, NOBODY, serve } from "./processes.ts";

const isRoot = process.getuid?.() === 0;

test("serve answers over HTTPS, knows keys that are made while it runs, and drains with 0", async (t) => {
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

test("it never serves as root", { skip: !isRoot && "needs root" }, async (t) => {
  const service = await serve(t, dataDirectory(t));
  const status = readFileSync(`/proc/${service.process.pid}/status`, "utf8");
  assert.match(status, new RegExp(`^Uid:\\t${NOBODY}\\t${NOBODY}\\t${NOBODY}\\t${NOBODY}$`, "m"));
  assert.match(status, /^CapEff:\t0+$/m);
});

test("an address that is taken ends it with a sentence", async (t) => {
  const first = await serve(t, dataDirectory(t));
  const second = await assay("serve", "--data", dataDirectory(t), "--listen", `127.0.0.1:${first.port}`);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /^assay: .*EADDRINUSE.*\n$/);
});

test("it refuses to offer plain HTTP to a network", async (t) => {
  const { code, stderr } = await assay("serve", "--data", dataDirectory(t), "--listen", "0.0.0.0:0", "--plain-http");
  assert.equal(code, 1);
  assert.match(stderr, /plain HTTP is only for loopback/);
});
