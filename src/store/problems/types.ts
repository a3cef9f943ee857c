/** A version of a problem, with what its import found out about it. */
export interface NewProblem {
  readonly accountId: string;
  /** Unique in the account. */
  readonly name: string;
  readonly title: string;
  /** A stored version. */
  readonly versionSeq: number;
  readonly tests: number;
  /** The size of all inputs and answers. */
  readonly bytes: number;
  /** Limits of each test; null: those of the profile. */
  readonly cpuSecs: number | null;
  readonly memoryBytes: number | null;
}

/** Bounds of an account. */
export interface ProblemBounds {
  readonly problems: number;
  /** The size of all versions of its problems. */
  readonly bytes: number;
}

export type PutProblem =
  /** `isNew`: a new version. Otherwise the current one has the same content. */
  | { readonly kind: "stored"; readonly id: string; readonly version: number; readonly isNew: boolean }
  /** The version has been deleted in the meantime, and has to be stored again. */
  | { readonly kind: "versionGone" }
  /** The account has reached its bounds. */
  | { readonly kind: "full"; readonly bound: keyof ProblemBounds };

export interface ProblemVersion {
  readonly number: number;
  readonly tests: number;
  readonly bytes: number;
  readonly cpuSecs: number | null;
  readonly memoryBytes: number | null;
  readonly createdAtMs: number;
}

/** A problem with its current version. */
export interface FoundProblem {
  readonly id: string;
  readonly account: { readonly id: string; readonly name: string };
  /** Increasing, with gaps. */
  readonly seq: number;
  readonly name: string;
  readonly title: string;
  readonly current: ProblemVersion;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface Problem extends FoundProblem {
  /** Newest first. */
  readonly versions: readonly ProblemVersion[];
}
