import type { Expected, JudgedChecker } from "./judgements.ts";
import type { AccountRef } from "./session.ts";

/** GET /problems[?account=ID][&before=NEXT&limit=100] → ProblemList, newest first. */
export interface ProblemList {
  readonly problems: readonly ProblemRow[];
  readonly next: string | null;
}

/** A problem with its current version. */
export interface ProblemRow extends Omit<ProblemVersion, "createdAt"> {
  readonly id: string;
  /** Unique in the account. */
  readonly name: string;
  readonly title: string;
  readonly account: AccountRef;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface ProblemVersion {
  readonly version: number;
  readonly tests: number;
  /** The size of all inputs and answers. */
  readonly bytes: number;
  /** Limits of each test; null: those of the profile. */
  readonly cpuMs: number | null;
  readonly memoryBytes: number | null;
  readonly createdAt: string;
}

/** GET /problems/:id → ProblemDetail; DELETE → 204. */
export interface ProblemDetail extends ProblemRow {
  readonly checker: JudgedChecker;
  /** The groups of the current version, with the names of their tests. */
  readonly groups: readonly {
    /** Empty for tests without a group. */
    readonly name: string;
    readonly rule: "sum" | "min";
    readonly depends: readonly string[];
    readonly points: number;
    readonly tests: readonly { readonly name: string; readonly points: number }[];
  }[];
  /** Newest first. */
  readonly versions: readonly ProblemVersion[];
}

/**
 * POST /problems?account=ID[&name=][&time_limit=][&verify=true] with a ZIP archive of a package → ImportedProblem. With `verify`,
 * its submissions are judged on this version, charged to the playground key.
 */
export interface ImportedProblem {
  readonly id: string;
  readonly version: number;
  /** False: the current version has this content already. */
  readonly isNew: boolean;
  /** Null without `verify`. */
  readonly verification: Verification | null;
}

export interface Verification {
  /** A time after the last of its judgements was accepted, for the parameter `until` of GET /judgements. */
  readonly until: string;
  /** The submissions, in the order of the package. */
  readonly submissions: readonly VerifiedSubmission[];
}

/** A submission of the package. */
export interface VerifiedSubmission {
  readonly path: string;
  /** The expected results, for POST /judgements/:id/compare, and as text. */
  readonly expectations: readonly Expected[];
  readonly expected: readonly string[];
  /** Null, without an error: no installed language has it. */
  readonly judgementId: string | null;
  /** Why it is not judged. */
  readonly error: string | null;
}
