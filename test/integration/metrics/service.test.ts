import assert from "node:assert/strict";
import { request } from "node:https";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { askOperator } from "../../../src/cli/ask-operator.ts";
import type { StatusPage } from "../../../src/cli/operator-pages.ts";
import { ERRORS } from "../../../src/domain/error.ts";
import { METHODS, METRICS, STATUS_CLASSES } from "../../../src/domain/metrics.ts";
import { assay, get } from "../../support/cli/processes.ts";
import { NAMES } from "../../support/languages/directory.ts";
import { promtool, scrape, total, valuesOf } from "../../support/metrics/scrape.ts";
import { useProduct } from "../../support/programs/product.ts";
import { postgresServer } from "../../support/store/temporary.ts";

const LIMIT = { timeout: 60_000 };

/** Programs with their verdicts, which the counters must show. */
const PROGRAMS: readonly [language: string, code: string, verdict: string][] = [
  ["python", "print(6 * 7)", "AC"],
  ["python", "print(6 * 7)", "AC"],
  ["python", "raise SystemExit(3)", "RE"],
  ["python", "import os; os.kill(os.getpid(), 9)", "SIG"],
  ["c", "int main(void) { return 0; }", "AC"],
  ["c", "int main(", "RE"],
];

for (const database of ["SQLite", "PostgreSQL"] as const) {
  describe(`a service on ${database}`, () => {
    after(() => delete process.env.ASSAY_DATABASE);
    const product = useProduct({
      prepare: async (data) => {
        if (database === "PostgreSQL") {
          const server = await postgresServer();
          process.env.ASSAY_DATABASE = server.url(await server.createDatabase());
        }
        return ["--operator-listen", `unix:${join(data, "db", "operator.sock")}`];
      },
    });
    const socket = () => join(product().data, "db", "operator.sock");
    const samples = () => scrape(socket());
    /** The growth of a sum since `before`. */
    const grown = async (before: Map<string, number>, name: string, labels: Record<string, string> = {}) =>
      total(await samples(), name, labels) - total(before, name, labels);

    test("counts known programs exactly", LIMIT, async () => {
      const before = await samples();
      for (const [language, code, verdict] of PROGRAMS) {
        const record = (await product().run(language, code)) as { result: { verdict: string } };
        assert.equal(record.result.verdict, verdict, code);
      }
      // The client has its answer before the last counts of its run are made. Duplicate counts are detected below.
      const late: readonly (readonly [name: string, labels: Record<string, string>])[] = [
        ["assay_submissions_ended_total", {}],
        ["assay_http_request_duration_seconds_count", { route: "/api/submit?wait=true" }],
        ["assay_database_operation_duration_seconds_count", { operation: "finish" }],
      ];
      for (const [name, labels] of late) while ((await grown(before, name, labels)) < PROGRAMS.length) await sleep(20);
      const states = ["alive", "busy"].map((state) => `assay_slots{state="${state}"}`);
      for (let now = await samples(); String(states.map((name) => now.get(name))) !== "2,0"; now = await samples())
        await sleep(20);
      for (const language of ["c", "python", "rust"]) {
        const mine = PROGRAMS.filter(([one]) => one === language);
        for (const verdict of METRICS.ended.labels.verdict) {
          const expected = mine.filter(([, , one]) => one === verdict).length;
          assert.equal(await grown(before, "assay_submissions_ended_total", { language, verdict }), expected, verdict);
        }
        const accepted = await grown(before, "assay_submissions_accepted_total", { language, profile: "judge" });
        assert.equal(accepted, mine.length);
        for (const name of ["wait", "run"])
          assert.equal(await grown(before, `assay_submission_${name}_seconds_count`, { language }), mine.length, name);
      }
      const route = { route: "/api/submit?wait=true", method: "POST", status: "2xx" };
      assert.equal(await grown(before, "assay_http_request_duration_seconds_count", route), PROGRAMS.length);
      for (const operation of ["accept", "finish"])
        assert.equal(
          await grown(before, "assay_database_operation_duration_seconds_count", { operation }),
          PROGRAMS.length,
          operation,
        );
      for (const name of [
        "runs_repeated",
        "leftovers",
        "sandboxes_lost",
        "slots_lost",
        "http_refusals",
        "database_errors",
      ])
        assert.equal(await grown(before, `assay_${name}_total`), 0, name);
      const now = await samples();
      assert.deepEqual(
        ["wanted", "alive", "busy"].map((state) => now.get(`assay_slots{state="${state}"}`)),
        [2, 2, 0],
      );
      const gauges = [
        "ready",
        "database_up",
        "workers",
        "submissions_pending",
        "submissions_oldest_pending_age_seconds",
      ];
      assert.deepEqual(
        gauges.map((name) => now.get(`assay_${name}`)),
        [1, 1, 2, 0, 0],
      );
      const proofAge = Date.now() / 1000 - (now.get("assay_last_proof_timestamp_seconds") ?? 0);
      // A proof is renewed after 5 s; on a loaded machine, the renewal itself takes longer. A time in milliseconds
      // would be far outside.
      assert.ok(proofAge >= -1 && proofAge < 60, `${proofAge}`);
    });

    test("reports running and pending submissions", LIMIT, async () => {
      const slow = "import time; time.sleep(2.5)";
      const ids = await Promise.all(
        [1, 2, 3].map(() => product().ask("POST", "/api/submit", { language: "python", code: slow })),
      );
      assert.deepEqual(
        ids.map(({ status }) => status),
        [202, 202, 202],
      );
      // Gauges are read one after the other, so a scrape may fall between two steps of a claim.
      const seen = [
        'assay_slots{state="busy"}',
        'assay_submissions_running{language="python"}',
        "assay_submissions_pending",
      ];
      let now = await samples();
      while (String(seen.map((name) => now.get(name))) !== "2,2,1") now = await samples();
      assert.ok((now.get("assay_submissions_oldest_pending_age_seconds") ?? 0) > 0);
      const page: StatusPage = JSON.parse(await askOperator({ path: socket() }, "/status"));
      const runtimes = { waiting: 0, bytes: 0, budgetBytes: 0 };
      assert.deepEqual(page.slots, { wanted: 2, alive: 2, busy: 2, runtimes });
      assert.deepEqual([page.engine.ready, page.engine.workers], [true, 2]);
      while (
        total(await samples(), "assay_submissions_running") +
          ((await samples()).get("assay_submissions_pending") ?? 0) >
        0
      )
        await sleep(100);
      const accepted = 3 + PROGRAMS.filter(([, , verdict]) => verdict === "AC").length;
      const recent = async () => {
        const { recent }: StatusPage = JSON.parse(await askOperator({ path: socket() }, "/status"));
        return recent?.verdicts.AC ?? 0;
      };
      while ((await recent()) < accepted) await sleep(100); // counted after the row is final
      assert.equal(await recent(), accepted);
    });

    test("labels have only allowed values, regardless of requests", LIMIT, async () => {
      const { port } = product().service;
      const before = await samples();
      const hostile = [
        ...Array.from({ length: 40 }, (_, n) => ["GET", `/${n}/${"x".repeat(n)}?wait=true`]),
        ...Array.from({ length: 20 }, (_, n) => ["GET", `/api/result/${n}`]),
        ...["PROPFIND", "TRACE", "MKCOL", "SEARCH", "PURGE", "OPTIONS", "PATCH"].map((method) => [
          method,
          "/api/submit",
        ]),
        ["GET", "/api/result/%00%22%0a{}"],
        ["POST", "/api/submit?wait=true&wait=false"],
        ["GET", '/api/languages?x="}%20evil{'],
      ] as const;
      for (const [method = "", path = ""] of hostile) await knock(port, method, path, product().key);
      await knock(port, "GET", "/api/languages", "an invalid key");
      await product().ask("POST", "/api/submit", { language: 'c"} 1\nevil{a="', code: "x" });
      const now = await samples();
      const routes = valuesOf(now, "route");
      const known = ["/api/submit", "/api/submit?wait=true", "/api/result/:id", "/api/languages", "/api/health"];
      const open = ["/api/health/ready", "none"];
      for (const route of routes) assert.ok([...known, ...open].includes(route), route);
      for (const [label, values] of [
        ["method", METHODS],
        ["status", STATUS_CLASSES],
        ["reason", Object.keys(ERRORS)],
      ] as const)
        for (const value of valuesOf(now, label, "assay_http"))
          assert.ok((values as readonly string[]).includes(value), value);
      const languages = valuesOf(now, "language");
      assert.deepEqual([...languages].sort(), NAMES);
      assert.equal(await grown(before, "assay_http_refusals_total", { reason: "unauthorized" }), 1);
      assert.equal(await grown(before, "assay_http_refusals_total", { reason: "unsupportedLanguage" }), 1);
      assert.ok((await grown(before, "assay_http_request_duration_seconds_count", { method: "other" })) >= 4);
    });

    test("the exposition is valid for Prometheus", LIMIT, async () => {
      const text = await askOperator({ path: socket() }, "/metrics");
      assert.deepEqual(promtool(["check", "metrics"], text), { status: 0, words: "" });
      assert.match(text, /^process_cpu_seconds_total \d/m);
      assert.match(text, /^nodejs_eventloop_lag_p99_seconds \d/m);
      assert.match(text, /^assay_build_info\{version="\d+\.\d+\.\d+",node="v24\.\d+\.\d+"\} 1$/m);
      for (const { name } of Object.values(METRICS)) assert.match(text, new RegExp(`^# TYPE ${name} `, "m"));
    });

    test("clients cannot read metrics", LIMIT, async () => {
      for (const path of ["/metrics", "/status", "/live", "/ready", "/api/metrics", "//metrics", "/metrics/"])
        for (const key of [product().key, ""]) {
          const { status, body } = await get(product().service.port, path, key);
          assert.equal(status, key === "" ? 401 : 404, path);
          assert.doesNotMatch(body, /assay_|process_|backlog/);
        }
    });

    test("assay status prints text and JSON", LIMIT, async () => {
      const args = ["status", "--operator-listen", `unix:${socket()}`];
      const { code, stdout } = await assay(...args);
      assert.equal(code, 0);
      assert.match(stdout, /^Assay \d+\.\d+\.\d+: ready, every control is verified\n/);
      assert.match(stdout, /^ {2}workers {6}2; slots here: 2 of 2 open, 0 busy$/m);
      assert.match(stdout, /^ {2}ended {8}\d+ in 5 min, \d+\.\d a minute: AC \d+, /m);
      assert.match(stdout, /^ {2}database {5}responds in \d+\.\d ms$/m);
      assert.match(stdout, /^ {2}certificate {2}until \d{4}-\d\d-\d\d, \d+ days$/m);
      const json = await assay(...args, "--json");
      assert.equal((JSON.parse(json.stdout) as StatusPage).engine.ready, true);
    });
  });
}

/** Sends one request unchanged; the response does not matter. */
function knock(port: number, method: string, path: string, key: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, method, path, agent: false, rejectUnauthorized: false };
    const sent = request({ ...options, headers: { "x-api-key": key } }, (response) =>
      response.resume().on("end", resolve),
    );
    sent.on("error", reject).end();
  });
}
