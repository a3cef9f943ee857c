import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { notReady } from "../../../src/domain/readiness.ts";
import { setGauges } from "../../../src/metrics/gauges.ts";
import { Prometheus } from "../../../src/metrics/prometheus.ts";
import { StatusSampler, type StatusSamplerOptions } from "../../../src/metrics/status-sampler.ts";
import { openStore } from "../../../src/store/open.ts";
import { READY } from "../../support/http/running.ts";
import { samplesOf } from "../../support/metrics/scrape.ts";
import { stopwatch } from "../../support/stopwatch.ts";
import { PostgresServer } from "../../support/store/postgres-server.ts";

const EMPTY = { pending: 0, oldestPendingMs: 0, held: 0, largestShare: 0, running: {}, deliveries: 0, oldestDueMs: 0 };
const WORKERS = { capacity: () => 2, languages: () => ["c"], readiness: async () => READY };

function samplerWith(options: Partial<StatusSamplerOptions>): StatusSampler {
  return new StatusSampler({
    version: "1.2.3",
    store: { ping: async () => {}, backlog: async () => EMPTY },
    workers: WORKERS,
    slots: () => ({ wanted: 2, alive: 2, busy: 0 }),
    dataDir: tmpdir(),
    certificatePath: null,
    ...options,
  });
}

async function gauges(sampler: StatusSampler): Promise<Map<string, number>> {
  const prometheus = new Prometheus(["c", "python"]);
  setGauges(prometheus, await sampler.status(), ["c", "python"]);
  return samplesOf(await prometheus.text());
}

test("without its database, reports it as down and everything else as usual", {
  timeout: 60_000,
}, async () => {
  const server = await PostgresServer.start();
  const store = await openStore({ database: { kind: "postgres", url: server.url(await server.createDatabase()) } });
  const sampler = samplerWith({ store });
  const before = await gauges(sampler);
  assert.deepEqual([before.get("assay_database_up"), before.get("assay_submissions_pending")], [1, 0]);
  await server.stop();
  const after = await gauges(sampler);
  assert.deepEqual([after.get("assay_database_up"), after.get("assay_submissions_pending")], [0, undefined]);
  assert.deepEqual([after.get("assay_ready"), after.get('assay_slots{state="alive"}')], [1, 2]);
  await server.start();
  assert.equal((await gauges(sampler)).get("assay_database_up"), 1);
  await store.close();
  await server.stop();
});

test("queries a hanging database once and waits for 3 s, however often it is scraped", async () => {
  let queries = 0;
  const hanging = () => {
    queries++;
    return new Promise<never>(() => {});
  };
  const sampler = samplerWith({ store: { ping: hanging, backlog: hanging } });
  const tookMs = stopwatch();
  for (const page of await Promise.all([sampler.status(), sampler.status()])) assert.equal(page.database, null);
  assert.equal((await sampler.status()).database, null);
  const took = tookMs();
  assert.ok(took < 9_000, `took ${took} ms`);
  assert.equal(queries, 1);
});

test("an engine without a proof is not ready, with the reason and the time of its last proof", async () => {
  let readiness = READY;
  const sampler = samplerWith({ workers: { ...WORKERS, readiness: async () => readiness } });
  const { engine } = await sampler.status();
  assert.deepEqual([engine.ready, engine.failures], [true, []]);
  readiness = notReady("the launcher does not answer");
  const later = (await sampler.status()).engine;
  assert.deepEqual(
    [later.ready, later.readyAtMs, later.failures.map(({ detail }) => detail)],
    [false, engine.readyAtMs, ["the launcher does not answer"]],
  );
  assert.ok(Date.now() - (engine.readyAtMs ?? 0) < 5_000);
});

test("reports the certificate's expiry from the file, and none for an unreadable file", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "assay-look-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const [key, path] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=x", "-days", "2"];
  execFileSync("openssl", ["req", "-x509", ...made, "-keyout", key, "-out", path], { stdio: "ignore" });
  const samples = await gauges(samplerWith({ certificatePath: path }));
  const leftSecs = (samples.get("assay_certificate_expiry_timestamp_seconds") ?? 0) - Date.now() / 1000;
  assert.ok(Math.abs(leftSecs - 2 * 86_400) < 60, `${leftSecs} s`);
  writeFileSync(path, "no certificate");
  const broken = await gauges(samplerWith({ certificatePath: path }));
  assert.equal(broken.has("assay_certificate_expiry_timestamp_seconds"), false);
});

test("a missing data directory affects no other metric", async () => {
  const samples = await gauges(samplerWith({ dataDir: "/nowhere/at/all" }));
  assert.equal(samples.has("assay_data_free_bytes"), false);
  assert.equal(samples.get("assay_ready"), 1);
  assert.ok((await gauges(samplerWith({}))).has("assay_data_free_bytes"));
});
