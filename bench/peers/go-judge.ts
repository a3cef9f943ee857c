import { execFile, spawn } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { createServer } from "node:net";
import { userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import { PLAIN, type Plain } from "../plain.ts";
import { expectOutput, type Judge, type Work } from "./judge.ts";

const MODULE = "github.com/criyle/go-judge";
const VERSION = "1.12.2";
/** Runs a program, with the name of its control group as the last argument. */
export const ENCLOSED = fileURLToPath(new URL("./enclosed.sh", import.meta.url));
const START_MS = 10_000;
const SECOND_NS = 1_000_000_000;
const MIB = 1_048_576;

/** Builds go-judge, unless the directory already has it. @returns the path of the program, or null if Go is not installed. */
export async function buildGoJudge(directory: string): Promise<string | null> {
  const made = join(directory, `go-judge-${VERSION}`);
  const program = join(made, "go-judge");
  if (existsSync(program)) return program;
  const go = findGo();
  if (!go) return null;
  mkdirSync(made, { recursive: true });
  // A module of its own, because `go install` needs the list of versions, which some proxies do not have.
  writeFileSync(join(made, "go.mod"), `module peer\n\ngo 1.25.0\n\nrequire ${MODULE} v${VERSION}\n`);
  const env = { PATH: process.env.PATH, HOME: userInfo().homedir, GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod" };
  await promisify(execFile)(go, ["build", "-o", program, `${MODULE}/cmd/go-judge`], { cwd: made, env });
  return program;
}

function findGo(): string | undefined {
  const places = [...(process.env.PATH ?? "").split(delimiter), "/usr/local/go/bin", "/usr/lib/go/bin"];
  return places
    .map((place) => join(place, "go"))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Starts go-judge with its default settings on the programs of the image. `execute` runs one program, and needs its success. */
export async function startGoJudge(
  program: string,
  rootfs: string,
  directory: string,
): Promise<Judge & { readonly execute: (args: readonly string[]) => Promise<void> }> {
  const configuration = join(directory, "go-judge.yaml");
  writeFileSync(configuration, mounts(rootfs));
  const port = await freePort();
  const settings = ["-silent", "-mount-conf", configuration, "-http-addr", `127.0.0.1:${port}`, "-cgroup-prefix"];
  const child = spawn(ENCLOSED, [program, ...settings], { stdio: ["ignore", "ignore", "inherit"] });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const ask = asker(port, new Agent({ keepAlive: true }));
  const deadline = performance.now() + START_MS;
  while (!(await ask("GET", "/version").catch(() => ""))) {
    if (child.exitCode !== null || performance.now() > deadline) throw new Error("go-judge did not start");
    await sleep(50);
  }
  return {
    name: `go-judge ${VERSION}`,
    client: async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      return { judge: (work) => judge(asker(port, agent), work), close: () => agent.destroy() };
    },
    cpuMs: () => null,
    execute: async (args) => {
      const { result, text } = await run(ask, { args, copyIn: {} });
      if (result.status !== "Accepted") throw new Error(`go-judge did not execute ${args[0]}: ${text.slice(0, 500)}`);
    },
    stop: () => {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

/** @returns the configuration of go-judge, as JSON, which is also YAML. */
function mounts(rootfs: string): string {
  const bind = (path: string, readonly = true) => ({
    type: "bind",
    source: join(rootfs, path),
    target: path,
    readonly,
  });
  const device = (path: string) => ({ type: "bind", source: path, target: path });
  const tmpfs = (target: string) => ({ type: "tmpfs", target, data: "size=256m,nr_inodes=4k" });
  return JSON.stringify({
    mount: [
      ...["/usr", "/etc", "/opt"].map((path) => bind(path)),
      ...["/dev/null", "/dev/urandom", "/dev/random", "/dev/zero", "/dev/full"].map(device),
      ...[tmpfs("/w"), tmpfs("/tmp")],
    ],
    symLink: ["bin", "lib", "lib64"].map((name) => ({ linkPath: `/${name}`, target: `usr/${name}` })),
    proc: true,
    workDir: "/w",
    hostName: "peer",
    uid: 1536,
    gid: 1536,
  });
}

type Ask = (method: string, path: string, body?: string) => Promise<string>;

function asker(port: number, agent: Agent): Ask {
  return (method, path, body = "") =>
    new Promise((resolve, reject) => {
      const headers = body ? { "content-type": "application/json" } : {};
      const sent = request({ host: "127.0.0.1", port, agent, method, path, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        response.on("end", () => resolve(text));
      });
      sent.on("error", reject).end(body);
    });
}

const answerSchema = z.tuple([
  z.object({
    status: z.string(),
    files: z.record(z.string(), z.string()).optional(),
    fileIds: z.record(z.string(), z.string()).optional(),
  }),
]);

interface Command {
  readonly args: readonly string[];
  readonly copyIn: Readonly<Record<string, object>>;
  readonly stdin?: string;
  readonly copyOutCached?: readonly string[];
}

async function run(ask: Ask, { stdin = "", ...command }: Command) {
  const collected = (name: string) => ({ name, max: MIB });
  const text = await ask(
    "POST",
    "/run",
    JSON.stringify({
      cmd: [
        {
          ...command,
          env: ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/w", "LC_ALL=C.UTF-8"],
          files: [{ content: stdin }, collected("stdout"), collected("stderr")],
          ...{ cpuLimit: 20 * SECOND_NS, clockLimit: 40 * SECOND_NS, memoryLimit: 1024 * MIB, procLimit: 128 },
        },
      ],
    }),
  );
  const [result] = answerSchema.parse(JSON.parse(text));
  return { result, text };
}

/** Compiles the program into the file store of go-judge, runs it from there for each input, and deletes the files. */
async function judge(ask: Ask, { language, code, runs }: Work): Promise<void> {
  const plain = PLAIN[language];
  if (!plain) throw new Error(`no plain commands of ${language}`);
  const source = { [sourceOf(plain)]: { content: code } };
  let copyIn: Record<string, object> = source;
  let ids: string[] = [];
  if (plain.compile.length > 0) {
    const [only, ...others] = plain.compile;
    const args =
      others.length === 0 ? (only ?? []) : ["/bin/sh", "-c", plain.compile.map((one) => one.join(" ")).join(" && ")];
    const { result, text } = await run(ask, { args, copyIn: source, copyOutCached: plain.artifacts });
    if (result.status !== "Accepted") throw new Error(`go-judge did not compile ${language}: ${text.slice(0, 500)}`);
    ids = Object.values(result.fileIds ?? {});
    copyIn = Object.fromEntries(Object.entries(result.fileIds ?? {}).map(([name, fileId]) => [name, { fileId }]));
  }
  for (const { stdin, stdout } of runs) {
    const { result, text } = await run(ask, { args: plain.execute, copyIn, stdin });
    expectOutput("go-judge", result.files?.stdout, stdout, text);
  }
  for (const id of ids) await ask("DELETE", `/file/${id}`);
}

/** @returns the name of the source file, which is the last argument of the first command. */
function sourceOf({ compile, execute }: Plain): string {
  return (compile[0] ?? execute).at(-1) ?? "";
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
