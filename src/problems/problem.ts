import type { Definition } from "../domain/judgement.ts";
import type { Program } from "../domain/submission.ts";
import type { Source } from "./source.ts";
import type { PackageTest, ValidationCase } from "./tests.ts";

/** The rules for a time limit that follows from the package's own submissions. */
export interface Timing {
  /** In seconds; null if the package leaves it to its submissions. */
  readonly limitSecs: number | null;
  /** The limit is at least the slowest accepted submission times this. */
  readonly acToLimit: number;
  /** A submission that is too slow takes at least the limit times this. */
  readonly limitToTle: number;
  /** The limit is a multiple of this many seconds. */
  readonly resolutionSecs: number;
}

/** A problem package, read and checked. */
export interface ProblemPackage {
  readonly format: "legacy" | "2025-09" | "dmoj";
  readonly title: string;
  /** As the package states it; `unknown` by default. */
  readonly licence: string;
  /** Paths of the files with the problem statement, one for each language. */
  readonly statements: readonly string[];
  readonly scoring: boolean;
  readonly timing: Timing;
  /** Without a time limit. */
  readonly definition: Definition;
  /** The output validator; null for the default one. */
  readonly checker: Program | null;
  readonly tests: readonly PackageTest[];
  readonly validation: readonly ValidationCase[];
  readonly inputValidators: readonly Source[];
  readonly submissions: readonly Source[];
}
