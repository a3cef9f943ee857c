import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { Agent } from "node:https";
import { createServer } from "node:net";
import { basename, dirname, join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, send } from "../engine/engine.ts";
import { environment } from "../launcher/launcher.ts";
import { childrenOf, read } from "../launcher/machine.ts";

const CHECKOUT = resolve(import.meta.dirname, "../..");
/** Proven in a moment: a service that was killed proves all that it has before it goes on. */
const LANGUAGES = ["c.json", "profiles.json", "python.json"];

const STOP_MS = 60_000;

/** A running `assay serve` of the real command: set-up, launcher, service. */
export interface RealServe {
  readonly data: string;
  readonly process: ChildProcess;
  readonly ended: Promise<number | string>;
  readonly words: () => string;
  /** The newest of each; undefined while there is none. */
  readonly launcher: () => number | undefined;
  readonly service: () => number | undefined;
  readonly instance: () => string;
  /** One of the commands for operators, in the same data directory. */
  readonly command: (...args: string[]) => string;
  readonly ask: (
    key: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<Answer>;
  readonly isReady: (key: string) => Promise<boolean>;
}

/**
 * Its data directory has the modules and the image of this test run, so that nothing is downloaded and only the launcher
 * is built; it has two languages. Killed with all that it has started, should a test fail.
 */
export async function realServe(t: TestContext, settings: Record<string, string> = {}): Promise<RealServe> {
  const root = mkdtempSync(join(environment("ASSAY_TEST_DATA"), "serve-"));
  execFileSync("chmod", ["755", root]);
  const [checkout, data] = [join(root, "checkout"), join(root, "data")];
  cpSync(CHECKOUT, checkout, {
    recursive: true,
    filter: (path) => !["node_modules", ".git"].includes(basename(path)),
  });
  for (const file of readdirSync(join(checkout, "languages")))
    if (file.endsWith(".json") && !LANGUAGES.includes(file)) rmSync(join(checkout, "languages", file));
  const modules = dirname(realpathSync(join(CHECKOUT, "node_modules")));
  const hash = execFileSync("sh", ["-c", `checkout=$1; . "$1/setup/software.sh"; modules_hash`, "sh", checkout]);
  for (const [kind, name, target] of [
    ["modules", hash.toString().trim(), modules],
    ["image", basename(environment("ASSAY_TEST_IMAGE")), environment("ASSAY_TEST_IMAGE")],
  ] as const) {
    mkdirSync(join(data, kind), { recursive: true });
    symlinkSync(target, join(data, kind, name));
  }
  writeFileSync(join(data, ".assay-data"), "directory-made-by-us yes\n");

  const port = await freePort();
  const env = { PATH: process.env.PATH, ASSAY_DATA: data, ...settings };
  const assay = join(checkout, "assay");
  const command = ["--pdeathsig", "TERM", assay, "serve", "--listen", `127.0.0.1:${port}`, "--workers", "2"];
  const child = spawn("setpriv", command, { env, detached: true });
  let words = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      words += chunk;
    });
  const ended = new Promise<number | string>((settle) => child.once("exit", (code, by) => settle(code ?? by ?? "")));
  // A test that fails leaves it running: it is to remove its groups itself, and nobody else would.
  t.after(async () => {
    child.kill("SIGTERM");
    await Promise.race([ended, sleep(STOP_MS, null, { ref: false })]);
    endAll(child.pid ?? 0);
    rmSync(root, { recursive: true, force: true });
  });
  let over = false;
  void ended.then(() => {
    over = true;
  });
  while (!/curl /.test(words)) {
    if (over) throw new Error(`it ended: ${words}`);
    await sleep(50);
  }
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: 64 });
  t.after(() => agent.destroy());
  const part = (pattern: RegExp) =>
    childrenOf(child.pid ?? 0).find((pid) => pattern.test(read(`/proc/${pid}/cmdline`)));
  const ask: RealServe["ask"] = (key, method, path, body, headers) =>
    send(agent, port, key, method, path, body, headers);
  return {
    data,
    process: child,
    ended,
    words: () => words,
    launcher: () => part(/^[^\0]*assay-launcher\0/),
    service: () => part(/\/src\/main\.ts\0serve\0/),
    instance: () => readdirSync(join(data, "run")).find((name) => name.startsWith("serve-")) ?? "",
    command: (...args) =>
      execFileSync(assay, args, { env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim(),
    ask,
    isReady: async (key) => {
      try {
        return (await ask(key, "GET", "/api/health/ready")).status === 200;
      } catch {
        return false;
      }
    },
  };
}

/** The command and whatever it has started, from the bottom up: with it gone, its children follow by themselves. */
function endAll(root: number): void {
  if (childrenOf(root).length === 0) return; // it has ended, and its number may be another's
  const family = [root];
  for (const pid of family) family.push(...childrenOf(pid));
  for (const pid of family.reverse())
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // it has ended
    }
}

function freePort(): Promise<number> {
  return new Promise((settle) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => settle(port));
    });
  });
}
