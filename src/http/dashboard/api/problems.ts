import type { GroupScore } from "../../../domain/judgement.ts";
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
  /** The limits of each test; null if the limit of the profile holds. */
  readonly cpuMs: number | null;
  readonly memoryBytes: number | null;
  /** What the package has to mend, if the version is faulty; otherwise empty. */
  readonly faults: readonly string[];
  readonly createdAt: string;
}

/** GET /problems/:id → ProblemDetail; DELETE → 204. */
export interface ProblemDetail extends ProblemRow {
  readonly checker: JudgedChecker;
  /** The language and the file for each test, if submissions are answers; null if they are programs. */
  readonly answers: { readonly language: string; readonly files: readonly string[] } | null;
  /** The groups of the current version, with the names of their tests. */
  readonly groups: readonly {
    /** Empty for tests without a group. */
    readonly name: string;
    readonly rule: GroupScore["rule"];
    /** The group that contains this one; null if none does. */
    readonly parent: string | null;
    readonly depends: readonly string[];
    readonly points: number;
    readonly tests: readonly { readonly name: string; readonly points: number }[];
  }[];
  /** Newest first. */
  readonly versions: readonly ProblemVersion[];
}

/**
 * POST /problems?account=ID[&name=][&time_limit=][&verify=true][&allow_faults=true] with a ZIP archive of a package → ImportedProblem.
 * With `verify`, the submissions of the package are judged on this version, charged to the account's playground key.
 */
export interface ImportedProblem {
  readonly id: string;
  readonly version: number;
  /** Whether the import made a new version. False if the current version already has this content. */
  readonly isNew: boolean;
  /** Null without `verify`. */
  readonly verification: Verification | null;
}

export interface Verification {
  /** A time at which all judgements of this verification had been accepted, for the parameter `until` of GET /judgements. */
  readonly until: string;
  /** The submissions, in the order of the package. */
  readonly submissions: readonly VerifiedSubmission[];
}

/** A submission of the package. */
export interface VerifiedSubmission {
  readonly path: string;
  /** The expected results, to be sent to POST /judgements/:id/compare. */
  readonly expectations: readonly Expected[];
  /** Each of the expected results as text. */
  readonly expected: readonly string[];
  /** Null if the submission is not judged: because of `error`, or if that is null, because its language is not installed. */
  readonly judgementId: string | null;
  /** The error of the request for the judgement; null if there was none. */
  readonly error: string | null;
}
