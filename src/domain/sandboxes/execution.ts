import type { EgressRecord } from "../egress/egress-record.ts";
import type { RequestedLimits } from "../limits.ts";
import type { Outcome } from "../outcome.ts";
import type { Sandbox } from "./sandbox.ts";

/** `argv`: a program with its arguments. `shell`: a command for bash. `code`: a program in a language. */
export const EXECUTION_KINDS = ["argv", "shell", "code"] as const;
export type ExecutionKind = (typeof EXECUTION_KINDS)[number];

export const EXECUTION_STATUSES = ["running", "completed", "error"] as const;
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

/** Signals that a client may send to the main program of an execution, with their numbers. */
export const EXECUTION_SIGNALS = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGUSR2: 12,
  SIGTERM: 15,
} as const;
export type SignalName = keyof typeof EXECUTION_SIGNALS;
export const SIGNAL_NAMES = Object.keys(EXECUTION_SIGNALS) as readonly SignalName[];

/** The bounds of an execution, in addition to those of its limits. */
export const EXECUTION_BOUNDS = {
  /** Input at the start. */
  stdinBytes: 1_048_576,
  codeBytes: 1_048_576,
  /** All arguments, and each of them or the shell command, in bytes of UTF-8. */
  argvBytes: 131_072,
  argumentBytes: 65_536,
  arguments: 128,
  /** Each name with its value, and all of them, in bytes of UTF-8. */
  env: { entries: 20, variableBytes: 16_000, bytes: 32_768 },
  /** With the home directory before a relative path, it still fits into a path of Linux. */
  cwdBytes: 4_000,
  /** Input in one request. */
  inputBytes: 1_048_576,
  /** Input that waits for a program that does not read it. */
  waitingInputBytes: 1_048_576,
  /** Rows and columns of a terminal. */
  terminal: { least: 1, most: 1_000 },
  /** Most seconds of wall time and of CPU time. An execution in the background, or with a terminal, has this much by default. */
  seconds: 3_600,
  /** Seconds of wall time by default. */
  defaultSeconds: 60,
  /** The executions that the store has of one sandbox: those that ended first are deleted. */
  stored: 1_000,
  /** Bytes of the arguments or of the command as JSON that records keep. The beginning says what ran; a list has 100 of them. */
  shownBytes: 4_096,
} as const;

export interface TerminalSize {
  readonly rows: number;
  readonly cols: number;
}

/** A validated request for an execution. Exactly one of `argv`, `shell` and `code` is present, as `kind` says. */
export interface ExecutionRequest {
  readonly kind: ExecutionKind;
  /** The program, by its path or by its name in PATH, and its arguments. */
  readonly argv?: readonly string[];
  readonly shell?: string;
  /** The canonical name of an installed language. */
  readonly language?: string;
  readonly code?: Buffer;
  /** Input at the start. */
  readonly stdin: Buffer;
  /** Whether more input comes while it runs. */
  readonly openInput: boolean;
  /** Absolute, or relative to /home/user; null for /home/user. */
  readonly cwd: string | null;
  /** Variables in addition to those of the sandbox. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: RequestedLimits;
  /** Processes that the main program leaves remain, and the wall time is that of a server. */
  readonly background: boolean;
  /** The size of its terminal; null: it has pipes. With a terminal, input is open, and all output is standard output. */
  readonly terminal: TerminalSize | null;
}

/** One execution. All times are milliseconds since the epoch, UTC. */
export interface Execution extends Pick<Sandbox, "accountId" | "projectId" | "keyId"> {
  readonly sandboxId: string;
  /** Its number in the sandbox, from 1. */
  readonly number: number;
  readonly kind: ExecutionKind;
  readonly argv: readonly string[] | null;
  readonly shell: string | null;
  /** Whether only the beginning of `argv` or `shell` is known. */
  readonly truncated: boolean;
  readonly language: string | null;
  readonly cwd: string;
  readonly background: boolean;
  readonly hasTerminal: boolean;
  readonly status: ExecutionStatus;
  readonly startedAtMs: number;
  readonly completedAtMs: number | null;
  /** Null until the execution has ended, and where the outcome was not read. */
  readonly outcome: Outcome | null;
  /** Processes that were still running when the main program had ended; null while it runs, and if nothing is known. */
  readonly processesLeft: number | null;
  /** What it reached over the network; null until it has ended, if its sandbox has no network, and where that was not read. */
  readonly egress: EgressRecord | null;
}

/** The home of the user in a sandbox. */
export const HOME = "/home/user";

/** The directory in which an execution starts. */
export function directoryOf(cwd: string | null): string {
  if (cwd === null || cwd === "") return HOME;
  return cwd.startsWith("/") ? cwd : `${HOME}/${cwd}`;
}

/** What records show of the arguments or the command, of which a program can have a hundred times as much. */
function shownOf({ argv, shell }: ExecutionRequest): Pick<Execution, "argv" | "shell" | "truncated"> {
  let left: number = EXECUTION_BOUNDS.shownBytes;
  let truncated = false;
  const begin = (text: string): string => {
    let at = 0;
    for (const character of text) {
      left -= jsonBytes(character);
      if (left < 0) break;
      at += character.length;
    }
    if (at === text.length) return text;
    truncated = true;
    left = 0;
    return text.slice(0, at);
  };
  const words: string[] = [];
  for (const word of argv ?? []) {
    left -= 3; // the quotation marks and the comma
    if (left <= 0) {
      truncated = true;
      break;
    }
    words.push(begin(word));
  }
  return { argv: argv ? words : null, shell: shell === undefined ? null : begin(shell), truncated };
}

/** The bytes of a character in JSON. */
function jsonBytes(character: string): number {
  return Buffer.byteLength(JSON.stringify(character)) - 2;
}

/** A new execution of the sandbox, `running`. */
export function newExecution(sandbox: Sandbox, number: number, request: ExecutionRequest, nowMs: number): Execution {
  const { id: sandboxId, accountId, projectId, keyId } = sandbox;
  return {
    sandboxId,
    accountId,
    projectId,
    keyId,
    number,
    kind: request.kind,
    ...shownOf(request),
    language: request.language ?? null,
    cwd: directoryOf(request.cwd),
    background: request.background,
    hasTerminal: request.terminal !== null,
    status: "running",
    startedAtMs: nowMs,
    completedAtMs: null,
    outcome: null,
    processesLeft: null,
    egress: null,
  };
}

/** Whether the programs of an execution go on at a restart of the service, when the execution itself ends. */
export function outlivesRestart({ background, hasTerminal }: Pick<Execution, "background" | "hasTerminal">): boolean {
  return background && !hasTerminal;
}

/** The message of an execution that ran when the process that had its sandbox ended or was stopped, and the sandbox stayed. */
export function restartedMessage(execution: Pick<Execution, "background" | "hasTerminal">): string {
  const programs = outlivesRestart(execution)
    ? "its programs go on within its limits, but not its output"
    : "it was killed";
  return `the service was restarted while the execution ran: ${programs}, and its end is not known`;
}
