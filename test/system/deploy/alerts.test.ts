import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { METRICS } from "../../../src/domain/metrics.ts";
import { Prometheus } from "../../../src/metrics/prometheus.ts";
import { promtool } from "../../support/metrics/scrape.ts";
import { ROOT, read, rows, section } from "../../support/repo/documents.ts";

const RULES = join(ROOT, "deploy/prometheus/alerts.yml");

interface Alert {
  readonly name: string;
  readonly expr: string;
  readonly text: string;
}

const ALERTS: readonly Alert[] = read("deploy/prometheus/alerts.yml")
  .split("- alert: ")
  .slice(1)
  .map((text) => ({ name: text.split("\n")[0] ?? "", expr: /expr: (.+)/.exec(text)?.[1] ?? "", text }));

const NAMES = ALERTS.map(({ name }) => name);

/** Names of metrics in an expression: words other than keywords, labels and durations. */
function metricsIn(expr: string): string[] {
  const plain = expr
    .replaceAll(/"[^"]*"/g, "")
    .replaceAll(/\{[^}]*\}/g, "")
    .replaceAll(/\[[^\]]*\]/g, "");
  const labels = /\b(?:by|on|ignoring|group_left)\s*\([^)]*\)/g;
  return [...plain.replaceAll(labels, "").matchAll(/\b[a-z_][a-z0-9_]+\b(?!\s*\()/g)]
    .map(([word]) => word)
    .filter((word) => !["and", "or", "unless", "bool"].includes(word));
}

async function exposed(): Promise<Set<string>> {
  const text = await new Prometheus(["c"]).text();
  const names = [...text.matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name = "", kind]) =>
    kind === "histogram" ? ["bucket", "sum", "count"].map((part) => `${name}_${part}`) : [name],
  );
  return new Set(names);
}

test("a service exposes every metric of the alerts and the dashboard", async () => {
  const names = await exposed();
  const board = JSON.parse(read("deploy/grafana/assay.json")) as { panels: { targets?: { expr: string }[] }[] };
  const onBoard = board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const expressions = [...ALERTS.map(({ expr }) => expr), ...onBoard];
  assert.ok(ALERTS.length >= 26 && onBoard.length >= 42);
  for (const expr of expressions) {
    const used = metricsIn(expr);
    assert.ok(used.length > 0, expr);
    // Prometheus provides `up`.
    for (const name of used.filter((one) => one !== "up")) assert.ok(names.has(name), `${name} in ${expr}`);
  }
});

test("expressions only compare our labels with possible values", () => {
  const board = read("deploy/grafana/assay.json").replaceAll('\\"', '"');
  const values = new Map<string, Set<string>>();
  for (const { labels } of Object.values(METRICS))
    for (const [label, known] of Object.entries(labels) as [string, readonly string[] | null][])
      values.set(label, new Set([...(values.get(label) ?? []), ...(known ?? [])]));
  const asked = [...`${read("deploy/prometheus/alerts.yml")}${board}`.matchAll(/\b([a-z]+)(?:=~|!=|=)"([^"$]+)"/g)];
  const ours = asked.filter(([, label = ""]) => (values.get(label)?.size ?? 0) > 0);
  assert.ok(ours.length > 8);
  for (const [, label = "", value = ""] of ours)
    for (const one of value.split("|")) assert.ok(values.get(label)?.has(one), `${label}="${one}"`);
});

test("each alert has a summary, a severity, and a description with at least two sentences", () => {
  for (const { name, text } of ALERTS) {
    assert.match(text, /^ {10}summary: ".+"$/m, name);
    assert.match(text, /^ {8}labels: \{ severity: (critical|warning) \}$/m, name);
    const [, description = ""] = /^ {10}description: >-\n((?: {12}.+\n?)+)/m.exec(text) ?? [];
    assert.ok((description.match(/[.?](\s|$)/g) ?? []).length >= 2, name);
  }
});

test("the table of metrics matches the code", () => {
  // Another table of the section says which metrics answer which questions.
  const told = rows(section(read("docs/operations.md"), "Metrics")).filter(([name = ""]) => name.startsWith("`"));
  const expected = Object.values(METRICS).map(({ name, help, labels }) => {
    const names = Object.keys(labels).map((label) => `\`${label}\``);
    return [`\`${name}\``, names.join(", ") || "–", help];
  });
  assert.deepEqual(told, expected);
});

/** The variable of the data source in the dashboard. */
const SOURCE = "$".concat("{datasource}");

test("Grafana can read the dashboard: a variable for the data source, unique ids, separate positions", () => {
  const board = JSON.parse(read("deploy/grafana/assay.json"));
  const { templating, panels } = board;
  assert.deepEqual(
    templating.list.map(({ name, type }: { name: string; type: string }) => [name, type]),
    [
      ["datasource", "datasource"],
      ["job", "query"],
      ["instance", "query"],
    ],
  );
  assert.equal(new Set(panels.map(({ id }: { id: number }) => id)).size, panels.length);
  const cells = new Set<string>();
  for (const { type, title, datasource, targets, gridPos } of panels) {
    assert.ok(["row", "stat", "timeseries"].includes(type) && title, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(x < 24 && !cells.has(`${x} ${y}`), `${title} lies over another panel`);
        cells.add(`${x} ${y}`);
      }
    if (type === "row") continue;
    assert.deepEqual(datasource, { type: "prometheus", uid: SOURCE });
    for (const target of targets) assert.equal(target.datasource.uid, SOURCE, title);
  }
});

test("Prometheus accepts the rules and the scrape configuration", () => {
  for (const args of [
    ["check", "rules", "--lint-fatal", RULES],
    ["check", "config", join(ROOT, "deploy/prometheus/scrape.yml")],
  ]) {
    const { status, words } = promtool(args);
    assert.equal(status, 0, words);
  }
});

const JOB = 'job="assay",instance="a"';
/** A series that rises by an amount each minute. */
const rising = (by: number, from = 0) => `${from}+${by}x120`;
const steady = (value: number) => `${value}x120`;
const ENDED = "assay_submissions_ended_total";
const REQUESTS = "assay_http_request_duration_seconds_count";
const ATTEMPTS = "assay_webhook_attempt_duration_seconds_count";
const CLAIMS = 'assay_database_operation_duration_seconds_bucket{job="assay",instance="a",operation="claim",le=';
const EXECUTED = "assay_executions_ended_total";
const CREATED = 'assay_sandbox_create_duration_seconds_bucket{job="assay",instance="a",le=';

type Series = Readonly<Record<string, string>>;

/** For each alert, series that must trigger it, and similar series that must not. */
const CASES: Readonly<Record<string, readonly [fires: Series, quiet: Series]>> = {
  AssayDown: [{ [`up{${JOB}}`]: steady(0) }, { [`up{${JOB}}`]: steady(1), 'up{job="other"}': steady(0) }],
  AssayNotReady: [{ [`assay_ready{${JOB}}`]: steady(0) }, { [`assay_ready{${JOB}}`]: "1x20 0 1x100" }],
  AssayDatabaseDown: [{ [`assay_database_up{${JOB}}`]: steady(0) }, { [`assay_database_up{${JOB}}`]: steady(1) }],
  AssayNoWorkers: [{ [`assay_workers{${JOB}}`]: steady(0) }, { [`assay_workers{${JOB}}`]: steady(1) }],
  AssaySlotsMissing: [
    { [`assay_slots{${JOB},state="wanted"}`]: steady(4), [`assay_slots{${JOB},state="alive"}`]: steady(3) },
    { [`assay_slots{${JOB},state="wanted"}`]: steady(4), [`assay_slots{${JOB},state="alive"}`]: steady(4) },
  ],
  AssayLanguageMissing: [
    { [`assay_language_offered{${JOB},language="go"}`]: steady(0) },
    { [`assay_language_offered{${JOB},language="go"}`]: steady(1) },
  ],
  AssayQueueSlow: [
    {
      [`assay_submissions_oldest_pending_age_seconds{${JOB}}`]: steady(400),
      [`assay_submissions_pending{${JOB}}`]: steady(9),
      [`assay_submissions_held{${JOB}}`]: steady(8),
    },
    {
      [`assay_submissions_oldest_pending_age_seconds{${JOB}}`]: steady(400),
      [`assay_submissions_pending{${JOB}}`]: steady(9),
      [`assay_submissions_held{${JOB}}`]: steady(9),
    },
  ],
  AssayQueueFull: [
    { [`assay_http_refusals_total{${JOB},reason="queueFull"}`]: rising(5) },
    { [`assay_http_refusals_total{${JOB},reason="quotaExceeded"}`]: rising(5) },
  ],
  AssayQueueOneAccount: [
    {
      [`assay_submissions_pending_largest_share{${JOB}}`]: steady(0.8),
      [`assay_submissions_oldest_pending_age_seconds{${JOB}}`]: steady(400),
    },
    {
      [`assay_submissions_pending_largest_share{${JOB}}`]: steady(0.8),
      [`assay_submissions_oldest_pending_age_seconds{${JOB}}`]: steady(200),
    },
  ],
  AssayInternalErrors: [
    { [`${ENDED}{${JOB},verdict="IE"}`]: rising(2), [`${ENDED}{${JOB},verdict="AC"}`]: rising(98) },
    { [`${ENDED}{${JOB},verdict="IE"}`]: rising(1), [`${ENDED}{${JOB},verdict="AC"}`]: rising(300) },
  ],
  AssayRunsRepeated: [
    { [`assay_runs_repeated_total{${JOB},language="c"}`]: rising(1) },
    { [`assay_runs_repeated_total{${JOB},language="c"}`]: "0x30 1x90" },
  ],
  AssayLeasesExpired: [
    { [`assay_leases_expired_total{${JOB},became="pending"}`]: "0x55 1x90" },
    { [`assay_leases_expired_total{${JOB},became="pending"}`]: steady(1) },
  ],
  AssayLeftovers: [
    { [`assay_leftovers_total{${JOB},kind="process"}`]: "0x55 1x90" },
    {
      [`assay_leftovers_total{${JOB},kind="process"}`]: steady(3),
      [`assay_leftovers_total{${JOB},kind="released_later"}`]: "0x55 1x90",
    },
  ],
  AssayServerErrors: [
    { [`${REQUESTS}{${JOB},status="5xx"}`]: rising(10), [`${REQUESTS}{${JOB},status="2xx"}`]: rising(90) },
    { [`${REQUESTS}{${JOB},status="4xx"}`]: rising(50), [`${REQUESTS}{${JOB},status="2xx"}`]: rising(50) },
  ],
  AssayAuthFailures: [
    { [`assay_http_refusals_total{${JOB},reason="unauthorized"}`]: rising(200) },
    { [`assay_http_refusals_total{${JOB},reason="unauthorized"}`]: rising(60) },
  ],
  AssayDatabaseSlow: [
    { [`${CLAIMS}"0.25"}`]: rising(90), [`${CLAIMS}"1"}`]: rising(100), [`${CLAIMS}"+Inf"}`]: rising(100) },
    { [`${CLAIMS}"0.25"}`]: rising(100), [`${CLAIMS}"1"}`]: rising(100), [`${CLAIMS}"+Inf"}`]: rising(100) },
  ],
  AssayWebhooksLate: [
    { [`assay_webhook_deliveries_oldest_due_age_seconds{${JOB}}`]: steady(130) },
    { [`assay_webhook_deliveries_oldest_due_age_seconds{${JOB}}`]: steady(20) },
  ],
  AssayWebhooksFailing: [
    { [`${ATTEMPTS}{${JOB},outcome="again"}`]: rising(6), [`${ATTEMPTS}{${JOB},outcome="delivered"}`]: rising(4) },
    { [`${ATTEMPTS}{${JOB},outcome="again"}`]: rising(4), [`${ATTEMPTS}{${JOB},outcome="delivered"}`]: rising(6) },
  ],
  AssayDiskFilling: [
    { [`assay_data_free_bytes{${JOB}}`]: steady(9), [`assay_data_size_bytes{${JOB}}`]: steady(100) },
    { [`assay_data_free_bytes{${JOB}}`]: steady(11), [`assay_data_size_bytes{${JOB}}`]: steady(100) },
  ],
  AssayCertificateEnds: [
    { [`assay_certificate_expiry_timestamp_seconds{${JOB}}`]: steady(13 * 86_400) },
    { [`assay_certificate_expiry_timestamp_seconds{${JOB}}`]: steady(15 * 86_400) },
  ],
  AssayEventLoopLag: [
    { [`nodejs_eventloop_lag_p99_seconds{${JOB}}`]: steady(0.6) },
    { [`nodejs_eventloop_lag_p99_seconds{${JOB}}`]: steady(0.1) },
  ],
  AssayRestarting: [
    { [`process_start_time_seconds{${JOB}}`]: "1x50 2 3 4 5 6x60" },
    { [`process_start_time_seconds{${JOB}}`]: "1x50 2x60" },
  ],
  AssaySandboxesRefused: [
    { [`assay_http_refusals_total{${JOB},reason="sandboxesFull"}`]: rising(2) },
    { [`assay_http_refusals_total{${JOB},reason="sandboxesFull"}`]: "0x57 1x90" },
  ],
  AssaySandboxesFilling: [
    {
      [`assay_sandboxes_disk_bytes{${JOB},kind="held"}`]: steady(95),
      [`assay_sandboxes_disk_bytes{${JOB},kind="most"}`]: steady(100),
    },
    {
      [`assay_sandboxes{${JOB},kind="held"}`]: steady(14),
      [`assay_sandboxes{${JOB},kind="most"}`]: steady(16),
      [`assay_sandboxes_disk_bytes{${JOB},kind="held"}`]: steady(0),
      [`assay_sandboxes_disk_bytes{${JOB},kind="most"}`]: steady(0),
    },
  ],
  AssaySandboxesLost: [
    { [`assay_sandboxes_ended_total{${JOB},reason="worker_lost"}`]: "0x55 1x90" },
    {
      [`assay_sandboxes_ended_total{${JOB},reason="worker_lost"}`]: steady(1),
      [`assay_sandboxes_ended_total{${JOB},reason="failed"}`]: rising(1),
    },
  ],
  AssayEgressRestarted: [
    { [`assay_egress_restarts_total{${JOB}}`]: "0x55 1x90" },
    { [`assay_egress_restarts_total{${JOB}}`]: steady(1) },
  ],
  AssayEgressLeasesFailed: [
    { [`assay_egress_lease_failures_total{${JOB},kind="lease"}`]: "0x55 1x90" },
    { [`assay_egress_lease_failures_total{${JOB},kind="lease"}`]: steady(1) },
  ],
  AssayEgressAddressesRefused: [
    { [`assay_egress_connections_total{${JOB},outcome="denied_address"}`]: rising(2) },
    {
      [`assay_egress_connections_total{${JOB},outcome="denied_address"}`]: "0x55 3x90",
      [`assay_egress_connections_total{${JOB},outcome="denied_policy"}`]: rising(100),
    },
  ],
  AssayExecutionsInternalErrors: [
    { [`${EXECUTED}{${JOB},verdict="IE"}`]: rising(2), [`${EXECUTED}{${JOB},verdict="AC"}`]: rising(98) },
    { [`${EXECUTED}{${JOB},verdict="IE"}`]: rising(1), [`${EXECUTED}{${JOB},verdict="RE"}`]: rising(300) },
  ],
  AssaySandboxesSlow: [
    { [`${CREATED}"5"}`]: rising(90), [`${CREATED}"10"}`]: rising(100), [`${CREATED}"+Inf"}`]: rising(100) },
    { [`${CREATED}"5"}`]: rising(96), [`${CREATED}"10"}`]: rising(100), [`${CREATED}"+Inf"}`]: rising(100) },
  ],
  AssaySnapshotsFilling: [
    {
      [`assay_snapshots_bytes{${JOB},kind="held"}`]: steady(91),
      [`assay_snapshots_bytes{${JOB},kind="most"}`]: steady(100),
    },
    {
      [`assay_snapshots_bytes{${JOB},kind="held"}`]: steady(89),
      [`assay_snapshots_bytes{${JOB},kind="most"}`]: steady(100),
    },
  ],
};

/** @returns the alerts that fire after an hour, with the series of all cases together. JSON is valid YAML. */
function firing(t: TestContext, which: 0 | 1): string[] {
  const directory = mkdtempSync(join(tmpdir(), "assay-alerts-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "test.yml");
  const series = Object.values(CASES).flatMap((cases) => Object.entries(cases[which]));
  const tests = [
    {
      interval: "1m",
      input_series: series.map(([name, values]) => ({ series: name, values })),
      alert_rule_test: NAMES.map((alertname) => ({ eval_time: "1h", alertname, exp_alerts: [] })),
    },
  ];
  writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: "1m", tests }));
  const { status, words } = promtool(["test", "rules", file]);
  const found = [...words.matchAll(/alertname:\s*(\w+)/g)].map(([, name = ""]) => name);
  assert.equal(status === 0, found.length === 0, words); // otherwise the file was wrong
  return found;
}

test("every alert fires when it should", (t) => {
  assert.deepEqual(Object.keys(CASES), NAMES);
  assert.deepEqual(firing(t, 0), NAMES);
});

test("no alert fires when it should not", (t) => {
  assert.deepEqual(firing(t, 1), []);
});
