import { dirname, join } from "node:path";
import type { Limits } from "../../../src/domain/limits.ts";
import {
  type AttachedSlot,
  type ExecutionReport,
  type ExecutionStep,
  HeldSandbox,
  type HoldLimits,
  SANDBOXES_SOCKET,
} from "../../../src/sandbox/held-sandbox.ts";
import { PATIENCE } from "../programs/timeouts.ts";
import type { Launcher } from "./launcher.ts";

const MiB = 1 << 20;

/** The report of an end after which nothing of a sandbox is left. */
export const REMOVED = {
  reaped: true,
  populated: false,
  pidsLeft: 0,
  zombies: 0,
  residualMounts: [],
  groupsLeft: [],
  unreadFacts: [],
};

export const SANDBOX: HoldLimits = {
  memoryBytes: 256 * MiB,
  processes: 128,
  diskBytes: 64 * MiB,
  inodes: 4096,
  storage: "memory",
};
const ENV = { PATH: "/home/user/.local/bin:/usr/local/bin:/usr/bin:/bin", HOME: "/home/user", LANG: "C.UTF-8" };
const LIMITS: Limits = {
  wallMs: 60_000 * PATIENCE,
  cpuMs: 30_000 * PATIENCE,
  cpus: 1,
  memoryBytes: 128 * MiB,
  processes: 64,
  fileBytes: 64 * MiB,
  openFiles: 1024,
  addressSpaceBytes: null,
  stackBytes: 8 * MiB,
  workBytes: MiB,
  workInodes: 64,
  tmpBytes: MiB,
  stdoutBytes: MiB,
  stderrBytes: MiB,
};

/** Makes a sandbox. */
export function hold(launcher: Launcher, limits: Partial<HoldLimits> = {}, account?: number): Promise<HeldSandbox> {
  return HeldSandbox.hold(join(dirname(launcher.socket), SANDBOXES_SOCKET), { ...SANDBOX, ...limits }, account);
}

/** Takes over a kept sandbox. */
export function rejoin(launcher: Launcher, token: string, limits: Partial<HoldLimits> = {}): Promise<HeldSandbox> {
  return HeldSandbox.rejoin(join(dirname(launcher.socket), SANDBOXES_SOCKET), token, { ...SANDBOX, ...limits });
}

export type Options = Partial<Omit<ExecutionStep, "command" | "limits">> & { readonly limits?: Partial<Limits> };

/** An execution of a program, or of a shell script. */
export function execution(command: string | readonly string[], { limits, ...more }: Options = {}): ExecutionStep {
  return {
    command: typeof command === "string" ? ["/bin/sh", "-c", command] : command,
    env: ENV,
    limits: { ...LIMITS, ...limits },
    stdin: Buffer.alloc(0),
    live: false,
    cwd: null,
    terminal: null,
    leaveProcesses: false,
    paced: false,
    ...more,
  };
}

/** Runs it, and returns what it wrote. @throws if it does not exit with 0. */
export async function output(
  slot: AttachedSlot,
  command: string | readonly string[],
  options: Options = {},
): Promise<string> {
  const report = await slot.run(execution(command, options));
  if (report.exitCode !== 0) throw new Error(`${command}: ${describe(report)}`);
  return report.stdout.toString();
}

export function python(source: string): string[] {
  return ["/usr/bin/python3", "-c", source];
}

export function describe(r: ExecutionReport): string {
  const { exitCode, signal, killReason, failure } = r;
  return `${JSON.stringify({ exitCode, signal, killReason, failure })} ${r.stdout}${r.stderr}`;
}

/** Collects output until it contains a text. */
export class Screen {
  text = "";
  #wake: () => void = () => {};

  readonly add = (_: "stdout" | "stderr", bytes: Buffer): void => {
    this.text += bytes.toString();
    this.#wake();
  };

  /** Waits until the text has been written since the last call, and forgets what came before it. */
  async until(text: string): Promise<void> {
    for (let waited = 0; !this.text.includes(text); waited++) {
      if (waited > 300 * PATIENCE) throw new Error(`"${text}" was not written: ${this.text}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, 100);
      });
    }
    this.text = this.text.slice(this.text.indexOf(text) + text.length);
  }
}
