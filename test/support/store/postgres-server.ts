import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { childrenOf } from "../launcher/machine.ts";

/** Root of the system that has the server; `assay test` sets it if it unpacked one. */
const SYSTEM = process.env.ASSAY_TEST_POSTGRES || "/";
/** Debian's directory of the programs of each version. */
const PACKAGES = join(SYSTEM, "usr/lib/postgresql");
const TRIPLET = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
/** PostgreSQL refuses to run as root; the user `nobody` exists everywhere. */
const NOBODY = 65_534;
const PASSWORD = "a password of the tests";
const PATIENCE_MS = 30_000;
/** An unpacked server includes the libraries that the machine lacks. */
export const LIBRARIES = {
  PATH: process.env.PATH,
  LC_ALL: "C",
  ...(SYSTEM !== "/" && { LD_LIBRARY_PATH: ["usr/lib", "lib"].map((one) => join(SYSTEM, one, TRIPLET)).join(":") }),
};
/**
 * fsync is off, because tests create and drop databases by the hundred. The service sees no difference: without fsync, only a
 * crash of the machine loses commits, and no test survives that.
 */
const SETTINGS = [
  "unix_socket_directories=",
  "max_connections=400",
  "shared_buffers=32MB",
  "timezone=GMT",
  "log_timezone=GMT",
  "fsync=off",
  "max_wal_size=64MB",
];

/** A running server: creates and removes databases of its own on it. */
export class Databases {
  readonly #url: URL;
  #count = 0;

  /** @param url of any database of the server, with the administrator's password. */
  constructor(url: string) {
    this.#url = new URL(url);
  }

  /** @returns the URL of a database, with the password. */
  url(database: string, host = this.#url.hostname): string {
    const url = new URL(this.#url);
    url.hostname = host;
    url.pathname = `/${database}`;
    return url.href;
  }

  /** Creates an empty database, or a copy of one without connections. @returns its name. */
  async createDatabase(template = "template0"): Promise<string> {
    const name = `assay_${process.pid}_${++this.#count}`;
    await this.admin(`create database ${name} template ${template} strategy file_copy`);
    return name;
  }

  async dropDatabase(name: string): Promise<void> {
    await this.admin(`drop database if exists ${name} with (force)`);
  }

  /** Runs a statement as the administrator. @returns its rows. */
  async admin(statement: string, database = "postgres"): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url(database) });
    await client.connect();
    try {
      return (await client.query(statement)).rows;
    } finally {
      await client.end();
    }
  }
}

/**
 * A real PostgreSQL server for tests: Debian's programs, an unprivileged user, a free loopback port, and a directory
 * in memory, or below TMPDIR without `assay test`. It ends with this process, by an exit hook or by the kernel (parent-death signal).
 */
export class PostgresServer extends Databases {
  readonly #directory = mkdtempSync(join(process.env.ASSAY_TEST_DATABASES ?? tmpdir(), "assay-postgres-"));
  readonly #programs = newestPrograms();
  readonly #port: number;
  #process: ChildProcess | undefined;
  readonly #address: string | undefined;

  private constructor(port: number, address?: string) {
    super(`postgres://assay:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`);
    this.#port = port;
    this.#address = address;
  }

  /** @param address an additional address to listen on besides loopback. */
  static async start(address?: string): Promise<PostgresServer> {
    const server = new PostgresServer(await freePort(), address);
    process.once("exit", () => server.remove());
    server.#initialise();
    await server.start();
    return server;
  }

  /** Starts the server, after `stop` on the same port. */
  async start(): Promise<void> {
    const log = openSync(join(this.#directory, "log"), "a");
    const where = ["-D", this.#data, "-p", String(this.#port)];
    const child = this.#spawn(
      ["--pdeathsig", "QUIT"],
      "postgres",
      [
        ...where,
        "-c",
        `listen_addresses=${["127.0.0.1", this.#address ?? []].flat()}`,
        ...SETTINGS.flatMap((one) => ["-c", one]),
      ],
      log,
    );
    this.#process = child;
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await this.#answers())) {
      if (hasEnded(child) || performance.now() > deadline) {
        throw new Error(`the PostgreSQL server did not start:\n${readFileSync(join(this.#directory, "log"), "utf8")}`);
      }
      await sleep(20);
    }
  }

  /** Ends the server immediately, like a crash: connections are cut, commits are kept. */
  async stop(): Promise<void> {
    const child = this.#process;
    if (!child || hasEnded(child)) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.ref();
    child.kill("SIGQUIT");
    await ended;
  }

  /** Ends the server and every process that serves a connection by SIGKILL, so that none of them can react. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (!child || hasEnded(child)) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.ref();
    child.kill("SIGSTOP"); // or it would replace the killed processes
    for (const pid of [...childrenOf(child.pid ?? 0), child.pid ?? 0]) process.kill(pid, "SIGKILL");
    await ended;
  }

  /** Removes the server in an exit hook, which cannot await anything. */
  remove(): void {
    const pid = this.#process?.pid;
    if (this.#process && pid !== undefined && !hasEnded(this.#process)) {
      this.#process.kill("SIGQUIT");
      const pause = new Int32Array(new SharedArrayBuffer(4));
      for (let tries = 0; isRunning(pid) && tries < 500; tries++) Atomics.wait(pause, 0, 0, 10);
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.#directory, "data");
  }

  #initialise(): void {
    chmodSync(this.#directory, 0o711);
    const passwordFile = join(this.#directory, "password");
    writeFileSync(passwordFile, `${PASSWORD}\n`, { mode: 0o600 });
    if (isRoot()) for (const path of [this.#directory, passwordFile]) chownSync(path, NOBODY, NOBODY);
    // A connection with SCRAM costs 6 ms of CPU time, and the tests open thousands.
    const authentication = ["--auth=md5", "--username=assay", `--pwfile=${passwordFile}`];
    const made = spawnSync(
      ...this.#command([], "initdb", [
        "-D",
        this.#data,
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync",
        "--no-instructions",
        ...authentication,
      ]),
      { encoding: "utf8", env: LIBRARIES },
    );
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr || made.error}`);
    if (this.#address) appendFileSync(join(this.#data, "pg_hba.conf"), `host all all ${this.#address}/24 md5\n`);
  }

  #spawn(privileges: readonly string[], program: string, options: readonly string[], log: number): ChildProcess {
    const stdio = ["ignore", log, log] as const;
    const child = spawn(...this.#command(privileges, program, options), {
      stdio: [...stdio],
      cwd: "/",
      env: LIBRARIES,
    });
    child.unref();
    return child;
  }

  #command(privileges: readonly string[], program: string, options: readonly string[]): [string, string[]] {
    const user = isRoot() ? ["--reuid", String(NOBODY), "--regid", String(NOBODY), "--clear-groups"] : [];
    return ["setpriv", [...user, ...privileges, "--", join(this.#programs, program), ...options]];
  }

  async #answers(): Promise<boolean> {
    try {
      await this.admin("select 1");
      return true;
    } catch {
      return false;
    }
  }
}

/** The directory of the server's and client's programs. @throws if there is no server: the tests of the store must not pass by being skipped. */
export function newestPrograms(): string {
  const versions = existsSync(PACKAGES) ? readdirSync(PACKAGES).filter((name) => /^\d+$/.test(name)) : [];
  const installed = versions.filter((version) => existsSync(join(PACKAGES, version, "bin/initdb")));
  const [newest] = installed.sort((a, b) => Number(b) - Number(a));
  if (!newest)
    throw new Error(`there is no PostgreSQL server below ${PACKAGES}: run the tests with "sudo ./assay test"`);
  return join(PACKAGES, newest, "bin");
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** An ended child stays a zombie in an exit hook, because nothing reaps it. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const listener = createServer();
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const address = listener.address();
  await new Promise((resolve) => listener.close(resolve));
  if (typeof address !== "object" || !address) throw new Error("no free port");
  return address.port;
}
