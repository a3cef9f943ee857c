import assert from "node:assert/strict";
import { Agent } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assay, dataDirectory, NOBODY, serve, worker } from "../../support/cli/processes.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { scrape, total } from "../../support/metrics/scrape.ts";
import { send } from "../../support/programs/product.ts";
import { postgresServer } from "../../support/store/temporary.ts";

test("service and worker each expose their own metrics, and both the same about the database", {
  timeout: 60_000,
}, async (t) => {
  const server = await postgresServer();
  const database = ["--database", server.url(await server.createDatabase())];
  const launcher = await startLauncher({ slots: 3, clientUid: NOBODY });
  const [serviceData, workerData] = [dataDirectory(t), dataDirectory(t)];
  const [serviceSocket, workerSocket] = [serviceData, workerData].map((data) => join(data, "db", "operator.sock"));
  assert.ok(serviceSocket && workerSocket);
  const service = await serve(t, serviceData, "--no-worker", ...database, "--operator-listen", `unix:${serviceSocket}`);
  const own = ["--launcher-socket", launcher.socket, "--workers", "2", "--operator-listen", `unix:${workerSocket}`];
  const working = await worker(t, workerData, ...own, ...database);
  const created = await assay("keys", "create", "--name", "k", "--data", serviceData, ...database);
  const agent = new Agent({ rejectUnauthorized: false });
  const submit = () => {
    const body = { language: "python", code: "print(1)" };
    return send(agent, service.port, created.stdout.trim(), "POST", "/api/submit?wait=true", body);
  };
  while ((await scrape(serviceSocket)).get("assay_workers") !== 2) await sleep(100);
  for (let n = 0; n < 3; n++) assert.equal((await submit()).status, 200);

  // Both count a submission after its client has the answer; duplicate counts are detected below.
  for (const [socket, name] of [
    [serviceSocket, "assay_http_request_duration_seconds_count"],
    [workerSocket, "assay_submissions_ended_total"],
  ] as const)
    while (total(await scrape(socket), name) < 3) await sleep(20);
  const [ofService, ofWorker] = [await scrape(serviceSocket), await scrape(workerSocket)];
  const both = (name: string) => [total(ofService, name), total(ofWorker, name)];
  assert.deepEqual(both("assay_submissions_accepted_total"), [3, 0]);
  assert.deepEqual(both("assay_submissions_ended_total"), [0, 3]);
  assert.deepEqual(both("assay_submission_run_seconds_count"), [0, 3]);
  assert.deepEqual(both("assay_http_request_duration_seconds_count"), [3, 0]);
  assert.deepEqual(
    [ofService.has('assay_slots{state="alive"}'), ofWorker.get('assay_slots{state="alive"}')],
    [false, 2],
  );
  for (const name of ["assay_ready", "assay_database_up"]) assert.deepEqual(both(name), [1, 1], name);
  assert.deepEqual(both("assay_workers"), [2, 2]);
  assert.deepEqual(both("assay_submissions_pending"), [0, 0]);

  agent.destroy();
  for (const started of [working, service]) {
    started.process.kill("SIGTERM");
    assert.equal(await started.ended, 0, started.output());
  }
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});
