import { fileURLToPath } from "node:url";
import type { Cause } from "../../../src/domain/causes.ts";
import type { Actor, Verdict } from "../../../src/domain/outcome.ts";
import { readBuiltIns } from "../../../src/languages/load.ts";

/** The built-in languages with the ends of the programs of the matrix, as their files in languages/ state them. */
const BUILT_IN = readBuiltIns(fileURLToPath(new URL("../../../languages", import.meta.url))).flatMap(({ data }) =>
  data.matrix ? [{ ...data, matrix: data.matrix }] : [],
);

export const LANGUAGES: readonly string[] = BUILT_IN.map(({ name }) => name);

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

/** What is the same for the program in all languages. */
interface Program {
  /** The name of an example (languages/examples.json), or of a file in test/programs/, without its extension. */
  readonly program: string;
  /** A fault that the test causes; none if absent. */
  readonly injected?: "the slot is killed";
  readonly verdict: Verdict;
  readonly cause: Cause;
  readonly actor: Actor;
  readonly intervention: Intervention;
  /** Required output, which proves how far the program got. Any output if absent. */
  readonly stdout?: string;
  /** The languages that get this verdict, if others get another one, which has a row of its own; all if absent. */
  readonly holds?: (language: { readonly end: End; readonly compiles: boolean }) => boolean;
  /** Programs that only wait can run alongside programs that need a core. */
  readonly waits?: true;
}

export interface Row extends Omit<Program, "holds"> {
  /** Languages with another action. */
  readonly interventions: Readonly<Record<string, Intervention>>;
  readonly ends: Readonly<Record<string, End>>;
  /** The languages that do not have the program, with the reason. */
  readonly missing: Readonly<Record<string, string>>;
}

/** Input of every program. `echo` prints it; the others ignore it. */
export const INPUT = "a line\nand one without its end";

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

const exits = ({ end }: { readonly end: End }) => end.startsWith("exit ");
const dies = ({ end }: { readonly end: End }) => end.startsWith("signal ");

/** The programs, each with its verdict. `matrix` in a file of languages/ has the ends in that language. */
const PROGRAMS: readonly Program[] = [
  { program: "echo", ...AC, stdout: INPUT },
  { program: "exit-seven", ...RE },
  { program: "uncaught-exception", ...RE, holds: exits },
  { program: "does-not-compile", ...COMPILE, holds: ({ compiles }) => compiles },
  { program: "does-not-compile", ...RE, holds: ({ compiles }) => !compiles },
  { program: "sleeps", ...WALL, waits: true },
  { program: "busy", ...CPU },
  { program: "busy-threads", ...CPU },
  { program: "busy-children", ...CPU },
  { program: "eats-memory", ...MLE },
  { program: "eats-managed-heap", ...MLE },
  { program: "eats-files-and-memory", ...MLE, stdout: "the memory fits\n" },
  // The parent exits with 0 when its child is killed, unless the launcher kills it first.
  { program: "child-eats-memory", ...MLE },
  { program: "starts-processes-without-end", ...PLE, intervention: "descendants" },
  { program: "starts-threads-without-end", ...PLE, intervention: "none" },
  // If the runtime ignores SIGXFSZ, the program gets EFBIG and fails.
  { program: "writes-a-big-file", ...FSE },
  // The JVM does not raise SIGKILL itself. Its child does, and may outlive it for a moment.
  { program: "kills-itself", ...SIG },
  { program: "aborts", ...SIG },
  { program: "uncaught-exception", ...SIG, holds: dies },
  // Go and the JVM catch the fault, print a report, and abort.
  { program: "dies-of-a-fault", ...SIG },
  { program: "sleeps", injected: "the slot is killed", ...IE, waits: true },
];

/**
 * The matrix: every verdict in every language, each by an example or a program in test/programs/. matrix.test.ts runs this list, and
 * docs/verdicts.md shows it (npm run generate).
 */
export const MATRIX: readonly Row[] = PROGRAMS.map(({ holds = () => true, ...row }) => {
  const interventions: Record<string, Intervention> = {};
  const ends: Record<string, End> = {};
  const missing: Record<string, string> = {};
  for (const { name, compile, matrix } of BUILT_IN) {
    const expected = matrix[row.program];
    if (expected === undefined) throw new Error(`languages/${name}.json does not say how ${row.program} ends`);
    if (typeof expected === "object" && "none" in expected) {
      missing[name] = expected.none;
      continue;
    }
    const { end, intervention = row.intervention } = typeof expected === "string" ? { end: expected } : expected;
    if (row.injected) ends[name] = "neither";
    else if (holds({ end, compiles: compile !== null })) {
      ends[name] = end;
      if (intervention !== row.intervention) interventions[name] = intervention as Intervention;
    }
  }
  return { ...row, interventions, ends, missing };
});

export interface Cell {
  readonly row: Row;
  readonly language: string;
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
