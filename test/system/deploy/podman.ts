import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type ComposeService, documentedRun } from "../../support/deploy/manifests.ts";
import { PATH, release } from "./release.ts";

/** Keys without meaning for a single container, or only for its restart. */
const WITHOUT_MEANING = ["image", "command", "profiles", "depends_on", "restart", "stop_grace_period", "ports"];

const each = (option: string) => (value: unknown) => (value as readonly string[]).flatMap((one) => [option, one]);

/** Keys of compose.yaml as options of podman. */
const OPTIONS: Readonly<Record<string, (value: unknown) => string[]>> = {
  read_only: (value) => [`--read-only=${value}`, "--read-only-tmpfs=false"],
  cap_drop: each("--cap-drop"),
  // An engine cannot grant a capability that its machine lacks, and some machines lack SYS_RESOURCE.
  cap_add: (value) => each("--cap-add")((value as readonly string[]).filter(machineHas)),
  security_opt: each("--security-opt"),
  cgroup: (value) => ["--cgroupns", String(value)],
  pids_limit: (value) => ["--pids-limit", String(value)],
  pull_policy: (value) => [`--pull=${value}`],
  user: (value) => ["--user", String(value)],
  hostname: (value) => ["--hostname", String(value)],
  environment: (value) =>
    Object.entries(value as object).flatMap(([name, text]) => ["--env", `${name}=${String(text)}`]),
  volumes: each("--volume"),
  tmpfs: each("--tmpfs"),
  healthcheck: () => ["--no-healthcheck"], // the test checks the health itself
};

/** An engine may raise a limit above the maximum of the machine. */
const LIMITS = ["--ulimit", "nofile=8192:8192", "--ulimit", "nproc=8192:8192"];

/** An unknown key of compose.yaml fails the test, which would otherwise test another configuration. */
function options(service: ComposeService, network = "none"): string[] {
  const said = Object.entries(service).flatMap(([key, value]) => {
    const option = OPTIONS[key];
    if (!option && !WITHOUT_MEANING.includes(key)) throw new Error(`compose.yaml has '${key}', but the test does not`);
    return option?.(value) ?? [];
  });
  return ["--network", network, ...LIMITS, ...said, service.image];
}

const SYS_RESOURCE = 24n;

function machineHas(capability: string): boolean {
  if (capability !== "SYS_RESOURCE") return true;
  const [, set = "0"] = /^CapBnd:\t([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return ((BigInt(`0x${set}`) >> SYS_RESOURCE) & 1n) === 1n;
}

/** The image of a release of this checkout, and its containers; removed after the test. */
export class Podman {
  readonly place = mkdtempSync("/var/tmp/assay-podman-");

  constructor(t: TestContext) {
    t.after(() => {
      this.#remove();
      rmSync(this.place, { recursive: true, force: true });
    });
    const { place, image } = release();
    this.ok("load", "--quiet", "--input", join(place, image));
  }

  run(...args: string[]): SpawnSyncReturns<string> {
    const stores = ["--root", join(this.place, "storage"), "--runroot", join(this.place, "run"), "--runtime", "runc"];
    return spawnSync("podman", [...stores, ...args], { env: { PATH }, encoding: "utf8", maxBuffer: 1 << 26 });
  }

  ok(...args: string[]): string {
    const { status, stdout, stderr } = this.run(...args);
    if (status !== 0) throw new Error(`podman ${args.join(" ")}: ${status}\n${stdout}${stderr}`);
    return stdout.trim();
  }

  /** Starts a container like compose.yaml, but without a network or in the machine's. */
  start(name: string, service: ComposeService, network: "none" | "host" = "none"): void {
    this.ok("run", "--detach", "--name", name, ...options(service, network), ...(service.command ?? []));
  }

  /**
   * Runs the documented command, but in the network of the machine, where it listens on this port and asks this mirror for packages. Options
   * that grant something stay as they are, except for a capability that the machine lacks.
   */
  documented(port: string, operator: string, mirror: string): void {
    const words = documentedRun();
    const image = words.pop() ?? "";
    const kept = words.filter((word, at) => word !== "--publish" && words[at - 1] !== "--publish");
    const granted = kept.flatMap((word, at) =>
      word === "--cap-add"
        ? machineHas(kept[at + 1] ?? "")
          ? [word]
          : []
        : kept[at - 1] === "--cap-add" && !machineHas(word)
          ? []
          : [word],
    );
    const environment = [
      `ASSAY_LISTEN=127.0.0.1:${port}`,
      `ASSAY_OPERATOR_LISTEN=127.0.0.1:${operator}`,
      `ASSAY_DEBIAN_MIRROR=${mirror}`,
    ].flatMap((one) => ["--env", one]);
    this.ok("run", ...granted, "--network", "host", ...LIMITS, ...environment, image);
  }

  /** Runs another command in such a container to its end. */
  once(service: ComposeService, ...command: string[]): SpawnSyncReturns<string> {
    return this.run("run", "--rm", ...options(service), ...command);
  }

  exec(name: string, ...command: string[]): SpawnSyncReturns<string> {
    return this.run("exec", name, ...command);
  }

  #remove(): void {
    this.run("rm", "--all", "--force", "--volumes", "--time", "30");
    this.run("image", "umount", "--all");
    this.run("system", "reset", "--force");
  }
}
