import type { Cause } from "../../../src/domain/causes.ts";
import type { Actor, Verdict } from "../../../src/domain/outcome.ts";

/**
 * The matrix: every verdict in every language, each by a program in test/programs/ or languages/examples/.
 * matrix.test.ts runs this list, and docs/verdicts.md shows it (npm run generate).
 */
export const LANGUAGES = ["c", "cpp", "go", "java", "javascript", "python", "rust", "typescript"] as const;
export type LanguageName = (typeof LANGUAGES)[number];

/**
 * The end of the program itself: `exit 7`, `signal 9`, or `neither` if it cannot be known. Alternatives (` or `) only
 * if the kernel decides which of two processes runs first.
 */
type End = string;

/** The exact action of the launcher. */
export type Intervention =
  | "none"
  | "wall kill"
  | "cpu kill"
  /** On cgroup v1, the launcher kills what the OOM killer left; on v2, the kernel leaves nothing. */
  | "oom kill"
  | "descendants"
  /** A child may or may not exist when the program ends: the kernel decides which of the two runs first. */
  | "descendants, perhaps";

export interface Row {
  /** File name in the directory of a language, without its extension. */
  readonly program: string;
  /** A fault that the test causes; none if absent. */
  readonly injected?: "the slot is killed";
  readonly verdict: Verdict;
  readonly cause: Cause;
  readonly actor: Actor;
  readonly intervention: Intervention;
  /** Languages with another action. */
  readonly interventions?: Readonly<Partial<Record<LanguageName, Intervention>>>;
  /** Required output, which proves how far the program got. Any output if absent. */
  readonly stdout?: string;
  readonly ends: Readonly<Partial<Record<LanguageName, End>>>;
  /** The reason for missing languages. */
  readonly gap?: string;
  /** Programs that only wait can run alongside programs that need a core. */
  readonly waits?: true;
}

/** Input of every program. `echo` prints it; the others ignore it. */
export const INPUT = "a line\nand one without its end";

const everywhere = (end: End): Record<LanguageName, End> =>
  Object.fromEntries(LANGUAGES.map((name) => [name, end])) as Record<LanguageName, End>;

const AC = { verdict: "AC", cause: "normal_exit", actor: "runtime", intervention: "none" } as const;
const RE = { verdict: "RE", cause: "nonzero_exit", actor: "runtime", intervention: "none" } as const;
const COMPILE = { ...RE, cause: "compile_error" } as const;
const WALL = { verdict: "TLE", cause: "wall_timeout", actor: "judge", intervention: "wall kill" } as const;
const CPU = { verdict: "TLE", cause: "cpu_timeout", actor: "judge", intervention: "cpu kill" } as const;
const MLE = { verdict: "MLE", cause: "oom_kill", actor: "kernel", intervention: "oom kill" } as const;
const PLE = { verdict: "PLE", cause: "pids_limit", actor: "kernel" } as const;
const FSE = { verdict: "FSE", cause: "file_size_limit", actor: "kernel", intervention: "none" } as const;
const SIG = { verdict: "SIG", cause: "fatal_signal", actor: "runtime", intervention: "none" } as const;
const IE = { verdict: "IE", cause: "internal_error", actor: "judge", intervention: "none" } as const;

export const MATRIX: readonly Row[] = [
  { program: "echo", ...AC, stdout: INPUT, ends: everywhere("exit 0") },
  { program: "exit-seven", ...RE, ends: everywhere("exit 7") },
  {
    program: "uncaught-exception",
    ...RE,
    ends: {
      go: "exit 2",
      java: "exit 1",
      javascript: "exit 1",
      python: "exit 1",
      rust: "exit 101",
      typescript: "exit 1",
    },
    gap: "C has no exceptions; in C++ it is a signal (below)",
  },
  {
    program: "does-not-compile",
    ...COMPILE,
    ends: { c: "exit 1", cpp: "exit 1", go: "exit 2", java: "exit 1", rust: "exit 1", typescript: "exit 1" },
    gap: "the others have no compile step (next row)",
  },
  {
    program: "does-not-compile",
    ...RE,
    ends: { javascript: "exit 1", python: "exit 1" },
    gap: "the others have a compile step (row above)",
  },
  { program: "sleeps", ...WALL, ends: everywhere("signal 9"), waits: true },
  { program: "busy", ...CPU, ends: everywhere("signal 9") },
  { program: "busy-threads", ...CPU, ends: everywhere("signal 9") },
  { program: "busy-children", ...CPU, ends: everywhere("signal 9") },
  { program: "eats-memory", ...MLE, ends: everywhere("signal 9") },
  {
    program: "eats-managed-heap",
    ...MLE,
    ends: { go: "signal 9", java: "signal 9", javascript: "signal 9", python: "signal 9", typescript: "signal 9" },
    gap: "no managed heap",
  },
  { program: "eats-files-and-memory", ...MLE, stdout: "the memory fits\n", ends: everywhere("signal 9") },
  // The parent exits with 0 when its child is killed, unless the launcher kills it first.
  { program: "child-eats-memory", ...MLE, ends: everywhere("signal 9 or exit 0") },
  {
    program: "starts-processes-without-end",
    ...PLE,
    intervention: "descendants",
    ends: { ...everywhere("exit 1"), go: "exit 2", rust: "exit 101" },
  },
  {
    program: "starts-threads-without-end",
    ...PLE,
    intervention: "none",
    ends: { ...everywhere("exit 1"), cpp: "signal 6", go: "exit 2", rust: "exit 101" },
  },
  {
    // If the runtime ignores SIGXFSZ, the program gets EFBIG and fails.
    program: "writes-a-big-file",
    ...FSE,
    ends: { ...everywhere("exit 1"), c: "signal 25", cpp: "signal 25", rust: "signal 25" },
  },
  {
    // The JVM does not raise SIGKILL itself. Its child does, and may outlive it for a moment.
    program: "kills-itself",
    ...SIG,
    interventions: { java: "descendants, perhaps" },
    ends: everywhere("signal 9"),
  },
  {
    program: "aborts",
    ...SIG,
    ends: {
      c: "signal 6",
      cpp: "signal 6",
      javascript: "signal 6",
      python: "signal 6",
      rust: "signal 6",
      typescript: "signal 6",
    },
    gap: "Go and Java have no abort of their own",
  },
  { program: "uncaught-exception", ...SIG, ends: { cpp: "signal 6" }, gap: "an exit code elsewhere (above)" },
  {
    // Go and the JVM catch the fault, print a report, and abort.
    program: "dies-of-a-fault",
    ...SIG,
    ends: { ...everywhere("signal 11"), go: "signal 6", java: "signal 6" },
  },
  { program: "sleeps", injected: "the slot is killed", ...IE, ends: everywhere("neither"), waits: true },
];

export interface Cell {
  readonly row: Row;
  readonly language: LanguageName;
  readonly end: End;
}

/**
 * The expected cell on a host without sender reports for SIGXFSZ: FSE only if the program dies of it (docs/security.md,
 * Fallbacks).
 */
export function withoutTheTracepoint(cell: Cell): Cell {
  const { row, end } = cell;
  const ignored = row.cause === FSE.cause && !end.startsWith("signal");
  return ignored ? { ...cell, row: { ...row, ...RE } } : cell;
}

export const CELLS: readonly Cell[] = MATRIX.flatMap((row) =>
  LANGUAGES.flatMap((language) => {
    const end = row.ends[language];
    return end === undefined ? [] : [{ row, language, end }];
  }),
);
