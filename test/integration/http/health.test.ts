import assert from "node:assert/strict";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { faultyCheck, notReady } from "../../../src/domain/readiness.ts";
import { OperatorServer } from "../../../src/http/operator.ts";
import type { Store } from "../../../src/store/store.ts";
import { Raw } from "../../support/http/raw.ts";
import { READY, type Running, startHttp } from "../../support/http/running.ts";
import { stopwatch } from "../../support/stopwatch.ts";

/** Otherwise the test would wait indefinitely for a client that never finishes. */
const LIMIT = { timeout: 10_000 };

test("health returns status, enforcement, workers and depth", async (t) => {
  const { ask, submit, engine } = await startHttp(t);
  await submit();
  assert.deepEqual((await ask({ path: "/api/health" })).json, {
    status: "ok",
    enforcement_mode: "strict",
    workers: 3,
    queue_depth: 1,
  });
  engine.ready = notReady("the launcher does not answer");
  engine.workers = 0;
  const { status, json } = await ask({ path: "/api/health" });
  assert.equal(status, 200);
  assert.deepEqual(json, { status: "degraded", enforcement_mode: "none", workers: 0, queue_depth: 1 });
});

test("ready is 200 only after a successful self-test, else 503 with the checks", async (t) => {
  const { ask, engine } = await startHttp(t);
  const ready = await ask({ path: "/api/health/ready" });
  assert.equal(ready.status, 200);
  assert.deepEqual(ready.json, {
    status: "ready",
    enforcement_mode: "strict",
    cgroup_backend: "cgroup_v2",
    checks: [{ name: "seccomp", ok: true, detail: "filter active" }],
  });
  engine.ready = { ...READY, ready: false, checks: [{ name: "seccomp", ok: false, detail: "missing" }] };
  const { status, json } = await ask({ path: "/api/health/ready" });
  assert.equal(status, 503);
  assert.equal(json.status, "not_ready");
  assert.equal(typeof json.error, "string");
  assert.deepEqual(json.checks, [{ name: "seccomp", ok: false, detail: "missing" }]);
});

test("only the operator sees host paths in platform faults", async (t) => {
  const { ask, engine, store } = await startHttp(t);
  const check = faultyCheck("sandbox", new Error("connect ENOENT /srv/assay/launcher.sock"));
  engine.ready = { ...notReady("x"), checks: [check] };
  const { status, text } = await ask({ path: "/api/health/ready" });
  assert.equal(status, 503);
  assert.match(text, /the service's log says why/);
  assert.doesNotMatch(text, /ENOENT|launcher/);
  const operator = operatorOver(store, engine);
  const path = join(tmpdir(), `assay-faults-${process.pid}.sock`);
  await operator.listen({ path });
  t.after(() => operator.close());
  assert.match(JSON.stringify(await get(path, "/ready")), /ENOENT \/srv\/assay/);
});

test("languages lists the available languages", async (t) => {
  const { ask } = await startHttp(t);
  assert.deepEqual((await ask({ path: "/api/languages" })).json, ["python", "c"]);
});

test("the operator needs no key on a local socket", async (t) => {
  const { store, engine } = await startHttp(t);
  const operator = operatorOver(store, engine);
  const path = join(tmpdir(), `assay-operator-${process.pid}.sock`);
  await operator.listen({ path });
  t.after(() => operator.close());
  assert.deepEqual(await get(path, "/live"), [200, { status: "live" }]);
  assert.equal((await get(path, "/ready"))[0], 200);
  engine.ready = notReady("x");
  assert.equal((await get(path, "/ready"))[0], 503);
  assert.equal((await get(path, "/"))[0], 404);
});

test("an operator that never finishes its request does not prevent the service from stopping", LIMIT, async (t) => {
  const { store, engine } = await startHttp(t);
  const operator = operatorOver(store, engine);
  const path = join(tmpdir(), `assay-unfinished-${process.pid}.sock`);
  await operator.listen({ path });
  const unfinished = new Raw(connect(path));
  unfinished.write("GET /live HTTP/1.1\r\nHost:");
  assert.equal((await get(path, "/live"))[0], 200);
  const tookMs = stopwatch();
  await operator.close();
  assert.ok(tookMs() < 3_000);
  await unfinished.ended;
});

function operatorOver(store: Store, engine: Running["engine"]): OperatorServer {
  return new OperatorServer({
    store,
    workers: { capacity: () => 0, languages: () => [], readiness: async () => engine.ready },
    metrics: { contentType: "text/plain", text: async () => "assay_ready 1\n" },
    status: async () => ({ version: "1.2.3" }),
  });
}

function get(socketPath: string, path: string): Promise<[number, unknown]> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, agent: false }, (response) => {
      response.setEncoding("utf8");
      let text = "";
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve([response.statusCode ?? 0, JSON.parse(text)]));
    });
    sent.on("error", reject).end();
  });
}
