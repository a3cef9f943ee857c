import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export const MAIN = new URL("../../../src/main.ts", import.meta.url).pathname;
/** An id without privileges that exists everywhere: `nobody`. */
export const NOBODY = 65_534;

/** A data directory as set-up makes it: the database belongs to another user than root. */
export function dataDirectory(t: TestContext): string {
  const data = mkdtempSync(join(tmpdir(), "assay-data-"));
  t.after(() => rmSync(data, { recursive: true }));
  mkdirSync(join(data, "db"), { mode: 0o700 });
  mkdirSync(join(data, "tls"), { mode: 0o755 });
  const certificate = join(data, "tls", "server.pem");
  const key = join(data, "tls", "server.key");
  const options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost"];
  const names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  execFileSync("openssl", ["req", "-x509", ...options, ...names, "-keyout", key, "-out", certificate], {
    stdio: "ignore",
  });
  if (process.getuid?.() === 0) for (const path of [data, join(data, "db"), key]) chownSync(path, NOBODY, NOBODY);
  return data;
}

/** Runtimes that wait for submissions take two seconds of CPU time to start, which most tests do not need. */
const NOT_PARKED = { ASSAY_PARK_BYTES: "0" };

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const BENCH = new URL("../../../bench/main.ts", import.meta.url).pathname;

/** Runs one command of the service's program to its end. */
export function assay(...args: string[]): Promise<Ended> {
  return assayReading("", ...args);
}

/** Runs the command with something to read on its standard input. */
export function assayReading(input: string, ...args: string[]): Promise<Ended> {
  return assayWithin([], input, ...args);
}

/** Runs a command of the service's program, started by a command that becomes it. */
export function assayWithin(within: readonly string[], input: string, ...args: string[]): Promise<Ended> {
  return toItsEnd([...within, process.execPath, MAIN, ...args], input);
}

/** Runs the benchmarks to their end. */
export function assayBench(...args: string[]): Promise<Ended> {
  return toItsEnd([process.execPath, BENCH, "bench", ...args], "");
}

function toItsEnd([program = "", ...args]: readonly string[], input: string): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(program, args, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr });
    });
    child.stdin?.on("error", () => {}); // it may end without reading
    child.stdin?.end(input);
  });
}

export interface Started {
  readonly process: ChildProcess;
  readonly output: () => string;
  /** Resolves with the exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
}

export interface Serving extends Started {
  readonly port: number;
}

/** Starts `serve` on a free port; it is killed after the test if it still runs. */
export function serve(t: TestContext, data: string, ...args: string[]): Promise<Serving> {
  return serveWith(NOT_PARKED, t, data, args);
}

/** Runs the command with these variables of the environment, and with the program of `main`. */
export async function serveWith(
  env: NodeJS.ProcessEnv,
  t: TestContext,
  data: string,
  args: readonly string[],
  main = MAIN,
): Promise<Serving> {
  const started = start(env, t, [], main, "serve", "--data", data, "--listen", "127.0.0.1:0", ...args);
  const [, port] = await says(started, /"port":(\d+)/);
  return { ...started, port: Number(port) };
}

/** Starts `serve` on an address, such as `unix:/PATH`, by a command that becomes it, and waits until it listens. */
export async function serveOn(
  address: string,
  within: readonly string[],
  env: NodeJS.ProcessEnv,
  t: Pick<TestContext, "after">,
  data: string,
  args: readonly string[],
): Promise<Started> {
  const started = start(env, t, within, MAIN, "serve", "--data", data, "--listen", address, ...args);
  await says(started, /"msg":"listening"/);
  return started;
}

/** Starts `worker` and waits until it has proven its languages. */
export function worker(t: TestContext, data: string, ...args: string[]): Promise<Started> {
  return workerWithin([], t, data, ...args);
}

/** Runs the command, started by another one that becomes it. */
export async function workerWithin(
  within: readonly string[],
  t: TestContext,
  data: string,
  ...args: string[]
): Promise<Started> {
  const started = start(NOT_PARKED, t, within, MAIN, "worker", "--data", data, ...args);
  await says(started, /"msg":"working"/);
  return started;
}

function start(
  env: NodeJS.ProcessEnv,
  t: Pick<TestContext, "after">,
  within: readonly string[],
  main: string,
  ...args: string[]
): Started {
  const [program = "", ...more] = [...within, process.execPath, main, ...args];
  const child = spawn(program, more, { env: { ...process.env, ...env } });
  t.after(() => child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk;
    });
  }
  const ended = new Promise<number | string>((resolve) =>
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "")),
  );
  return { process: child, output: () => output, ended };
}

async function says({ process: child, output, ended }: Started, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const match = pattern.exec(output());
      if (match) resolve(match);
    };
    child.stdout?.on("data", look);
    child.stderr?.on("data", look);
    void ended.then((how) => reject(new Error(`it ended with ${how} without saying ${pattern}:\n${output()}`)));
    look();
  });
}

/** Sends GET, without a check of the certificate. @returns the status and the body. */
export function get(port: number, path: string, key: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, agent: false, rejectUnauthorized: false };
    const sent = request({ ...options, headers: { "x-api-key": key } }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    sent.on("error", reject).end();
  });
}
