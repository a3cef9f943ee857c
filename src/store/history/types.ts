import type { Judgement, JudgementVerdict, TestState } from "../../domain/judgement.ts";
import type { Samples } from "../../domain/samples.ts";
import type { Program, Status, Submission } from "../../domain/submission.ts";

/** A part of the history, in buckets. */
export interface Range {
  readonly fromMs: number;
  /** Exclusive. */
  readonly untilMs: number;
  readonly bucketMs: number;
  /** Null for all. */
  readonly accountIds: readonly string[] | null;
}

export type GroupBy = "language" | "key" | "project";

/** Ended submissions of one language, key or project. */
export interface Group {
  /** The language, or an id; empty for keys without a project. */
  readonly id: string;
  readonly name: string;
  readonly ended: Counts["ended"];
}

export type EndsOf = { readonly keyId: string } | { readonly projectId: string };

export interface DeliveryCount {
  readonly at: number;
  readonly state: "delivered" | "failed";
  readonly amount: number;
}

export interface FailingEndpoint {
  readonly id: string;
  readonly url: string;
  readonly removed: boolean;
  readonly failed: number;
}

/** The highest values in a bucket. */
export interface LoadCount {
  readonly at: number;
  readonly pending: number;
  readonly running: number;
  readonly slots: number;
}

export interface Counts {
  /** `verdict`: see `classOf` in src/domain/history.ts. */
  readonly ended: readonly { readonly at: number; readonly verdict: string; readonly amount: number }[];
  /** `wait`: from acceptance to start; `run`: from start to end; bins as in src/domain/history.ts. */
  readonly times: readonly {
    readonly at: number;
    readonly kind: "wait" | "run";
    readonly bin: number;
    readonly amount: number;
  }[];
}

export interface LivePiece {
  readonly stream: "stdout" | "stderr";
  /** Offset in the stream, in bytes. */
  readonly at: number;
  readonly bytes: Buffer;
}

/** Position of a reader in the live output of a run. */
export interface LiveMark {
  readonly fence: number;
  readonly n: number;
}

export interface LiveLook {
  readonly status: Status;
  /** Pieces after the mark, in order. The pieces of a repeated run start at 0 again. */
  readonly pieces: readonly (LivePiece & LiveMark)[];
}

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
  /** Whether its output can be watched while it runs. */
  readonly live: boolean;
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
export interface FoundJudged {
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
  /** Its version of a problem; null for tests of its own. */
  readonly problem: JudgedProblem | null;
  readonly createdAtMs: number;
  readonly completedAtMs: number | null;
}

export interface JudgedProblem {
  readonly id: string;
  /** Null for a deleted problem. */
  readonly name: string | null;
  readonly version: number;
}

/** A judgement with its program, whose input is empty. */
export interface ReadJudged {
  readonly found: FoundJudged;
  readonly judgement: Judgement;
  readonly program: Program;
}

/** The beginning of a content, and the size of all of it. */
export interface Beginning {
  readonly bytes: Buffer;
  readonly size: number;
}

/** A search for judgements. */
export interface JudgedSearch extends Omit<Search, "cause"> {
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
