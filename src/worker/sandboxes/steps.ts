import type { Language } from "../../domain/language.ts";
import type { Limits, RequestedLimits } from "../../domain/limits.ts";
import { lowered } from "../../domain/program-options.ts";
import { directoryOf, EXECUTION_BOUNDS, type ExecutionRequest, HOME } from "../../domain/sandboxes/execution.ts";
import { diskOf, type SandboxLimits } from "../../domain/sandboxes/sandbox.ts";
import type { BoxStep } from "./engine.ts";

/** The environment of every execution. What the sandbox and the request add replaces it. */
export const BASE_ENV: Readonly<Record<string, string>> = {
  PATH: `${HOME}/.local/bin:/usr/local/bin:/usr/bin:/bin`,
  HOME,
  USER: "user",
  LOGNAME: "user",
  SHELL: "/bin/bash",
  LANG: "C.UTF-8",
  LC_ALL: "C.UTF-8",
  TMPDIR: "/tmp",
  // The packages of the image belong to root: pip installs into the home of the user. npm does by its built-in settings, in the image.
  PIP_USER: "1",
  PIP_BREAK_SYSTEM_PACKAGES: "1",
  PIP_DISABLE_PIP_VERSION_CHECK: "1",
};

/**
 * The environment of executions of a sandbox with a network. A name that its policy does not allow, or a connection that is refused, stays so: a tool that tries
 * again only makes its user wait for the error. pip and npm would do so for up to a minute.
 */
export const NETWORK_ENV: Readonly<Record<string, string>> = { PIP_RETRIES: "0", npm_config_fetch_retries: "0" };

/** The steps of one execution, in their order. Each but the last must succeed. */
export interface ExecutionSteps {
  /** Writes the code, and compiles it if the language does; absent without code. */
  readonly prepare?: BoxStep;
  /** Whether `prepare` compiles: then a failure is that of the compiler. */
  readonly compiles: boolean;
  readonly execute: BoxStep;
  /** Whether the program takes more input than that of the request. */
  readonly takesInput: boolean;
  /** The directory of the code, which is removed afterwards; null if there is none. */
  readonly codeDirectory: string | null;
}

/** Output of each stream of the step that writes code and compiles it. */
export const PREPARE_OUTPUT_BYTES = 65_536;

const NOTHING = Buffer.alloc(0);
const MIB = 1_048_576;

/**
 * The limits of an execution. Without a request, it has the memory and the processes of the sandbox, and a time that depends on its kind.
 * A single file is limited by the disk of the sandbox alone.
 * @param isLong whether it is a server or a terminal, which by default has the longest time.
 */
export function limitsOf(sandbox: SandboxLimits, requested: RequestedLimits, isLong: boolean): Limits {
  const ms = 1000 * EXECUTION_BOUNDS.seconds;
  const highest: Limits = {
    wallMs: ms,
    cpuMs: ms,
    cpus: sandbox.cpus,
    memoryBytes: sandbox.memoryBytes,
    processes: sandbox.processes,
    fileBytes: Math.max(1024 * MIB, diskOf(sandbox)),
    openFiles: 1024,
    addressSpaceBytes: null,
    stackBytes: Math.min(8 * MIB, Math.floor(sandbox.memoryBytes / 2)),
    workBytes: 4096,
    workInodes: 2,
    tmpBytes: 4096,
    stdoutBytes: MIB,
    stderrBytes: MIB,
  };
  const usual = isLong
    ? EXECUTION_BOUNDS.seconds
    : Math.max(EXECUTION_BOUNDS.defaultSeconds, requested.cpu_time_secs ?? 0);
  return lowered(highest, { ...requested, wall_time_secs: requested.wall_time_secs ?? usual });
}

/** @param env of the sandbox. @param number of the execution, which no other one of the sandbox has. */
export function stepsOf(
  request: ExecutionRequest,
  sandbox: {
    readonly limits: SandboxLimits;
    readonly env: Readonly<Record<string, string>>;
    readonly hasNetwork: boolean;
  },
  language: Language | null,
  number: number,
): ExecutionSteps {
  const { kind, terminal, background, stdin, openInput } = request;
  const isLong = background || terminal !== null;
  const limits = limitsOf(sandbox.limits, request.limits, isLong);
  const env = (own: Readonly<Record<string, string>> = {}) => ({
    ...own,
    ...BASE_ENV,
    ...(sandbox.hasNetwork && NETWORK_ENV),
    ...(terminal && { TERM: "xterm-256color" }),
    ...sandbox.env,
    ...request.env,
  });
  const cwd = directoryOf(request.cwd);
  const takesInput = openInput || terminal !== null;
  const step = (command: readonly string[], own?: Readonly<Record<string, string>>): BoxStep => ({
    command,
    env: env(own),
    limits,
    stdin,
    // Also without open input, because only such a step takes signals. Then its input ends after the bytes of the request.
    live: true,
    cwd,
    terminal,
    leaveProcesses: background,
    // A terminal lives longer than its output limit: all of its output comes, and the last of it is kept.
    paced: terminal !== null,
    execution: number,
  });
  if (kind === "argv") {
    return { execute: step(request.argv ?? []), compiles: false, takesInput, codeDirectory: null };
  }
  if (kind === "shell") {
    return {
      execute: step(["/bin/bash", "-c", request.shell ?? ""]),
      compiles: false,
      takesInput,
      codeDirectory: null,
    };
  }
  if (!language) throw new Error("code without a language");
  const directory = `/tmp/code-${number}`;
  const { compile } = language;
  const { command, isMoved } = movedTo(directory, language);
  const output = { stdout_bytes: PREPARE_OUTPUT_BYTES, stderr_bytes: PREPARE_OUTPUT_BYTES };
  const short = limitsOf(sandbox.limits, output, false);
  const prepare: BoxStep = {
    ...step(writing(directory, language.source, compile?.command ?? []), compile?.env),
    limits: { ...short, processes: limits.processes, memoryBytes: limits.memoryBytes },
    stdin: request.code ?? NOTHING,
    live: false,
    cwd: "/tmp",
    terminal: null,
    leaveProcesses: false,
    paced: false,
  };
  const execute = step(command, language.execute.env);
  return {
    prepare,
    compiles: compile !== null,
    takesInput,
    execute: isMoved ? execute : { ...execute, cwd: directory },
    codeDirectory: directory,
  };
}

/** A command that writes its input to a new file of a new directory, enters that, and executes the arguments that follow, if any. */
function writing(directory: string, name: string, command: readonly string[]): readonly string[] {
  const script = 'mkdir -m 700 "$1" && cd "$1" && cat >"$2" || exit; shift 2; [ $# = 0 ] || exec "$@"';
  return ["/bin/sh", "-c", script, "sh", directory, name, ...command];
}

/**
 * The execute command of a language, for another directory than the current one. @returns `isMoved`: whether the command names its files
 * in a way that could be changed; otherwise, it must run in the directory.
 */
export function movedTo(
  directory: string,
  { source, execute }: Pick<Language, "source" | "execute">,
): { readonly command: readonly string[]; readonly isMoved: boolean } {
  const stem = source.slice(0, source.indexOf(".") + 1);
  let isMoved = false;
  const command = execute.command.map((word, at) => {
    const isFile = word.startsWith(stem) && /^[\w.-]+$/.test(word);
    const isHere = word.startsWith("./");
    const isPath = execute.command[at - 1] === "-cp" && /^\.(:|$)/.test(word);
    if (!isFile && !isHere && !isPath) return word;
    isMoved = true;
    return isFile ? `${directory}/${word}` : directory + word.slice(1);
  });
  return { command, isMoved };
}

/** The step that removes the directory of the code. */
export function cleaningStep(directory: string, sandbox: SandboxLimits): BoxStep {
  return {
    command: ["/bin/rm", "-rf", "--", directory],
    env: BASE_ENV,
    limits: limitsOf(sandbox, { wall_time_secs: 10, stdout_bytes: 1, stderr_bytes: 1 }, false),
    stdin: NOTHING,
    live: false,
    cwd: "/",
    terminal: null,
    leaveProcesses: false,
    paced: false,
  };
}
