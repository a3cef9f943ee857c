import type { Limits, ProfileName } from "./limits.ts";

/** The command of a step: argv without a shell, plus additions to the base environment. */
export interface Command {
  /** The path of the program, absolute in the image or relative to /box, and then its arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /**
   * Arguments that a parked runtime gets after the program and before the other arguments: with them, it starts and then waits for a step
   * (image/root/opt/assay/park).
   */
  readonly park?: readonly string[] | undefined;
}

/** One changed limit with the reason for the change. */
export interface LimitOverride<T = number> {
  readonly value: T;
  readonly reason: string;
}

export type LimitOverrides = { readonly [K in keyof Limits]?: LimitOverride<Limits[K]> };

export interface StepOverrides {
  readonly compile?: LimitOverrides;
  readonly execute?: LimitOverrides;
}

/** One language, as in its data file. */
export interface Language {
  /** Canonical name, as in records and the language list. */
  readonly name: string;
  readonly aliases: readonly string[];
  /** Display name with version and standard: "C (GCC 14, C17)". */
  readonly label: string;
  /** Debian packages of the image that this language needs; those from npm are in image/manifest. */
  readonly packages: readonly string[];
  /** Name of the source file in /box, as diagnostics show it. */
  readonly source: string;
  /** Suffixes of further files that the compile command also takes, after the source. */
  readonly sources?: readonly string[] | undefined;
  /** Suffixes of files in another language that the compile command also takes. No program of the language has its entry in such a file. */
  readonly otherSources?: readonly string[] | undefined;
  /** How the execute command names the compiled program, if this depends on the source: by its .js file (src/worker/plan.ts). */
  readonly runs?: "js" | undefined;
  readonly compile: Command | null;
  readonly execute: Command;
  /** Options of the compiler that a request may add: regular expressions, of which one must match the whole option. */
  readonly compilerOptions?: readonly string[] | undefined;
  /** Options of the compiler for programs of the judge, such as the directory of testlib.h (planOfJudge in src/worker/plan.ts). */
  readonly judgeOptions?: readonly string[] | undefined;
  /** Options of the compiler for programs of the judge that have a file of this name. */
  readonly optionsByFile?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Options of the compiler for programs of the judge that have one source (planOfJudge in src/worker/plan.ts). */
  readonly singleSourceOptions?: readonly string[] | undefined;
  /** Options of the compiler with which it accepts programs that were written for its usual, more lenient options. `compilerOptions` allows them. */
  readonly lenientOptions?: readonly string[] | undefined;
  /** Names of the language in other services, by the name of the service. Only the module for clients of that service knows their form. */
  readonly foreignNames: Readonly<Record<string, unknown>>;
  /**
   * Set if the name stands for no language, such as `executable`: lists of languages leave it out, and docs/languages.md describes it.
   */
  readonly unlisted?: true | undefined;
  readonly limits: Readonly<Partial<Record<ProfileName, StepOverrides>>>;
  /** The smoke test: a program that prints `stdout` and exits 0. */
  readonly smokeTest: { readonly code: string; readonly stdout: string };
}
