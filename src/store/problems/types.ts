/** A version to add to a problem, with what the import of its package found out. */
export interface NewProblem {
  readonly accountId: string;
  /** Unique in the account. */
  readonly name: string;
  readonly title: string;
  /** The sequence number of the version that `JudgementStore.putVersion` has stored. */
  readonly versionSeq: number;
  /** The number of tests. */
  readonly tests: number;
  /** The size of all inputs and answers together. */
  readonly bytes: number;
  /** The limit of CPU time for each test; null for that of the profile. */
  readonly cpuSecs: number | null;
  /** The limit of memory for each test; null for that of the profile. */
  readonly memoryBytes: number | null;
}

/** The most that an account may have. */
export interface ProblemBounds {
  readonly problems: number;
  /** The size of all versions of its problems together. */
  readonly bytes: number;
}

export type PutProblem =
  /** `isNew`: whether a version was added. Otherwise, the current version already had this content. */
  | { readonly kind: "stored"; readonly id: string; readonly version: number; readonly isNew: boolean }
  /** A purge has deleted the stored version in the meantime: it has to be stored again. */
  | { readonly kind: "versionGone" }
  /** The account would exceed this bound. */
  | { readonly kind: "full"; readonly bound: keyof ProblemBounds };

/** A version of a stored problem; fields without a comment are as in NewProblem. */
export interface ProblemVersion {
  readonly number: number;
  readonly tests: number;
  readonly bytes: number;
  readonly cpuSecs: number | null;
  readonly memoryBytes: number | null;
  /** The faults of its definition; empty unless the version is faulty. */
  readonly faults: readonly string[];
  readonly createdAtMs: number;
}

/** A problem with its current version. */
export interface FoundProblem {
  readonly id: string;
  readonly account: { readonly id: string; readonly name: string };
  /** A newer problem has a higher number; numbers can be missing in between. */
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
