import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { after, before, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { DatabaseLocation } from "../../../src/domain/database.ts";
import { assay, dataDirectory, NOBODY, type Serving, serveWith } from "../cli/processes.ts";
import { programOf } from "../languages/directory.ts";
import { environment, type Launcher, startLauncher } from "../launcher/launcher.ts";
import { COLD } from "../sandbox/parked.ts";
import { migratedTemplate, postgresServer } from "../store/temporary.ts";

/** The whole product: a real launcher and the real service as an unprivileged user, over HTTPS. */
export interface Product {
  readonly launcher: Launcher;
  readonly service: Serving;
  readonly data: string;
  /** Its account has all profiles and no practical rate limit. */
  readonly key: string;
  readonly ask: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>;
  /** Submits and waits for the record; polls if the run outlasts the wait of the request. */
  readonly run: Run;
  /** Like `run`, for any request. */
  readonly submit: (body: Readonly<Record<string, unknown>>) => Promise<unknown>;
  /** Like `run`, for another account, which it creates. */
  readonly runAs: (account: string) => Promise<Run>;
}

type Run = (
  language: string,
  code: string,
  more?: { stdin?: string; profile?: string; files?: Readonly<Record<string, string>> },
) => Promise<unknown>;

export interface Answer {
  readonly status: number;
  readonly json: unknown;
}

export interface ProductOptions {
  readonly workers?: number;
  /** Additional slots of the launcher, for direct use by the test. */
  readonly moreSlots?: number;
  readonly sanitize?: boolean;
  /** Runs before the service starts. @returns additional flags for the service. */
  readonly prepare?: (data: string) => Promise<readonly string[]>;
  /** Runtimes wait for the submissions, unless the variant `cold` runs. Without this option, none waits. */
  readonly parked?: boolean;
  /** The project of the key, which is created. */
  readonly project?: string;
  /** SQLite by default. */
  readonly database?: DatabaseLocation["kind"];
  /** A copy of the checkout, whose service runs. */
  readonly checkout?: () => string;
  /** How many sandboxes the service may have, with 512 MiB each; none by default. */
  readonly sandboxes?: number;
  /** Language packs, in the image that `assay test` built with them. */
  readonly packs?: string;
}

interface Shared {
  users: number;
  readonly started: ReturnType<typeof start>;
}

/** Running products, by options. */
const shared = new Map<string | symbol, Shared>();

/**
 * One product for all tests of a file: starts before them, stops after them, and fails if it did not stop cleanly. Files
 * that are loaded together share a product if their options are equal.
 */
export function useProduct({ workers = 2, ...more }: ProductOptions = {}): () => Product {
  const options = { workers, ...more };
  const name = options.prepare || options.checkout ? Symbol() : JSON.stringify(options);
  let product: Product;
  before(async () => {
    const found = shared.get(name) ?? { users: 0, started: start(options) };
    shared.set(name, found);
    found.users++;
    [product] = await found.started;
  });
  after(async () => {
    const entry = shared.get(name);
    if (!entry || --entry.users > 0) return;
    shared.delete(name);
    const [, stop] = await entry.started;
    await stop();
  });
  return () => product;
}

async function start({
  workers,
  moreSlots = 0,
  sanitize = false,
  prepare,
  parked = false,
  project,
  database = "sqlite",
  checkout,
  packs,
  sandboxes = 0,
}: ProductOptions & { readonly workers: number }): Promise<[Product, () => Promise<void>]> {
  const cleanUp: (() => unknown)[] = [];
  const context = { after: (work: () => unknown) => cleanUp.unshift(work) } as unknown as TestContext;
  const data = dataDirectory(context);
  const waiting = parked ? workers + 4 : 0;
  const slots = workers + 1 + waiting + moreSlots;
  const image = packs === undefined ? {} : { image: environment("ASSAY_TEST_PACKS_IMAGE") };
  const sandboxMemory = sandboxes * 512 * 1_048_576;
  const launcher = await startLauncher({ slots, clientUid: NOBODY, sanitize, sandboxes, sandboxMemory, ...image });
  const flags = (await prepare?.(data)) ?? [];
  const own = ["--workers", String(workers), "--launcher-socket", launcher.socket];
  const env = {
    ASSAY_PARK_BYTES: parked && !COLD ? String(512 * 1_048_576) : "0",
    ...(packs !== undefined && { ASSAY_LANGUAGES: packs }),
    ASSAY_SANDBOXES: String(sandboxes),
    ASSAY_SANDBOX_MEMORY: String(sandboxMemory),
  };
  const main = checkout && join(checkout(), "src/main.ts");
  const where = database === "sqlite" ? [] : ["--database", await postgresUrl(context)];
  const service = await serveWith(env, context, data, [...own, ...where, ...flags], main);
  const stored = ["--data", data, ...where];
  if (project) await assay("projects", "create", "--name", project, ...stored);
  const makeKey = async (...whose: string[]) => {
    const create = ["keys", "create", "--name", "t", "--rpm", "1000000", "--concurrency", "100"];
    return (await assay(...create, ...whose, "--profiles", "judge,agent", ...stored)).stdout.trim();
  };
  const key = await makeKey(...(project ? ["--project", project] : []));
  const ca = readFileSync(join(data, "tls", "server.pem"));
  const agent = new Agent({ keepAlive: true, ca, servername: "localhost" });
  const askAs =
    (ownKey: string): Product["ask"] =>
    (...request) =>
      send(agent, service.port, ownKey, ...request);
  const runWith =
    (asks: Product["ask"]): Run =>
    (language, code, more) =>
      run(asks, { language, code, ...more });
  const runAs = async (account: string) => {
    await assay("accounts", "create", "--name", account, ...stored);
    await assay("projects", "create", "--name", account, "--account", account, ...stored);
    return runWith(askAs(await makeKey("--project", account)));
  };
  const ask = askAs(key);
  while ((await ask("GET", "/api/health/ready")).status !== 200) await sleep(200);
  const stop = async () => {
    agent.destroy();
    service.process.kill("SIGTERM");
    const served = await service.ended;
    const launched = await launcher.stop();
    for (const work of cleanUp) await work();
    if (served === 0 && launched === 0) return;
    throw new Error(`service and launcher ended with ${served}, ${launched}: ${service.output()} ${launcher.stderr()}`);
  };
  return [{ launcher, service, data, key, ask, run: runWith(ask), submit: (body) => run(ask, body), runAs }, stop];
}

/** The URL of a database of its own, which is removed with the product. */
async function postgresUrl(t: TestContext): Promise<string> {
  const server = await postgresServer();
  const name = await server.createDatabase(await migratedTemplate());
  t.after(() => server.dropDatabase(name));
  return server.url(name);
}

/** The source of an example of a language, or of a program in test/programs/. */
export function source(language: string, name: string): string {
  const code = programOf(language, name);
  if (code === undefined) throw new Error(`there is no program ${name} in ${language}`);
  return code;
}

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  const [, pages] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
  return Number(pages) * Number(execFileSync("getconf", ["PAGESIZE"], { encoding: "utf8" }));
}

async function run(ask: Product["ask"], body: Record<string, unknown>): Promise<unknown> {
  let { status, json } = await ask("POST", "/api/submit?wait=true", body);
  const { id } = json as { id?: string };
  while (status === 408 || (status === 200 && !isTerminal(json))) {
    await sleep(250);
    ({ status, json } = await ask("GET", `/api/result/${id}`));
  }
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(json)}`);
  return json;
}

function isTerminal(json: unknown): boolean {
  const { status } = json as { status: string };
  return status === "completed" || status === "error";
}

/** Sends one request over HTTPS. @returns the whole response, parsed as JSON. */
export async function send(...request: Parameters<typeof sendText>): Promise<Answer> {
  const { status, text } = await sendText(...request);
  return { status, json: JSON.parse(text) };
}

export interface TextAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends one request over HTTPS. Rejects if the response is incomplete. */
export function sendText(
  agent: Agent,
  port: number,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  more: Readonly<Record<string, string>> = {},
): Promise<TextAnswer> {
  const text = body === undefined ? "" : Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const headers = { "x-api-key": key, ...(text.length > 0 && { "content-type": "application/json" }), ...more };
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method, agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const { statusCode: status = 0, headers: responseHeaders } = response;
        resolve({ status, headers: responseHeaders, text: Buffer.concat(chunks).toString("utf8") });
      });
    });
    sent.on("error", reject).end(text);
  });
}
