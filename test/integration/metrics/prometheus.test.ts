import assert from "node:assert/strict";
import { test } from "node:test";
import { METRICS, type Metric } from "../../../src/domain/metrics.ts";
import { Prometheus } from "../../../src/metrics/prometheus.ts";
import { promtool, samplesOf, total, valuesOf } from "../../support/metrics/scrape.ts";

const ALL: readonly Metric[] = Object.values(METRICS);

test("names follow Prometheus's rules: full units, and _total only for counters", () => {
  for (const { kind, name } of ALL) {
    assert.match(name, /^assay(_[a-z]+)+$/);
    assert.equal(name.endsWith("_total"), kind === "counter", name);
    assert.equal(/_(seconds|bytes)(_total)?$/.test(name) || !/second|byte|_ms\b/.test(name), true, name);
    if (kind === "histogram") assert.match(name, /_seconds$/);
  }
  assert.equal(new Set(ALL.map(({ name }) => name)).size, ALL.length, "a name is used twice");
});

test("the exposition passes promtool", async () => {
  const prometheus = new Prometheus(["c", "python"]);
  prometheus.time("requests", { route: "/api/submit", method: "POST", status: "2xx" }, 0.01);
  const { status, words } = promtool(["check", "metrics"], await prometheus.text());
  assert.deepEqual([status, words], [0, ""]);
});

test("buckets are in ascending order", () => {
  for (const { buckets = [] } of ALL)
    assert.deepEqual(
      buckets,
      [...new Set(buckets)].sort((a, b) => a - b),
    );
});

test("counters start at 0 for every language and every label value", async () => {
  const samples = samplesOf(await new Prometheus(["c", "python"]).text());
  for (const verdict of METRICS.ended.labels.verdict)
    for (const language of ["c", "python"])
      assert.equal(samples.get(`assay_submissions_ended_total{language="${language}",verdict="${verdict}"}`), 0);
  assert.equal(samples.get('assay_http_refusals_total{reason="queueFull"}'), 0);
  assert.equal(samples.get("assay_records_purged_total"), 0);
});

test("a gauge that is not set or was removed is absent, not 0", async () => {
  const prometheus = new Prometheus(["c"]);
  const named = async () =>
    [...samplesOf(await prometheus.text()).keys()].filter((name) => /^assay_submissions_(pending|running)/.test(name));
  assert.deepEqual(await named(), []);
  prometheus.set("pending", {}, 3);
  prometheus.set("running", { language: "c" }, 1);
  assert.deepEqual((await named()).length, 2);
  prometheus.forget("pending");
  prometheus.forget("running");
  assert.deepEqual(await named(), []);
});

test("label values are bounded for any input", async () => {
  const prometheus = new Prometheus(["c", "python"]);
  for (const reason of METRICS.refusals.labels.reason) prometheus.count("refusals", { reason });
  for (let n = 0; n < 1_000; n++) {
    prometheus.time("requests", { route: `/made-up/${n}`, method: "GET", status: "2xx" }, 0.001);
    prometheus.count("accepted", { language: `cobol ${n}`, profile: "judge" });
  }
  prometheus.count("accepted", { language: "python", profile: "judge" });
  const samples = samplesOf(await prometheus.text());
  assert.equal(valuesOf(samples, "route").size, 257);
  assert.equal(valuesOf(samples, "language").size, 257);
  for (const reason of METRICS.refusals.labels.reason)
    assert.equal(samples.get(`assay_http_refusals_total{reason="${reason}"}`), 1, reason);
  assert.equal(total(samples, "assay_http_request_duration_seconds_count"), 1_000, "every request is counted");
  assert.equal(samples.get('assay_submissions_accepted_total{language="python",profile="judge"}'), 1);
});

test("a clock that was set back does not break measurements", async () => {
  const prometheus = new Prometheus(["c"]);
  prometheus.time("waited", { language: "c", profile: "judge" }, -3);
  const samples = samplesOf(await prometheus.text());
  assert.equal(samples.get('assay_submission_wait_seconds_sum{language="c",profile="judge"}'), 0);
  assert.equal(total(samples, "assay_submission_wait_seconds_count"), 1);
});
