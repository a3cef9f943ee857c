import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { after, before, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { DatabaseLocation } from "../../../../src/domain/database.ts";
import type { EgressRecord, SandboxEgressRecord } from "../../../../src/domain/egress/egress-record.ts";
import { assay, assayReading, dataDirectory, NOBODY, type Started, serveOn } from "../../cli/processes.ts";
import { type Launcher, startLauncher } from "../../launcher/launcher.ts";
import { migratedTemplate, postgresServer } from "../../store/temporary.ts";
import { pass } from "./bridge.ts";
import { FakeInternet } from "./internet.ts";

/*
 * The whole product, launcher and service, in a network namespace whose only way out is the fake internet. The test talks with the service over a Unix socket.
 */

const MIB = 1_048_576;
const ACCOUNT = "agents";
const BRIDGE = join(import.meta.dirname, "bridge.ts");

// biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape
type Json = any;

export interface Answer {
  readonly status: number;
  readonly json: Json;
}

/** The record of an execution, as far as these tests use it. */
export interface Run {
  readonly number: number;
  readonly result: {
    readonly verdict: string;
    readonly exit_code: number | null;
    readonly error_message: string | null;
  };
  readonly output: { readonly stdout: string; readonly stderr: string };
  readonly egress: EgressRecord;
}

/** A service and its launcher. */
export interface Service {
  readonly launcher: Launcher;
  /** The path of its socket. */
  readonly socket: string;
  /** The process that serves now. */
  readonly process: Started;
  readonly startAgain: () => Promise<void>;
  readonly ask: (method: string, path: string, body?: unknown) => Promise<Answer>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly wallSeconds?: number;
}

/** A sandbox with a network. */
export class NetworkSandbox {
  readonly id: string;
  readonly service: Service;

  constructor(id: string, service: Service) {
    this.id = id;
    this.service = service;
  }

  get path(): string {
    return `/api/sandboxes/${this.id}`;
  }

  /** Runs a shell command to its end. @returns its record. */
  async run(shell: string, options: RunOptions = {}): Promise<Run> {
    const { number } = await this.begin(shell, options);
    return this.ended(number);
  }

  /** Runs a program in Python to its end. @param args its arguments. */
  python(program: string, args: readonly string[] = [], options: RunOptions = {}): Promise<Run> {
    const words = args.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    return this.run(`python3 - ${words} <<'end of the program'\n${program}\nend of the program`, options);
  }

  /** Runs a program in a language to its end. */
  async code(language: string, code: string, options: RunOptions = {}): Promise<Run> {
    const { number } = await this.begin({ language, code }, options);
    return this.ended(number);
  }

  /** Starts a shell command, or the program of a request. */
  async begin(
    program: string | object,
    { env, stdin, wallSeconds = 60 }: RunOptions = {},
  ): Promise<{ readonly number: number }> {
    const limits = { wall_time_secs: wallSeconds, cpu_time_secs: wallSeconds };
    const what = typeof program === "string" ? { shell: program } : program;
    const body = { ...what, limits, ...(env && { env }), ...(stdin !== undefined && { stdin }) };
    for (;;) {
      const { status, json } = await this.service.ask("POST", `${this.path}/executions?wait=false`, body);
      if (status === 201) return json;
      // A service that was started again has not taken the sandbox over yet.
      if (status !== 503) throw new Error(`${status}: ${JSON.stringify(json)}`);
      await sleep(100);
    }
  }

  async ended(number: number): Promise<Run> {
    for (;;) {
      const { status, json } = await this.service.ask("GET", `${this.path}/executions/${number}?wait=true`);
      if (status >= 400) throw new Error(`${status}: ${JSON.stringify(json)}`);
      if (json.status === "completed" || json.status === "error") return json;
      await sleep(20);
    }
  }

  async writeFile(path: string, content: Buffer | string): Promise<void> {
    const { status, json } = await this.service.ask(
      "PUT",
      `${this.path}/files?path=${encodeURIComponent(path)}`,
      content,
    );
    if (status >= 300) throw new Error(`${status}: ${JSON.stringify(json)}`);
  }

  async egress(): Promise<SandboxEgressRecord> {
    const { status, json } = await this.service.ask("GET", `${this.path}/egress`);
    if (status !== 200) throw new Error(`${status}: ${JSON.stringify(json)}`);
    return json.egress;
  }

  replaceNetwork(policy: unknown): Promise<Answer> {
    return this.service.ask("PUT", `${this.path}/network`, policy);
  }

  async end(): Promise<Json> {
    return (await this.service.ask("DELETE", this.path)).json;
  }
}

export interface EgressProductOptions {
  readonly database?: DatabaseLocation["kind"];
  /** Environment of the service. */
  readonly env?: Readonly<Record<string, string>>;
  readonly sandboxes?: number;
}

export class EgressProduct {
  readonly internet: FakeInternet;
  readonly first: Service;
  readonly #t: Pick<TestContext, "after">;
  readonly #options: Required<EgressProductOptions>;
  readonly #data: string;
  readonly #where: readonly string[];
  readonly #key: string;

  private constructor(
    t: Pick<TestContext, "after">,
    options: Required<EgressProductOptions>,
    stored: {
      readonly internet: FakeInternet;
      readonly data: string;
      readonly where: readonly string[];
      readonly key: string;
    },
    first: Service,
  ) {
    this.#t = t;
    this.#options = options;
    this.internet = stored.internet;
    this.#data = stored.data;
    this.#where = stored.where;
    this.#key = stored.key;
    this.first = first;
  }

  static async start(t: Pick<TestContext, "after">, options: EgressProductOptions = {}): Promise<EgressProduct> {
    const all = { database: "sqlite", env: {}, sandboxes: 4, ...options } as const;
    const data = dataDirectory(t as TestContext);
    const server = await postgresServer();
    const port = Number(new URL(server.url("postgres")).port);
    const internet = await FakeInternet.start(t, await bridgeTo(t, port, join(data, "postgres.sock")));
    const where: string[] = [];
    if (all.database === "postgres") {
      const name = await server.createDatabase(await migratedTemplate());
      t.after(() => server.dropDatabase(name));
      await bridgeInto(t, internet.namespaces.tested, port, join(data, "postgres.sock"));
      where.push("--database", server.url(name));
    }
    const stored = { internet, data, where };
    const first = await startService(t, all, { ...stored, number: 1, key: () => key ?? "" });
    const create = ["keys", "create", "--name", "t", "--account", ACCOUNT, "--rpm", "1000000", "--concurrency", "100"];
    await assay("accounts", "create", "--name", ACCOUNT, "--data", data, ...where);
    const made = await assay(...create, "--profiles", "agent", "--data", data, ...where);
    const [key] = /assay_live_[\w-]+/.exec(made.stdout) ?? [];
    if (key === undefined) throw new Error(`no key was made: ${made.stdout}${made.stderr}`);
    return new EgressProduct(t, all, { ...stored, key }, first);
  }

  /** Starts another service on the same database, with a launcher of its own. */
  another(): Promise<Service> {
    const stored = { internet: this.internet, data: this.#data, where: this.#where };
    return startService(this.#t, this.#options, { ...stored, number: 2, key: () => this.#key });
  }

  /** Starts the first service again, with its launcher, after it has ended. */
  serveAgain(): Promise<void> {
    return this.first.startAgain();
  }

  /** Runs an operator's command. @param input its standard input. @throws if it fails. @returns its output. */
  async command(input: string, ...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await assayReading(input, ...args, "--data", this.#data, ...this.#where);
    if (code !== 0) throw new Error(`assay ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  /** A URL of the service, for clients that cannot use its Unix socket, and the key. */
  async url(t: Pick<TestContext, "after">): Promise<{ readonly url: string; readonly key: string }> {
    const server = createServer((socket) => pass(socket, connect(this.first.socket)));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close());
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: this.#key };
  }

  #permitted = "";
  /** Sets the network bound of the account. */
  async permit(bound: object): Promise<void> {
    if (this.#permitted === JSON.stringify(bound)) return;
    this.#permitted = JSON.stringify(bound);
    await this.command(JSON.stringify(bound), "network", "set", "--account", ACCOUNT, "--file", "-");
  }

  /** A new sandbox, which ends with the test. */
  async sandbox(t: Pick<TestContext, "after">, network: unknown, service = this.first): Promise<NetworkSandbox> {
    for (;;) {
      const { status, json } = await service.ask("POST", "/api/sandboxes", { network });
      if (status === 201) {
        const sandbox = new NetworkSandbox(json.id, service);
        t.after(() => sandbox.end());
        return sandbox;
      }
      // While the service starts, it has no sandboxes yet.
      if (status !== 503) throw new Error(`${status}: ${JSON.stringify(json)}`);
      await sleep(100);
    }
  }
}

/** What `after` gets runs after the test in reverse order, whereas the runner would begin with what was first. */
export function inReverse(t: Pick<TestContext, "after">): Pick<TestContext, "after"> {
  const work: (() => unknown)[] = [];
  t.after(async () => {
    for (const end of work) await end();
  });
  return { after: (end) => void work.unshift(end as () => unknown) };
}

/** One product for all tests of a file. @param prepare runs before the first test: hooks of a file would run at the same time. */
export function useEgressProduct(
  options: EgressProductOptions = {},
  prepare: (product: EgressProduct) => Promise<void> = async () => {},
): () => EgressProduct {
  const work: (() => unknown)[] = [];
  let product: EgressProduct;
  before(async () => {
    product = await EgressProduct.start({ after: (end) => void work.unshift(end as () => unknown) }, options);
    await prepare(product);
  });
  after(async () => {
    for (const end of work) await end();
  });
  return () => product;
}

interface Where {
  readonly internet: FakeInternet;
  readonly data: string;
  readonly where: readonly string[];
  readonly number: number;
  readonly key: () => string;
}

async function startService(
  t: Pick<TestContext, "after">,
  { env, sandboxes }: Required<EgressProductOptions>,
  { internet, data, where, number, key }: Where,
): Promise<Service> {
  const within = internet.namespaces.tested;
  const memory = sandboxes * 512 * MIB;
  const parent = join(data, `egress-${number}`);
  const egress = join(parent, "egress");
  mkdirSync(parent, { mode: 0o710 });
  mkdirSync(egress);
  chmodSync(egress, 0o711);
  for (const path of [parent, egress]) chownSync(path, path === parent ? 0 : NOBODY, NOBODY);
  const options = { slots: 2, clientUid: NOBODY, sandboxes, sandboxMemory: memory, egress, within };
  const launcher = await startLauncher(options);
  t.after(() => launcher.stop());
  const socket = join(data, "db", `service-${number}.sock`);
  const flags = ["--workers", "1", "--launcher-socket", launcher.socket, "--egress-directory", egress, "--plain-http"];
  const settings = {
    ASSAY_PARK_BYTES: "0",
    ASSAY_SANDBOXES: String(sandboxes),
    ASSAY_SANDBOX_MEMORY: String(memory),
    ...env,
  };
  const start = () => serveOn(`unix:${socket}`, within, settings, t, data, [...flags, ...where]);
  let started = await start();
  t.after(async () => {
    started.process.kill("SIGTERM");
    await started.ended;
  });
  return {
    launcher,
    socket,
    get process() {
      return started;
    },
    startAgain: async () => {
      started = await start();
    },
    ask: (method, path, body) => ask(socket, key(), method, path, body),
  };
}

function ask(socketPath: string, key: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const isFile = Buffer.isBuffer(body) || typeof body === "string";
  const content = body === undefined ? "" : isFile ? body : JSON.stringify(body);
  const type = body === undefined ? {} : { "content-type": isFile ? "application/octet-stream" : "application/json" };
  return new Promise((resolve, reject) => {
    const headers = { host: "localhost", "x-api-key": key, ...type };
    const sent = request({ socketPath, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = response.headers["content-type"]?.includes("json");
        resolve({ status: response.statusCode ?? 0, json: isJson ? JSON.parse(text) : text });
      });
    });
    sent.on("error", reject).end(content);
  });
}

/** A Unix socket that leads to a port of this machine. @returns its path. */
async function bridgeTo(t: Pick<TestContext, "after">, port: number, path: string): Promise<string> {
  const server = createServer((socket) => pass(socket, connect(port, "127.0.0.1")));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(() => server.close());
  return path;
}

/** A port on the loopback interface of a namespace that leads to a Unix socket. */
async function bridgeInto(
  t: Pick<TestContext, "after">,
  within: readonly string[],
  port: number,
  path: string,
): Promise<void> {
  const [command = "", ...words] = ["setpriv", "--pdeathsig", "KILL", ...within];
  const child = spawn(command, [...words, process.execPath, BRIDGE, String(port), path], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = once(child, "exit");
  t.after(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  await once(child, "message");
}
