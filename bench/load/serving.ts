import { type ChildProcess, execFileSync, fork, spawn } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createAccount } from "../../src/admin/accounts.ts";
import { createKey } from "../../src/admin/keys.ts";
import { setNetwork } from "../../src/admin/network.ts";
import { setTier } from "../../src/admin/tiers.ts";
import type { ProfileName } from "../../src/domain/limits.ts";
import type { SandboxAllowance } from "../../src/domain/sandboxes/allowance.ts";
import { openStore } from "../../src/store/open.ts";
import type { BenchDatabase } from "./database.ts";
import type { LoadPlan, LoadResult } from "./generator.ts";
import { parentOf } from "./processes.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const START_MS = 120_000;
/** The limits of a key, higher than any mix requires, so that the service is measured and not its limits. */
const LIMITS = { requestsPerMinute: 1_000_000, concurrency: 1_000 };

/** The user as which services run. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** @returns the user whom the launcher serves: set-up gives the socket to this user, and the directory of the socket to the user's group. */
export function userOf(socket: string): User {
  const { uid } = statSync(socket);
  if (uid === 0) throw new Error("the launcher accepts only root, and no service runs as root");
  return { uid, gid: statSync(dirname(socket)).gid };
}

/** A data directory for the services of the benchmark, like one that set-up makes. `remove` removes it. */
export interface Place {
  readonly directory: string;
  readonly ca: string;
  /** Gives the database files to the service's user after root has changed them. */
  readonly own: () => void;
  readonly remove: () => void;
}

/**
 * @param within the directory in which the data directory is made: that of the launcher's socket, which belongs to this command. The
 * set-up of another command could empty the directory for temporary files.
 */
export function makePlace(within: string, { uid, gid }: User): Place {
  const directory = mkdtempSync(join(within, "bench-"));
  for (const [name, mode] of [
    ["db", 0o700],
    ["tls", 0o700],
    ["no-op", 0o700],
  ] as const)
    mkdirSync(join(directory, name), { mode });
  const [certificate, key] = [join(directory, "tls", "server.pem"), join(directory, "tls", "server.key")];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  execFileSync("openssl", ["req", "-x509", ...kind, ...names, "-keyout", key, "-out", certificate], {
    stdio: "ignore",
  });
  for (const path of [directory, ...["db", "tls", "no-op"].map((name) => join(directory, name)), certificate, key]) {
    chownSync(path, uid, gid);
  }
  return {
    directory,
    ca: readFileSync(certificate, "utf8"),
    own: () => {
      for (const file of readdirSync(join(directory, "db"))) chownSync(join(directory, "db", file), uid, gid);
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** A launcher for the services: the real one or the no-op one. */
export interface Sandbox {
  readonly kind: "real" | "no-op";
  readonly socket: string;
  readonly pid: number;
  /** How many submissions one service runs at the same time. */
  readonly workers: number;
  readonly stop: () => Promise<void>;
}

/** @returns the running launcher that listens on the socket. It is found by its command line, which its slots have as well. */
export function realSandbox(socket: string, workers: number): Sandbox {
  const named = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isLauncher(Number(name), socket));
  const [pid] = named.map(Number).filter((one) => !isLauncher(parentOf(one) ?? 0, socket));
  if (pid === undefined) throw new Error(`no launcher listens on ${socket}`);
  return { kind: "real", socket, pid, workers, stop: async () => {} };
}

function isLauncher(pid: number, socket: string): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return /assay-launcher/.test(words[0] ?? "") && words.includes(socket);
  } catch {
    return false;
  }
}

export async function noOpSandbox({ directory }: Place, user: User, workers: number): Promise<Sandbox> {
  const socket = join(directory, "no-op", "socket");
  const child = fork(fileURLToPath(new URL("./no-op-launcher.ts", import.meta.url)), { ...user });
  const listens = receive<{ listens: string }>(child, (words) => "listens" in words);
  child.send(socket);
  await listens;
  return { kind: "no-op", socket, pid: child.pid ?? 0, workers, stop: () => ended(child, () => child.disconnect()) };
}

export interface Serving {
  readonly pid: number;
  readonly port: number;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a service like `assay serve`: in a process of its own, as a user without privileges, with HTTPS and a log line for each request.
 * @param settings further variables of its environment.
 */
export async function startServing(
  place: Place,
  there: BenchDatabase,
  sandbox: Sandbox,
  settings: Readonly<Record<string, string>> = {},
): Promise<Serving> {
  const log = join(place.directory, `log-${services++}`);
  const where = ["--data", place.directory, "--listen", "127.0.0.1:0", "--launcher-socket", sandbox.socket];
  const database = there.database.kind === "postgres" ? ["--database", there.database.url] : [];
  const out = openSync(log, "a");
  const args = [MAIN, "serve", ...where, ...database, "--workers", String(sandbox.workers)];
  const { ASSAY_PARK_BYTES: given } = process.env; // 0 measures without runtimes that wait
  const park = sandbox.kind === "no-op" ? { ASSAY_PARK_BYTES: "0" } : given && { ASSAY_PARK_BYTES: given };
  const env = {
    PATH: process.env.PATH,
    NODE_OPTIONS: process.env.NODE_OPTIONS,
    ASSAY_DRAIN_MS: "0",
    ...park,
    ...settings,
  };
  const child = spawn(process.execPath, args, { stdio: ["ignore", out, out], env });
  const deadline = performance.now() + START_MS;
  for (;;) {
    const words = readFileSync(log, "utf8");
    const port = /"port":(\d+)/.exec(words)?.[1];
    if (port && words.includes("languages proven")) {
      return { pid: child.pid ?? 0, port: Number(port), stop: () => ended(child, () => child.kill("SIGTERM")) };
    }
    if (child.exitCode !== null || performance.now() > deadline) throw new Error(`the service did not start: ${words}`);
    await sleep(50);
  }
}

let services = 0;

/** Creates keys by the normal administration, in one account. @param allowance of a tier of its own, for sandboxes. @param network the policy of its bound. */
export async function makeKeys(
  there: BenchDatabase,
  amount: number,
  account = "bench",
  {
    profiles = ["judge"],
    allowance,
    network = null,
  }: {
    readonly profiles?: readonly ProfileName[];
    readonly allowance?: SandboxAllowance;
    readonly network?: object | null;
  } = {},
): Promise<string[]> {
  const store = await openStore({ database: there.database });
  try {
    if (allowance) {
      const tier = `bench-${account}`;
      await setTier(store, { name: tier, ...LIMITS, ...allowance }, "bench");
      await createAccount(store, { name: account, tier }, "bench");
      if (network) await setNetwork(store, { account }, { policy: network }, "bench");
    }
    const keys: string[] = [];
    for (let at = 0; at < amount; at++) {
      const { key } = await createKey(store, { name: `bench ${at}`, account, ...LIMITS, profiles }, "bench");
      keys.push(key);
    }
    return keys;
  } finally {
    await store.close();
  }
}

/** Runs a load in a process of its own. @param look is called at the start and at the end of the window; both results are returned. */
export async function load<T>(
  plan: LoadPlan,
  look: () => Promise<T>,
): Promise<{ readonly measured: LoadResult; readonly before: T; readonly after: T }> {
  const child = fork(fileURLToPath(new URL("./generator.ts", import.meta.url)));
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const begins = receive<{ begun: true }>(child, (words) => "begun" in words);
  const over = receive<{ measured: LoadResult }>(child, (words) => "measured" in words);
  over.catch(() => {}); // awaited below
  child.send(plan);
  await begins;
  const before = await look();
  const { measured } = await over;
  const after = await look();
  await exited;
  return { measured, before, after };
}

function receive<T extends object>(child: ChildProcess, wanted: (words: object) => boolean): Promise<T> {
  return new Promise((resolve, reject) => {
    child.on("message", (words) => wanted(words as object) && resolve(words as T));
    child.once("exit", (code, signal) => reject(new Error(`a process of the bench ended with ${code ?? signal}`)));
  });
}

function ended(child: ChildProcess, how: () => void): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", () => resolve());
    how();
  });
}
