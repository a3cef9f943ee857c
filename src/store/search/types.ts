import type { Judgement, JudgementVerdict, TestState } from "../../domain/judgement.ts";
import type { Samples } from "../../domain/samples.ts";
import type { Program, Status, Submission } from "../../domain/submission.ts";

export interface Named {
  readonly id: string;
  readonly name: string;
}

/** A submission in a list. */
export interface FoundSubmission {
  readonly id: string;
  readonly status: Status;
  readonly verdict: string | null;
  /** Null also for an end before the column of causes. */
  readonly cause: string | null;
  readonly language: string;
  readonly profile: string;
  readonly account: Named;
  readonly project: Named | null;
  readonly key: Named;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly completedAtMs: number | null;
}

/** A submission with everything that its page shows. */
export interface ReadSubmission {
  readonly found: FoundSubmission;
  readonly submission: Submission;
  readonly program: Program;
  /** Null unless it is a run of a judgement. */
  readonly run: TestOf | null;
  /** Whether its output is stored while it runs, so that people can follow it. Stays true after the end. */
  readonly isFollowable: boolean;
  /** The submission that it repeats, unless that one is deleted. */
  readonly originalId: string | null;
  /** Null if there are none. */
  readonly samples: Samples | null;
}

/** A test of a judgement. */
export interface TestOf {
  readonly judgementId: string;
  /** The number of the test, from 0. */
  readonly test: number;
}

/** A judgement in a list. */
export interface FoundJudgement {
  readonly id: string;
  readonly status: Status;
  readonly verdict: JudgementVerdict | null;
  /** Null until it has ended. */
  readonly score: number | null;
  readonly states: readonly TestState[];
  readonly language: string;
  readonly profile: string;
  readonly account: Named;
  readonly project: Named | null;
  readonly key: Named;
  /** The version of the problem; null if the tests are part of the request. */
  readonly problem: ProblemVersion | null;
  readonly createdAtMs: number;
  readonly completedAtMs: number | null;
}

export interface ProblemVersion {
  readonly id: string;
  /** Null for a deleted problem. */
  readonly name: string | null;
  readonly version: number;
}

/** A judgement with its program, whose input is empty. */
export interface ReadJudgement {
  readonly found: FoundJudgement;
  readonly judgement: Judgement;
  readonly program: Program;
}

/** The beginning of a content, and the size of all of it. */
export interface ContentStart {
  readonly bytes: Buffer;
  readonly size: number;
}

/** A search for judgements. */
export interface JudgementSearch extends Omit<Search, "cause"> {
  /** Id of a problem, which can have been deleted. */
  readonly problemId?: string | undefined;
}

export interface Search {
  /** Null for all. */
  readonly accountIds: readonly string[] | null;
  readonly id?: string | undefined;
  /** The first characters of an id, in the form of a UUID. */
  readonly prefix?: string | undefined;
  readonly verdict?: string | undefined;
  readonly cause?: string | undefined;
  readonly status?: string | undefined;
  readonly language?: string | undefined;
  readonly keyId?: string | undefined;
  readonly projectId?: string | undefined;
  /** Lower bound of the time of acceptance. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** The newest first, by default. */
  readonly order?: "newest" | "oldest" | undefined;
  /** `next` of the previous search. */
  readonly before?: number | undefined;
  readonly max: number;
}

export interface Total {
  readonly matches: number;
  /** False: there can be more, among rows that were not counted. */
  readonly isWhole: boolean;
}
