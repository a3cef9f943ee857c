import type { Limits } from "../../domain/limits.ts";
import type { StepReport, TeardownReport } from "../../domain/report.ts";
import type { TerminalSize } from "../../domain/sandboxes/execution.ts";
import type { SandboxMeasurement } from "../../domain/sandboxes/host.ts";
import type { SandboxLimits } from "../../domain/sandboxes/sandbox.ts";

/*
 * What the worker needs of the launcher to keep sandboxes. src/sandbox/held-sandbox.ts implements it, and tests without a launcher have
 * an implementation in memory.
 */

export interface SandboxEngine {
  /**
   * Makes a box that is kept until `end`. @throws SandboxesFullError if the launcher has no free sandbox, SandboxesImpossibleError if the
   * machine can have none, and SandboxError.
   * @param accountId the boxes of one account have the share of CPU time of one box together.
   * @param network the token by which the proxy knows the network of the box; null: it has none.
   */
  hold(limits: SandboxLimits, accountId: string, network: string | null): Promise<HeldBox>;
  /** The name of the launcher that runs now. @throws SandboxError if none runs. */
  launcher(): Promise<string>;
  /**
   * Takes over a box that was left. What ran through its connections is killed; all other programs are stopped until `resume`.
   * @param network as for `hold`. @throws SandboxError if there is none with this token.
   */
  rejoin(token: string, limits: SandboxLimits, network: string | null): Promise<HeldBox>;
}

/** A box that is kept. */
export interface HeldBox {
  /** Controls that were read back from the kernel. */
  readonly controls: readonly string[];
  readonly controlsMissing: readonly string[];
  /** The name of its launcher. */
  readonly launcher: string;
  /** A secret, with which another process can take the box over. */
  readonly token: string;
  /** From now on, the launcher keeps the box for a time when this process ends. */
  keep(): void;
  /** Leaves a kept box to the launcher. */
  leave(): void;
  /** Opens a connection that runs one step after the other. */
  attach(): Promise<AttachedBox>;
  /** @throws if the kernel did not freeze all programs. */
  pause(): Promise<void>;
  /** @throws if the kernel did not continue all programs. */
  resume(): Promise<void>;
  /** Stops all programs, also those of a paused box, so that only steps with `whileFrozen` run. @throws if the kernel did not stop them. */
  freeze(): Promise<void>;
  /** Ends `freeze`: programs continue, or are paused as before. @throws if the kernel did not continue them. */
  thaw(): Promise<void>;
  measure(): Promise<SandboxMeasurement>;
  /** Kills everything and removes the box. @returns what proves it. */
  end(): Promise<TeardownReport>;
  /** Calls the listener once if the box is lost without `end`. */
  onLost(listener: (error: Error) => void): void;
  /** Calls the listener each time the kernel has killed a process because the box as a whole had no memory left. */
  onMemory(listener: () => void): void;
}

/** Whether an error says that the launcher has no free sandbox, or no free connection for executions. */
export function isFull(error: unknown): boolean {
  return error instanceof Error && error.name === "SandboxesFullError";
}

/** Whether an error says that the machine of the launcher can have no sandboxes. */
export function isImpossible(error: unknown): boolean {
  return error instanceof Error && error.name === "SandboxesImpossibleError";
}

/** A step in a kept box. */
export interface BoxStep {
  /** The program and its arguments. A program without a slash is looked for in the directories of PATH. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly limits: Limits;
  readonly stdin: Buffer;
  /** Whether more input comes. */
  readonly live: boolean;
  readonly cwd: string;
  readonly terminal: TerminalSize | null;
  /** Whether processes that the main program leaves remain. */
  readonly leaveProcesses: boolean;
  /** Whether output is never dropped: a program that writes faster than `onOutput` takes waits. */
  readonly paced: boolean;
  /** Whether the step runs between `freeze` and `thaw`, and only then. */
  readonly whileFrozen?: boolean;
  /** The most memory of the kernel, such as for files; by default a part of the memory limit. */
  readonly kernelBytes?: number;
  /** The number of the execution to which it belongs; absent: it is one of the platform. */
  readonly execution?: number;
}

export type BoxReport = StepReport & {
  /** Processes that still ran when the main program had ended. */
  readonly processesLeft: number;
};

/** Takes output. The bytes stay as they are, and can be a part of a larger chunk. With `paced`, no more comes until it has resolved. */
export type OnOutput = (stream: "stdout" | "stderr", bytes: Buffer) => void | Promise<void>;

/** Hears the id of the cgroup in which a step of a box with a network runs, before its program is started. */
export type OnBegun = (cgroupId: bigint) => void;

export interface AttachedBox {
  readonly alive: boolean;
  run(step: BoxStep, onOutput: OnOutput, onBegun?: OnBegun): Promise<BoxReport>;
  /** Gives input to the running step; empty: its input is over. It resolves when the launcher may take more, and the bytes may change. */
  input(bytes: Buffer): Promise<void>;
  /** Sends a signal to the main program. */
  signal(number: number): Promise<void>;
  resize(rows: number, cols: number): Promise<void>;
  /** Kills all processes of the running step, which then ends with the reason `client`. */
  kill(): void;
  close(): void;
}
