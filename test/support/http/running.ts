import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type IncomingHttpHeaders, request as plainRequest } from "node:http";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createSecureContext, type SecureContext } from "node:tls";
import pino from "pino";
import { createKey, type NewKey } from "../../../src/admin/keys.ts";
import { dashboardOf } from "../../../src/cli/dashboard.ts";
import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import { FOREIGN_ROUTES } from "../../../src/compat/routes.ts";
import { Conversations } from "../../../src/conversation/conversations.ts";
import type { DatabaseLocation } from "../../../src/domain/database.ts";
import { foreignApiOf } from "../../../src/domain/foreign-api.ts";
import type { Outcome } from "../../../src/domain/outcome.ts";
import type { Readiness, WorkerPool } from "../../../src/domain/readiness.ts";
import type { SandboxHost } from "../../../src/domain/sandboxes/host.ts";
import type { Transport } from "../../../src/domain/transport.ts";
import type { ProviderSettings } from "../../../src/http/dashboard/provider.ts";
import type { ConnectionLimits } from "../../../src/http/listener/connection-quota.ts";
import type { ListenerLimits } from "../../../src/http/listener/listener.ts";
import type { DrainLimits } from "../../../src/http/responses/drain.ts";
import { HttpServer } from "../../../src/http/server.ts";
import type { Store } from "../../../src/store/store.ts";
import type { CheckedRun } from "../../../src/store/submissions/lease.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { threadedPost } from "../../../src/webhooks/threaded-post.ts";
import { checkedSubmission } from "../../../src/worker/program-checker.ts";
import { NO_SANDBOXES } from "../../../src/worker/sandboxes/keeper.ts";
import { TestChecker } from "../../../src/worker/test-checker.ts";
import { type Noting, noting } from "../metrics/noting.ts";
import { type Clock, type OpenTemporary, START_MS, type Temporary, temporaryStore } from "../store/temporary.ts";
import { report } from "../verdict/reports.ts";
import { sealer } from "../webhooks/project.ts";

/** rust is known but its smoke test failed, so it is unavailable. */
const AVAILABLE = ["python", "c"];

export const READY: Readiness = {
  ready: true,
  cgroupBackend: "cgroup_v2",
  checks: [{ name: "seccomp", ok: true, detail: "filter active" }],
};

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape
  readonly json: any;
}

export interface Ask {
  readonly method?: string;
  readonly path: string;
  /** Undefined: the default key. Null: no key. */
  readonly key?: string | null;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

export interface Running {
  readonly store: Store;
  /** The clock of the store; it advances only when a test moves it. */
  readonly clock: Clock;
  readonly another: Temporary["another"];
  readonly database: DatabaseLocation;
  /** The conversations of the service. A test that acts as a worker of the service's process begins them here. */
  readonly conversations: Conversations;
  readonly server: HttpServer;
  readonly port: number;
  readonly caPath: string;
  readonly logs: string[];
  /** Number of events counted by the meter. */
  readonly times: Noting["times"];
  readonly engine: { ready: Readiness; workers: number; languages: readonly string[] };
  /** The key of requests that name none. */
  readonly defaultKey: string;
  readonly key: (request?: Partial<NewKey>) => Promise<string>;
  readonly ask: (ask: Ask) => Promise<Reply>;
  readonly submit: (body?: unknown, ask?: Partial<Ask>) => Promise<Reply>;
}

export interface Options {
  readonly transport?: Transport;
  /** Socket file to listen on instead of a free port of 127.0.0.1; `ask` connects to it. */
  readonly socketPath?: string;
  readonly holdMs?: number;
  readonly maxPending?: number;
  readonly limits?: Partial<ListenerLimits & ConnectionLimits>;
  /** The minimum speed of reading a long response. */
  readonly drain?: DrainLimits;
  /** The database; SQLite by default. */
  readonly open?: OpenTemporary;
  /** Allowed webhook receivers, and their certificate authority. */
  readonly receivers?: { readonly ports: readonly number[]; readonly ca: string };
  /** Directory of a built dashboard; by default there is none. */
  readonly dashboardDir?: string;
  readonly provider?: ProviderSettings;
  /** Whether the certificate is the service's own; by default it is from elsewhere. */
  readonly ownAuthority?: boolean;
  readonly heartbeatMs?: number;
  /** Whether conversations that begin here are in memory; by default, they go through the database. */
  readonly inProcess?: boolean;
  /** The sandboxes of the service; by default it has none. */
  readonly sandboxesOver?: (store: Store) => SandboxHost;
  /** A real engine, instead of the engine that the test controls. */
  readonly engineOver?: (store: Store) => WorkerPool;
}

/** Starts the real server on a real listener over a real store; HTTPS by default. */
export async function startHttp(t: TestContext, options: Options = {}): Promise<Running> {
  const { certPath, keyPath } = certificate();
  const { open = temporaryStore, receivers } = options;
  const { store, clock, another, database } = await open(t);
  const stopping = new AbortController();
  t.after(() => stopping.abort(new Error("the test is over")));
  const logs: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => logs.push(line) });
  const conversations = new Conversations({ store, log, inProcess: options.inProcess ?? false });
  const engine: Running["engine"] = { ready: READY, workers: 3, languages: AVAILABLE };
  const { meter, times } = noting();
  const sending = {
    sealer,
    allowed: (receivers?.ports ?? []).map((port) => ({ host: "127.0.0.1", port })),
    post: threadedPost({ ca: receivers?.ca ?? null }),
    foreignApis: FOREIGN_APIS,
    userAgent: "Assay/0.0.0",
  };
  const nodes = async () => [
    { id: "node 1", slots: engine.workers, languages: engine.languages, readiness: engine.ready, provenAtMs: START_MS },
  ];
  const config = { database, retentionMs: 86_400_000, ownAuthority: options.ownAuthority === true ? certPath : null };
  const languages = installedLanguages();
  const server = new HttpServer(
    {
      ...dashboardOf({ config, store, languages, sending, nodes, stopping: stopping.signal }),
      meter,
      store,
      sandboxes: options.sandboxesOver?.(store) ?? NO_SANDBOXES,
      foreignRoutes: FOREIGN_ROUTES,
      conversations,
      workers: options.engineOver?.(store) ?? {
        capacity: () => engine.workers,
        languages: () => engine.languages,
        readiness: async () => engine.ready,
        stop: async () => {},
      },
      log,
      maxPending: options.maxPending ?? 1000,
      holdMs: options.holdMs ?? 30_000,
      dashboardDir: options.dashboardDir ?? null,
      provider: options.provider ?? null,
      ...(options.heartbeatMs !== undefined && { heartbeatMs: options.heartbeatMs }),
    },
    options.transport ?? { kind: "https", certPath, keyPath },
    options.limits,
    options.drain,
  );
  const { socketPath } = options;
  const port = await server.listen(socketPath ? { path: socketPath } : { host: "127.0.0.1", port: 0 });
  // Registered after the store's hook, and hooks run in order: the store closes its waiters first.
  t.after(() => server.close());
  let names = 0;
  const key = async (request: Partial<NewKey> = {}) =>
    (
      await createKey(
        store,
        { name: `key ${names++}`, profiles: ["judge"], requestsPerMinute: 100_000, ...request },
        "test",
      )
    ).key;
  const defaultKey = await key();
  const secure = options.transport === undefined || options.transport.kind === "https";
  const ask = (asked: Ask) =>
    send(secure, socketPath ? { socketPath } : { host: "127.0.0.1", port }, certPath, {
      ...asked,
      key: asked.key === undefined ? defaultKey : asked.key,
    });
  const submit = (body: unknown = { language: "python", code: "print(1)" }, asked: Partial<Ask> = {}) =>
    ask({ method: "POST", path: "/api/submit", body, ...asked });
  return {
    store,
    clock,
    another,
    database,
    conversations,
    server,
    port,
    caPath: certPath,
    logs,
    times,
    engine,
    key,
    defaultKey,
    ask,
    submit,
  };
}

/** A connection for each request, but the TLS sessions are resumed: full handshakes took a fifth of the CPU time of the tests. */
const secureAgent = new Agent({ keepAlive: false });
const contexts = new Map<string, SecureContext>();

/** Trusts only this certificate. */
function trusting(caPath: string): SecureContext {
  const context = contexts.get(caPath) ?? createSecureContext({ ca: readFileSync(caPath) });
  contexts.set(caPath, context);
  return context;
}

function send(
  secure: boolean,
  where: { socketPath: string } | { host: string; port: number },
  caPath: string,
  { method, path, key, body, headers, signal }: Ask,
): Promise<Reply> {
  const bytes = body === undefined ? undefined : toBytes(body);
  return new Promise((resolve, reject) => {
    const sent = (secure ? request : plainRequest)({
      ...where,
      path,
      method: method ?? "GET",
      ...(signal && { signal }),
      ...(secure ? { agent: secureAgent, secureContext: trusting(caPath), servername: "localhost" } : { agent: false }),
      headers: {
        ...(key ? { "x-api-key": key } : {}),
        ...(bytes ? { "content-type": "application/json", "content-length": bytes.length } : {}),
        ...headers,
      },
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = /^application\/json/.test(response.headers["content-type"] ?? "");
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: isJson && text !== "" ? JSON.parse(text) : undefined,
        });
      });
    });
    sent.end(bytes);
  });
}

function toBytes(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

/** Acts as a worker without a sandbox: claims pending submissions and finishes them. */
export async function runPending(
  store: Store,
  outcomeOf: (claim: Claim) => Outcome = () => buildOutcome({ execute: report({ stdout: Buffer.from("1\n") }) }),
): Promise<number> {
  const claims = await store.submissions.claim("worker", 60_000, 100);
  for (const claim of claims) {
    const outcome = notedBy(claim, outcomeOf(claim));
    await store.submissions.finish(claim.lease, outcome, await checkedBy(claim, outcome));
  }
  return claims.length;
}

/** The outcome with what a worker notes about it if the submission came through another service's API. */
function notedBy({ foreign }: Claim, outcome: Outcome): Outcome {
  return foreign
    ? { ...outcome, foreignNote: foreignApiOf(FOREIGN_APIS, foreign.api).note(outcome, foreign) }
    : outcome;
}

/** The part of the end of a run that its judgement needs, with its built-in checker. */
export async function checkedBy({ test, program, submission }: Claim, outcome: Outcome): Promise<CheckedRun | null> {
  if (!test) return null;
  const { signal } = new AbortController();
  const where = {
    slot: { run: () => Promise.reject(new Error("there is no slot")) },
    accountId: submission.accountId,
    submission: checkedSubmission(submission.language, program),
    signal,
  };
  return { judgementSeq: test.judgementSeq, checked: await checker.check(test, program.stdin, outcome, where) };
}

const checker = new TestChecker(installedLanguages(), () => ({ owner: "", get: () => undefined, put: () => {} }));

let made: { certPath: string; keyPath: string } | undefined;

/** A certificate for localhost, created once per test file. */
export function certificate(): { certPath: string; keyPath: string } {
  if (made) return made;
  const directory = mkdtempSync(join(tmpdir(), "assay-tls-"));
  process.once("exit", () => rmSync(directory, { recursive: true }));
  const certPath = join(directory, "server.pem");
  const keyPath = join(directory, "server.key");
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  execFileSync("openssl", ["req", "-x509", ...curve, ...subject, "-keyout", keyPath, "-out", certPath], {
    stdio: "ignore",
  });
  made = { certPath, keyPath };
  return made;
}
