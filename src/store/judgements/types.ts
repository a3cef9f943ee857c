import type { Definition, JudgementVerdict, ProblemReference, Stop } from "../../domain/judgement.ts";
import type { ProfileName } from "../../domain/limits.ts";
import type { Program, Status } from "../../domain/submission.ts";

/** A judgement to be added with its first run. */
export interface NewJudgement {
  readonly id: string;
  readonly stop: Stop;
  readonly versionSeq: number;
  /** The number of tests. */
  readonly tests: number;
  readonly problem: ProblemReference | null;
}

/** Content in memory, or read if the account does not have it. */
export type Content = Buffer | LazyContent;

export interface LazyContent {
  /** SHA-256, hexadecimal. */
  readonly hash: string;
  readonly bytes: number;
  /** @throws if the content has another hash. */
  readonly read: () => Promise<Buffer>;
}

/** A definition with the contents of its tests. */
export interface NewVersion {
  readonly accountId: string;
  readonly definition: Definition;
  /** The checker, if it is a program. */
  readonly checker: Program | null;
  /** The input of each test, followed by its answers. */
  readonly contents: readonly (readonly Content[])[];
}

/** Everything that a second judgement of the same program needs. */
export interface Rejudged {
  readonly language: string;
  readonly profile: ProfileName;
  readonly program: Program;
  readonly stop: Stop;
  readonly versionSeq: number;
  readonly tests: number;
  /** The most runs of its tests: each pass that a checker may ask for counts as a run. */
  readonly runs: number;
  readonly problem: ProblemReference | null;
}

export interface JudgementSearch {
  readonly accountId: string;
  readonly status?: Status | undefined;
  readonly verdict?: JudgementVerdict | undefined;
  readonly language?: string | undefined;
  /** Id of a problem, which can have been deleted. */
  readonly problemId?: string | undefined;
  readonly before?: number | undefined;
  readonly max: number;
}
