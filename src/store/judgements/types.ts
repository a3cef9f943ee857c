import type { Harness } from "../../domain/harness.ts";
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

/** An input, an answer or a file of a test: in memory, or a content that is read only if the account has not stored it yet. */
export type Content = Buffer | LazyContent;

export interface LazyContent {
  /** SHA-256, hexadecimal. */
  readonly hash: string;
  readonly bytes: number;
  /** May throw if the content can no longer be read, or no longer has this hash. */
  readonly read: () => Promise<Buffer>;
}

/** A definition with the contents of its tests. */
export interface NewVersion {
  readonly accountId: string;
  readonly definition: Definition;
  /** The checker, if it is a program. */
  readonly checker: Program | null;
  /** The grader of the problem. */
  readonly grader?: Program | null | undefined;
  /** What the problem adds to the submissions. */
  readonly harness?: Harness | null | undefined;
  /** For each test, its input, followed by its answers and its files. */
  readonly contents: readonly (readonly Content[])[];
}

/** What is needed to judge the program of a judgement again. */
export interface Rejudged {
  readonly language: string;
  readonly profile: ProfileName;
  readonly program: Program;
  readonly stop: Stop;
  readonly versionSeq: number;
  /** The number of tests. */
  readonly tests: number;
  readonly definition: Definition;
  readonly problem: ProblemReference | null;
}

export interface JudgementFilter {
  readonly accountId: string;
  readonly status?: Status | undefined;
  readonly verdict?: JudgementVerdict | undefined;
  readonly language?: string | undefined;
  /** Only judgements of the problem with this id, which may have been deleted. */
  readonly problemId?: string | undefined;
  /** Only judgements with a lower sequence number. */
  readonly before?: number | undefined;
  readonly max: number;
}
