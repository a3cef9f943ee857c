import type { Limits, ProfileName } from "./limits.ts";

/** What a step runs: argv without a shell, plus additions to the base environment. */
export interface Command {
  /** Absolute path inside the image (or relative to /box), then arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** One changed limit, always with the reason for the change beside it. */
export interface LimitOverride<T = number> {
  readonly value: T;
  readonly reason: string;
}

export type LimitOverrides = { readonly [K in keyof Limits]?: LimitOverride<Limits[K]> };

export interface StepOverrides {
  readonly compile?: LimitOverrides;
  readonly execute?: LimitOverrides;
}

/** One language as its data file describes it. */
export interface Language {
  /** Canonical name: what records and the language list carry. */
  readonly name: string;
  readonly aliases: readonly string[];
  /** For people, with version and standard: "C (GCC 14, C17)". */
  readonly label: string;
  /** File name under which the source is placed in /box; diagnostics show it. */
  readonly source: string;
  readonly compile: Command | null;
  readonly execute: Command;
  readonly limits: Readonly<Partial<Record<ProfileName, StepOverrides>>>;
  /** A program that prints `stdout` and exits 0; run at start to prove the language works. */
  readonly hello: { readonly code: string; readonly stdout: string };
}
