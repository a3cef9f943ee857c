import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { Agent } from "node:https";
import { createServer } from "node:net";
import { basename, dirname, join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { MAIN } from "../../support/cli/processes.ts";
import { environment } from "../../support/launcher/launcher.ts";
import { childrenOf, read, startedBelow } from "../../support/launcher/machine.ts";
import { type Answer, send } from "../../support/programs/product.ts";

const CHECKOUT = resolve(import.meta.dirname, "../../..");
/** Few languages, because a restarted service runs all smoke tests before it continues. */
const LANGUAGES = ["c.json", "examples.json", "profiles.json", "python.json"];

const STOP_MS = 60_000;

/** A running `assay serve` or `assay worker` of the real command, and the processes that it has started. */
export interface RealCommand {
  readonly data: string;
  readonly process: ChildProcess;
  readonly ended: Promise<number | string>;
  readonly words: () => string;
  /** The pid of the newest launcher; undefined while there is none. `service` is the worker's process in a worker. */
  readonly launcher: () => number | undefined;
  readonly service: () => number | undefined;
  readonly instance: () => string;
}

/** A running `assay serve`, and clients of it. */
export interface RealServe extends RealCommand {
  readonly port: number;
  /** Runs an operator command in the same data directory. */
  readonly command: Installation["command"];
  readonly ask: (
    key: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<Answer>;
  readonly isReady: (key: string) => Promise<boolean>;
}

/** A checkout with its own data directory. */
export interface Installation {
  readonly data: string;
  readonly checkout: string;
  /** Environment of processes started from now on. */
  readonly env: Record<string, string | undefined>;
  /** Runs after the test, in reverse order of registration. */
  readonly after: (work: () => unknown) => void;
  /** Runs the program of an operator command, without set-up, which takes longer. @returns its output. */
  readonly command: (...args: string[]) => string;
  /** Runs a command in the background with files as standard input and output. @returns its exit code and stderr. */
  readonly piped: (from: string, to: string, ...args: string[]) => Promise<[code: number | null, stderr: string]>;
  /**
   * Starts a command and resolves when it is ready. After a failed test, it is killed with everything that it has
   * started.
   */
  readonly start: (...args: string[]) => Promise<RealCommand>;
  readonly serve: (...args: string[]) => Promise<RealServe>;
}

/** A real `assay serve` with two workers in its own installation. */
export async function realServe(t: TestContext, settings: Record<string, string> = {}): Promise<RealServe> {
  return await installation(t, settings).serve("--workers", "2");
}

/**
 * Links the modules, image, launcher and dashboard of this test run into its data directory, each by the hash of its
 * sources, so that nothing is downloaded or built. It has two languages, or those that a user has.
 */
export function installation(
  t: TestContext,
  settings: Record<string, string> = {},
  { everyLanguage = false }: { readonly everyLanguage?: boolean } = {},
): Installation {
  const root = mkdtempSync(join(environment("ASSAY_TEST_DATA"), "serve-"));
  const cleanUp = [() => rmSync(root, { recursive: true, force: true })] as (() => unknown)[];
  t.after(async () => {
    for (const work of cleanUp.reverse()) await work();
  });
  execFileSync("chmod", ["755", root]);
  const [checkout, data] = [join(root, "checkout"), join(root, "data")];
  cpSync(CHECKOUT, checkout, {
    recursive: true,
    // Every command reads the whole checkout. None of these needs the tests.
    filter: (path) => !["node_modules", ".git"].includes(basename(path)) && path !== join(CHECKOUT, "test"),
  });
  for (const file of everyLanguage ? [] : readdirSync(join(checkout, "languages")))
    if (file.endsWith(".json") && !LANGUAGES.includes(file)) rmSync(join(checkout, "languages", file));
  const modules = dirname(realpathSync(join(CHECKOUT, "node_modules")));
  const hash = execFileSync("sh", [
    "-c",
    `checkout=$1; . "$1/setup/release.sh"; . "$1/setup/software.sh"; modules_hash`,
    "sh",
    checkout,
  ]);
  const built = dirname(environment("ASSAY_TEST_LAUNCHER"));
  for (const [kind, name, target] of [
    ["modules", hash.toString().trim(), modules],
    [
      "image",
      execFileSync(join(checkout, "image/build"), ["--hash"]).toString().trim(),
      environment("ASSAY_TEST_IMAGE"),
    ],
    ["launcher", basename(built), built],
    ["dashboard", basename(environment("ASSAY_TEST_DASHBOARD")), environment("ASSAY_TEST_DASHBOARD")],
  ] as const) {
    mkdirSync(join(data, kind), { recursive: true });
    symlinkSync(target, join(data, kind, name));
  }
  writeFileSync(join(data, ".assay-data"), "directory-made-by-us yes\n");

  const env: Installation["env"] = { PATH: process.env.PATH, ASSAY_DATA: data, ...settings };
  const assay = join(checkout, "assay");
  const command: Installation["command"] = (...args) =>
    execFileSync(process.execPath, [MAIN, ...args], {
      env: { ...env, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  const piped: Installation["piped"] = async (from, to, ...args) => {
    const stdio = [openSync(from, "r"), openSync(to, "a"), "pipe"] as const;
    const child = spawn(assay, args, { env, stdio: [...stdio] });
    for (const descriptor of [stdio[0], stdio[1]]) closeSync(descriptor);
    let stderr = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      stderr += chunk;
    });
    const [code] = (await once(child, "close")) as [number | null];
    return [code, stderr];
  };
  const after = (work: () => unknown) => void cleanUp.push(work);
  const start = (...args: string[]) => startCommand({ after }, data, env, [assay, ...args]);
  const serve = async (...args: string[]) => {
    const port = await freePort();
    const running = await start("serve", "--listen", `127.0.0.1:${port}`, ...args);
    const agent = new Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: 64 });
    after(() => agent.destroy());
    const ask: RealServe["ask"] = (key, method, path, body, headers) =>
      send(agent, port, key, method, path, body, headers);
    const isReady = async (key: string) => {
      try {
        return (await ask(key, "GET", "/api/health/ready")).status === 200;
      } catch {
        return false;
      }
    };
    return { ...running, port, command, ask, isReady };
  };
  return { data, checkout, env, after, command, piped, start, serve };
}

async function startCommand(
  t: Pick<Installation, "after">,
  data: string,
  env: NodeJS.ProcessEnv,
  command: readonly string[],
): Promise<RealCommand> {
  const child = spawn("setpriv", ["--pdeathsig", "TERM", ...command], { env, detached: true });
  let words = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      words += chunk;
    });
  const ended = new Promise<number | string>((settle) => child.once("exit", (code, by) => settle(code ?? by ?? "")));
  // If a test fails, the command still runs. It must remove its own groups, because nothing else would.
  t.after(async () => {
    child.kill("SIGTERM");
    await Promise.race([ended, sleep(STOP_MS, null, { ref: false })]);
    endAll(child.pid ?? 0);
  });
  let over = false;
  void ended.then(() => {
    over = true;
  });
  // The last output of a starting service may be its first key, which it creates by a separate command.
  const begun = () => /ready in /.test(words) && (!command.includes("serve") || existsSync(join(data, "first-key")));
  while (!begun()) {
    if (over) throw new Error(`it ended: ${words}`);
    await sleep(50);
  }
  const part = (pattern: RegExp) =>
    startedBelow(child.pid ?? 0).find((pid) => pattern.test(read(`/proc/${pid}/cmdline`)));
  // Several commands may run in one data directory.
  const instance = () => {
    const [, after = ""] = read(`/proc/${part(/\/service\/operator\.sock\0|-launcher\0/) ?? 0}/cmdline`).split(
      `${data}/run/`,
    );
    return /^[\w-]*/.exec(after)?.[0] ?? "";
  };
  return {
    data,
    process: child,
    ended,
    words: () => words,
    launcher: () => part(/^[^\0]*assay-launcher\0/),
    service: () => part(/\/src\/main\.ts\0(serve|worker)\0/),
    instance,
  };
}

/** Kills the command and its descendants, bottom up. */
function endAll(root: number): void {
  if (childrenOf(root).length === 0) return; // it has ended, and its pid may be reused
  const family = [root];
  for (const pid of family) family.push(...childrenOf(pid));
  for (const pid of family.reverse())
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // the process has ended
    }
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((settle) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => settle(port));
    });
  });
}
