import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import { Worker } from "../../../src/worker/worker.ts";
import { assayWithin } from "../../support/cli/processes.ts";
import { type Running, startHttp } from "../../support/http/running.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { environment, type Launcher, type LauncherOptions, startLauncher } from "../../support/launcher/launcher.ts";
import { tracesLeft } from "../../support/launcher/machine.ts";
import { someLanguages } from "../../support/worker/some-languages.ts";

/** A machine with fewer features, for processes started on it. The real machine does not change. */
export interface Host
  extends Pick<LauncherOptions, "program" | "image" | "fault" | "sandboxes" | "sandboxesIfPossible"> {
  /** Shell commands in a new mount namespace; INSTANCE is the launcher's. */
  readonly prepare?: string;
  /** Prefix that executes the following command. */
  readonly under?: readonly string[];
}

export interface Finding {
  readonly name: string;
  readonly works: boolean;
  readonly needed: boolean;
  readonly detail: string;
  readonly means?: string;
  readonly remedy?: string;
}

/** One language of each kind is enough, because the doctor tests all languages that it finds. */
const TWO = ["c", "python"];

/** A temporary directory, removed after the test. */
export function directory(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), "assay-host-"));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** An `under` for a kernel that refuses a system call. */
export function refusing(t: TestContext, call: string, errno: keyof typeof constants.errno): string[] {
  const program = join(directory(t), "refuse");
  execFileSync("gcc", ["-Wall", "-Wextra", "-Werror", "-o", program, join(import.meta.dirname, "refuse.c")]);
  return [program, String(constants.errno[errno]), call];
}

/** Checks whose result depends on the machine that runs the tests. */
const OF_THIS_MACHINE: readonly string[] = ["oom_score", "formats"];

/** Launcher, doctor and service on such a machine. The service stops with the test; the test must stop the launcher. */
export class Machine {
  readonly #t: TestContext;
  readonly #host: Host;
  readonly #place: Launcher;

  private constructor(t: TestContext, host: Host, place: Launcher) {
    this.#t = t;
    this.#host = host;
    this.#place = place;
  }

  static async with(t: TestContext, host: Host = {}): Promise<Machine> {
    const place = await startLauncher();
    assert.equal(await place.stop(), 0);
    return new Machine(t, host, place);
  }

  /** Starts a launcher. @returns it, or its error: a launcher accepts connections before its checks that may fail. */
  async launcher(changes: Host = {}): Promise<Launcher | string> {
    const { prepare, under, ...options } = { ...this.#host, ...changes };
    const within = this.#within({ ...this.#host, ...changes });
    try {
      const launcher = await startLauncher({ ...options, slots: 3, after: this.#place, within });
      if (await answers(launcher.socket)) return launcher;
      assert.equal(await launcher.stop(), 1);
      return launcher.stderr();
    } catch (error) {
      return (error as Error).message.replace(/^the launcher ended with 1 while starting: /, "");
    }
  }

  async doctor() {
    const { program, image } = this.#host;
    const { instance, uidBase } = this.#place;
    const launcher = program ?? `${environment("ASSAY_TEST_LAUNCHER")}.delegated`;
    const where = ["--launcher", launcher, "--image", image ?? environment("ASSAY_TEST_IMAGE")];
    const options = ["--instance", instance, "--uid-base", String(uidBase), "--image-bytes", "4294967296", "--json"];
    const { code, stdout, stderr } = await assayWithin(this.#within(this.#host), "", "doctor", ...where, ...options);
    assert.notEqual(stdout, "", stderr);
    const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Finding[] };
    assert.equal(code, ok ? 0 : 1, stderr);
    for (const check of checks) assert.equal(Boolean(check.means && check.remedy), !check.works, check.name);
    const lacking = checks.filter(({ works }) => !works).map(({ name }) => name);
    return { ok, checks, missing: lacking.filter((name) => !OF_THIS_MACHINE.includes(name)) };
  }

  /** The real server with a real worker on this launcher's socket, and its log. */
  async service(): Promise<Running & { readonly words: () => string }> {
    let worker: Worker | undefined;
    this.#t.after(() => worker?.stop());
    const words: string[] = [];
    const log = pino({}, { write: (line: string) => words.push(line) });
    const running = await startHttp(this.#t, {
      engineOver: (store) => {
        const timing = { leaseMs: 30_000, drainMs: 1_000 };
        const languages = someLanguages(TWO);
        worker = Worker.start({
          ...timing,
          store,
          languages,
          foreignApis: FOREIGN_APIS,
          log,
          launcherSocket: this.#place.socket,
          workers: 1,
        });
        return worker;
      },
    });
    return { ...running, words: () => words.join("") };
  }

  tracesLeft(): Promise<string[]> {
    return tracesLeft(this.#place);
  }

  #within({ prepare = "", under = [] }: Host): string[] {
    const languages = join(directory(this.#t), "languages");
    mkdirSync(join(languages, "packs"), { recursive: true });
    for (const name of [...TWO, "profiles"])
      copyFileSync(join(LANGUAGES, `${name}.json`), join(languages, `${name}.json`));
    const script = `INSTANCE=${this.#place.instance}; mount --bind ${languages} ${LANGUAGES}; ${prepare}\nexec "$@"`;
    return ["unshare", "--mount", "--propagation", "private", "sh", "-euc", script, "sh", ...under];
  }
}

/** Whether a slot sends any frame, even that it has no box. */
function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath, () => socket.once("data", () => socket.destroy() && resolve(true)));
    socket.on("error", () => resolve(false)).on("close", () => resolve(false));
  });
}

/** The readiness after all languages were tested. */
export async function readiness({ ask }: Pick<Running, "ask">) {
  for (;;) {
    const { status, json } = await ask({ path: "/api/health/ready" });
    const checks = json.checks as { name: string; ok: boolean; detail: string }[];
    if (!checks.some(({ detail }) => detail === "the languages are still being tested"))
      return { status, json, checks };
    await sleep(50);
  }
}

/** The mount point of a cgroup v1 controller on this machine. */
export function v1Mount(controller: string): string | undefined {
  const lines = readFileSync("/proc/self/mounts", "utf8").split("\n");
  const found = lines
    .map((line) => line.split(" "))
    .find(([, , type, options]) => {
      return type === "cgroup" && options?.split(",").includes(controller);
    });
  return found?.[1];
}

/** The mount point of cgroup v2 on this machine. */
export function v2Mount(): string | undefined {
  const lines = readFileSync("/proc/self/mounts", "utf8").split("\n");
  return lines.map((line) => line.split(" ")).find(([, , type]) => type === "cgroup2")?.[1];
}

/** A `prepare` for a machine without a controller, on v1 and v2. */
export function without(t: TestContext, controller: string): string {
  const [v1, v2] = [v1Mount(controller), v2Mount()];
  const list = v2 ? join(v2, "cgroup.controllers") : "";
  const shorter = join(directory(t), "cgroup.controllers");
  if (v2) writeFileSync(shorter, readFileSync(list, "utf8").replace(new RegExp(`\\b${controller}\\b`), ""));
  return `${v1 ? `umount ${v1}` : ""}\n${v2 ? `mount --bind ${shorter} ${list}` : ""}`;
}
