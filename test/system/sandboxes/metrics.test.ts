import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assay } from "../../support/cli/processes.ts";
import { scrape, total } from "../../support/metrics/scrape.ts";
import { useProduct } from "../../support/programs/product.ts";
import { read } from "../../support/repo/documents.ts";

const LIMIT = { timeout: 120_000 };
const MIB = 1_048_576;

interface Selector {
  readonly name: string;
  /** Regular expressions for the values of labels. */
  readonly labels: Readonly<Record<string, string>>;
}

/** What the alerts and the dashboard for Grafana select of sandboxes, executions, their network, snapshots and refusals. */
function selectors(): Selector[] {
  const board = JSON.parse(read("deploy/grafana/assay.json")) as { panels: { targets?: { expr: string }[] }[] };
  const alerts = [...read("deploy/prometheus/alerts.yml").matchAll(/expr: (.+)/g)].map(([, expr = ""]) => expr);
  const all = [...alerts, ...board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))];
  return all.flatMap((expr) =>
    [...expr.matchAll(/\b(assay_(?:sandbox|execution|egress|snapshot|http_refusals)\w*)(?:\{([^}]*)\})?/g)].map(
      ([, name = "", labels = ""]) => {
        const asked = [...labels.matchAll(/(\w+)=~?"([^"]*)"/g)].map(([, label = "", value = ""]) => [label, value]);
        return { name, labels: Object.fromEntries(asked.filter(([label]) => label !== "job" && label !== "instance")) };
      },
    ),
  );
}

function selects({ name, labels }: Selector, series: string): boolean {
  if (series.split("{")[0] !== name) return false;
  return Object.entries(labels).every(([label, value]) => new RegExp(`[{,]${label}="(?:${value})"`).test(series));
}

for (const database of ["sqlite", "postgres"] as const)
  describe(`a service with sandboxes on ${database}`, () => {
    const product = useProduct({
      database,
      sandboxes: 2,
      prepare: async (data) => ["--operator-listen", `unix:${join(data, "db", "operator.sock")}`],
    });
    const socket = () => join(product().data, "db", "operator.sock");
    const samples = () => scrape(socket());
    const ask = async (method: string, path: string, expected: number, body?: unknown) => {
      const { status, json } = await product().ask(method, path, body);
      assert.equal(status, expected, `${method} ${path}: ${JSON.stringify(json)}`);
      return json as { id: string; bytes: number; result: { verdict: string } };
    };

    test("exports every series that alerts and panels of sandboxes select", LIMIT, async () => {
      const asked = selectors();
      assert.ok(asked.length > 25, String(asked.length));
      const exported = [...(await samples()).keys()];
      for (const one of asked)
        assert.ok(
          exported.some((series) => selects(one, series)),
          JSON.stringify(one),
        );
    });

    test("counts a sandbox, its executions and its snapshot exactly", LIMIT, async () => {
      const before = await samples();
      const grown = async (name: string, labels: Record<string, string> = {}) =>
        total(await samples(), name, labels) - total(before, name, labels);
      const held = async () => {
        const now = await samples();
        return ["sandboxes", "sandboxes_memory_bytes", "sandboxes_disk_bytes", "snapshots_bytes"].map((name) =>
          now.get(`assay_${name}{kind="held"}`),
        );
      };
      const most = ["sandboxes", "sandboxes_memory_bytes"].map((name) => before.get(`assay_${name}{kind="most"}`));
      assert.deepEqual(most, [2, 1024 * MIB]);
      assert.deepEqual([await held(), before.get("assay_snapshots")], [[0, 0, 0, 0], 0]);
      const { id } = await ask("POST", "/api/sandboxes", 201, {
        limits: { memory_bytes: 256 * MIB, disk_bytes: 16 * MIB },
      });
      const path = `/api/sandboxes/${id}`;
      for (const [shell, verdict] of [
        ["echo kept > note", "AC"],
        ["exit 3", "RE"],
        ["true", "AC"],
      ]) {
        const { result } = await ask("POST", `${path}/executions`, 200, { shell });
        assert.equal(result.verdict, verdict);
      }
      const snapshot = await ask("POST", `${path}/snapshots`, 201, {});
      // The client has its answer before the last counts are made.
      while ((await grown("assay_executions_ended_total")) < 3) await sleep(20);
      while ((await grown("assay_snapshot_duration_seconds_count")) < 1) await sleep(20);
      for (const [verdict, amount] of [
        ["AC", 2],
        ["RE", 1],
        ["IE", 0],
      ] as const)
        assert.equal(await grown("assay_executions_ended_total", { verdict }), amount, verdict);
      assert.equal(await grown("assay_execution_duration_seconds_count"), 3);
      assert.equal(await grown("assay_sandbox_create_duration_seconds_count"), 1);
      assert.deepEqual(await held(), [1, 256 * MIB, 0, snapshot.bytes]);
      assert.equal((await samples()).get("assay_snapshots"), 1);
      const shown = await assay("status", "--operator-listen", `unix:${socket()}`);
      assert.match(shown.stdout, /^ {2}sandboxes +1 of 2, memory 256 of 1024 MiB$/m, shown.stderr);
      assert.match(shown.stdout, /^ {2}snapshots +1, 0 of \d+ MiB$/m);

      if (database === "sqlite") {
        // Half of the places are for other accounts. With PostgreSQL, the request would wait for half a minute.
        await ask("POST", "/api/sandboxes", 503, {});
        assert.equal(await grown("assay_http_refusals_total", { reason: "sandboxesFull" }), 1);
      }
      await ask("DELETE", path, 200);
      await ask("DELETE", `/api/snapshots/${snapshot.id}`, 200);
      assert.equal(await grown("assay_sandboxes_ended_total", { reason: "client" }), 1);
      assert.equal(await grown("assay_sandboxes_ended_total"), 1);
      assert.deepEqual([await held(), (await samples()).get("assay_snapshots")], [[0, 0, 0, 0], 0]);
    });
  });
