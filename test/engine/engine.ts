import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { after, before, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assay, dataDirectory, NOBODY, type Serving, serve } from "../cli/processes.ts";
import { type Launcher, startLauncher } from "../launcher/launcher.ts";

/** The whole product as a stranger meets it: a real launcher, the real service as an unprivileged user, HTTPS. */
export interface Engine {
  readonly launcher: Launcher;
  readonly service: Serving;
  readonly data: string;
  /** Of an account that may do everything, often. */
  readonly key: string;
  readonly ask: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>;
  /** Submits and waits for the record; polls on when it took longer than a connection is held. */
  readonly run: Run;
  /** The same as another account, which is made. */
  readonly runAs: (account: string) => Promise<Run>;
}

type Run = (language: string, code: string, more?: { stdin?: string; profile?: string }) => Promise<unknown>;

export interface Answer {
  readonly status: number;
  readonly json: unknown;
}

export interface EngineOptions {
  readonly workers?: number;
  /** Of the launcher, for the test itself. */
  readonly moreSlots?: number;
  readonly sanitize?: boolean;
  /** Before the service starts. @returns more flags for it. */
  readonly prepare?: (data: string) => Promise<readonly string[]>;
  /** The project of the key; it is made. */
  readonly project?: string;
}

interface Shared {
  users: number;
  readonly started: ReturnType<typeof start>;
}

/** Those that run, by what was asked for. */
const shared = new Map<string | symbol, Shared>();

/**
 * One engine for all tests of a file: started before them, stopped after them, and it must have stopped well. Files that
 * are loaded together share it, if they want the same.
 */
export function useEngine({ workers = 2, ...more }: EngineOptions = {}): () => Engine {
  const options = { workers, ...more };
  const name = options.prepare ? Symbol() : JSON.stringify(options);
  let engine: Engine;
  before(async () => {
    const found = shared.get(name) ?? { users: 0, started: start(options) };
    shared.set(name, found);
    found.users++;
    [engine] = await found.started;
  });
  after(async () => {
    const mine = shared.get(name);
    if (!mine || --mine.users > 0) return;
    shared.delete(name);
    const [, stop] = await mine.started;
    await stop();
  });
  return () => engine;
}

async function start({
  workers,
  moreSlots = 0,
  sanitize = false,
  prepare,
  project,
}: EngineOptions & { readonly workers: number }): Promise<[Engine, () => Promise<void>]> {
  const cleanUp: (() => unknown)[] = [];
  const context = { after: (work: () => unknown) => cleanUp.unshift(work) } as unknown as TestContext;
  const data = dataDirectory(context);
  const launcher = await startLauncher({ slots: workers + 1 + moreSlots, clientUid: NOBODY, sanitize });
  const flags = (await prepare?.(data)) ?? [];
  const own = ["--workers", String(workers), "--launcher-socket", launcher.socket];
  const service = await serve(context, data, ...own, ...flags);
  if (project) await assay("projects", "create", "--name", project, "--data", data);
  const makeKey = async (...whose: string[]) => {
    const create = ["keys", "create", "--name", "t", "--rpm", "1000000", "--concurrency", "100"];
    return (await assay(...create, ...whose, "--profiles", "judge,agent", "--data", data)).stdout.trim();
  };
  const key = await makeKey(...(project ? ["--project", project] : []));
  const ca = readFileSync(join(data, "tls", "server.pem"));
  const agent = new Agent({ keepAlive: true, ca, servername: "localhost" });
  const askAs =
    (whose: string): Engine["ask"] =>
    (...asked) =>
      send(agent, service.port, whose, ...asked);
  const runWith =
    (asks: Engine["ask"]): Run =>
    (language, code, more) =>
      run(asks, { language, code, ...more });
  const runAs = async (account: string) => {
    await assay("accounts", "create", "--name", account, "--data", data);
    await assay("projects", "create", "--name", account, "--account", account, "--data", data);
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
  return [{ launcher, service, data, key, ask, run: runWith(ask), runAs }, stop];
}

const PROGRAMS = ["../../languages/examples/", "../programs/"].map((path) => new URL(path, import.meta.url));

/** The source of a program in languages/examples/ or test/programs/. */
export function source(language: string, name: string): string {
  const [path] = PROGRAMS.map((url) => new URL(`${language}/${name}.${ENDINGS[language]}`, url)).filter(existsSync);
  if (!path) throw new Error(`there is no program ${name} in ${language}`);
  return readFileSync(path, "utf8");
}

export const ENDINGS: Readonly<Record<string, string>> = {
  c: "c",
  cpp: "cpp",
  go: "go",
  java: "java",
  javascript: "js",
  python: "py",
  rust: "rs",
  typescript: "ts",
};

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  const [, pages] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
  return Number(pages) * Number(execFileSync("getconf", ["PAGESIZE"], { encoding: "utf8" }));
}

async function run(ask: Engine["ask"], body: Record<string, unknown>): Promise<unknown> {
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

/** One request over HTTPS, and the whole of its answer as JSON. */
export async function send(...request: Parameters<typeof sendText>): Promise<Answer> {
  const { status, text } = await sendText(...request);
  return { status, json: JSON.parse(text) };
}

export interface TextAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** One request over HTTPS. Rejects when there is no whole answer. */
export function sendText(
  agent: Agent,
  port: number,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  more: Readonly<Record<string, string>> = {},
): Promise<TextAnswer> {
  const text = body === undefined ? "" : JSON.stringify(body);
  const headers = { "x-api-key": key, ...(text && { "content-type": "application/json" }), ...more };
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method, agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const { statusCode: status = 0, headers: theirs } = response;
        resolve({ status, headers: theirs, text: Buffer.concat(chunks).toString("utf8") });
      });
    });
    sent.on("error", reject).end(text);
  });
}
