// node bench/meter.ts [ROUNDS]: the CPU time of a request and of a submission, without metrics and with Prometheus.
// Client and server are one process, so only the difference is meaningful. The two variants alternate, and the cheapest
// round of each counts, because the machine may be busy.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { createKey } from "../src/admin/keys.ts";
import { dashboardOf } from "../src/cli/dashboard.ts";
import { installedLanguages } from "../src/cli/installed-languages.ts";
import { FOREIGN_APIS } from "../src/compat/apis.ts";
import { FOREIGN_ROUTES } from "../src/compat/routes.ts";
import { Conversations } from "../src/conversation/conversations.ts";
import { type Meter, NO_METER } from "../src/domain/meter.ts";
import { internalError } from "../src/domain/outcome.ts";
import { HttpServer } from "../src/http/server.ts";
import { Prometheus } from "../src/metrics/prometheus.ts";
import { openStore } from "../src/store/open.ts";
import { keySealer } from "../src/webhooks/seal.ts";
import { threadedPost } from "../src/webhooks/threaded-post.ts";
import { NO_SANDBOXES } from "../src/worker/sandboxes/keeper.ts";

/** How many requests and submissions each round has. */
const REQUESTS = 1_000;
const SUBMISSIONS = 100;
const ROUNDS = Number(process.argv[2] ?? 5);
const READY = { ready: true, cgroupBackend: null, checks: [] };

/** @returns CPU microseconds of one request, and of one submission, which is accepted, claimed and ended without a run. */
async function measure(meter: Meter): Promise<{ request: number; submission: number }> {
  const directory = mkdtempSync(join(tmpdir(), "assay-meter-"));
  const database = { kind: "sqlite" as const, path: join(directory, "db") };
  const store = await openStore({ database, meter });
  const limits = { profiles: ["judge" as const], requestsPerMinute: 1_000_000, concurrency: 1_000 };
  const { key } = await createKey(store, { name: "k", ...limits }, "bench");
  const workers = {
    capacity: () => 1,
    languages: () => ["python"],
    readiness: async () => READY,
    stop: async () => {},
  };
  const log = pino({ level: "silent" });
  const languages = installedLanguages();
  const sending = {
    sealer: keySealer(randomBytes(32)),
    allowed: [],
    post: threadedPost({ ca: null }),
    foreignApis: FOREIGN_APIS,
    userAgent: "bench",
  };
  const config = { database, retentionMs: null, ownAuthority: null };
  const stopping = new AbortController().signal;
  const dashboard = dashboardOf({ config, store, languages, sending, nodes: async () => [], stopping });
  const options = {
    ...dashboard,
    store,
    conversations: new Conversations({ store, log, inProcess: false }),
    workers,
    log,
    meter,
    foreignRoutes: FOREIGN_ROUTES,
    sandboxes: NO_SANDBOXES,
    maxPending: 1_000,
    holdMs: 1_000,
    dashboardDir: null,
    provider: null,
  };
  const server = new HttpServer(options, { kind: "loopback" });
  const port = await server.listen({ host: "127.0.0.1", port: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (method: string, path: string, body = "") =>
    new Promise<void>((resolve, reject) => {
      const headers = { "x-api-key": key, ...(body && { "content-type": "application/json" }) };
      const asked = request({ host: "127.0.0.1", port, agent, method, path, headers }, (answer) =>
        answer.resume().on("end", resolve),
      );
      asked.on("error", reject).end(body);
    });
  const program = JSON.stringify({ language: "python", code: "print(1)" });
  const submit = async () => {
    await ask("POST", "/api/submit", program);
    const [claim] = await store.submissions.claim("w", 60_000);
    if (!claim) throw new Error("nothing was accepted");
    await store.submissions.finish(claim.lease, internalError("not run"));
  };
  const cpuOf = async (times: number, work: () => Promise<void>) => {
    const before = process.cpuUsage();
    for (let n = 0; n < times; n++) await work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / times;
  };
  const spent = {
    request: await cpuOf(REQUESTS, () => ask("GET", "/api/languages")),
    submission: await cpuOf(SUBMISSIONS, submit),
  };
  agent.destroy();
  await server.close();
  await store.close();
  rmSync(directory, { recursive: true });
  return spent;
}

const prometheus = new Prometheus(["python"]);
const spent = { without: [await measure(NO_METER)].slice(1), with: [await measure(prometheus)].slice(1) }; // the first rounds warm up
for (let round = 0; round < ROUNDS; round++) {
  spent.without.push(await measure(NO_METER));
  spent.with.push(await measure(prometheus));
}
for (const what of ["request", "submission"] as const) {
  const [off, on] = [spent.without, spent.with].map((all) => Math.min(...all.map((one) => one[what])));
  console.log(`${what}: ${off?.toFixed(0)} us without, ${on?.toFixed(0)} us with`);
}
const before = process.cpuUsage();
for (let n = 0; n < 100; n++) await prometheus.text();
const { user, system } = process.cpuUsage(before);
console.log(
  `text of a scrape: ${((user + system) / 100_000).toFixed(1)} ms, ${(await prometheus.text()).length} bytes`,
);
