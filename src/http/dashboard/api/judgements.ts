import type { TestState } from "../../../domain/judgement.ts";
import type { SubmissionRecord } from "../../../domain/record.ts";
import type { Explanation, Proof, SubmissionDetail, SubmissionRow, Usage } from "./submissions.ts";

/** GET /judgements, with the parameters of GET /submissions and `problem`, an id → Judgements. */
export interface Judgements {
  readonly judgements: readonly JudgementRow[];
  /** The value of `before` for the next page; null if there is none. */
  readonly next: string | null;
  /** The mark of the rows, from which the stream of changes continues. */
  readonly mark: string;
}

export interface JudgementRow extends Omit<SubmissionRow, "startedAt" | "cause"> {
  /** Null until it has ended. */
  readonly score: number | null;
  /** The name is null for a deleted problem. */
  readonly problem: { readonly id: string; readonly name: string | null; readonly version: number } | null;
  readonly passed: number;
  readonly ended: number;
  readonly total: number;
}

/** The part of a judgement that changes while it runs. */
export interface JudgementState {
  readonly row: JudgementRow;
  /** The points so far. */
  readonly score: number;
  readonly maxScore: number;
  readonly groups: readonly JudgedGroup[];
  readonly tests: readonly JudgedTest[];
}

export interface JudgedGroup {
  /** Empty for tests without a group. */
  readonly name: string;
  readonly rule: "sum" | "min";
  readonly depends: readonly string[];
  readonly score: number;
  readonly maxScore: number;
  /** Null while all its tests can still pass. */
  readonly passed: boolean | null;
}

export interface JudgedTest {
  readonly name: string;
  readonly group: string;
  /** A verdict once its run has ended. */
  readonly state: TestState;
  readonly points: number;
  readonly maxPoints: number;
  readonly message: string | null;
  readonly submissionId: string | null;
  readonly cpuMs: number | null;
  readonly wallMs: number | null;
  readonly memoryBytes: number | null;
}

export interface TestLimits {
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly memoryBytes: number;
}

/** GET /judgements/:id → JudgementDetail. */
export interface JudgementDetail extends JudgementState {
  readonly stop: "first_failure" | "never" | "group";
  readonly checker: JudgedChecker;
  /** The limits of each test, as a run of it would have them now; empty for an unknown language. */
  readonly limits: readonly TestLimits[];
  readonly source: { readonly name: string; readonly text: string };
  /** Names of further files. */
  readonly files: readonly string[];
}

export interface JudgedChecker {
  readonly type: string;
  readonly caseSensitive: boolean;
  readonly absolute: number | null;
  readonly relative: number | null;
  /** The interface and the language of a program; null for a built-in checker. */
  readonly program: { readonly interface: string; readonly language: string } | null;
}

/** A text of up to 64 KiB. */
export interface Shown {
  readonly text: string;
  /** The size of all of it in bytes. */
  readonly size: number;
  /** Whether `text` is only its beginning. */
  readonly cut: boolean;
}

/** GET /judgements/:id/tests/:number, from 0 → TestDetail. */
export interface TestDetail {
  readonly input: Shown;
  /** The answers: output that matches any of them passes. */
  readonly expected: readonly Shown[];
  /** Null until the run has ended, and for a test that was skipped. */
  readonly run: TestRun | null;
}

export interface TestRun {
  readonly row: Pick<SubmissionRecord, "id" | "status"> & { readonly verdict: string | null };
  readonly record: Pick<SubmissionRecord, "result">;
  /** Null: not stored. */
  readonly stdout: Shown | null;
  readonly stderr: Shown | null;
  /** As in the record. */
  readonly integrity: string | null;
  /** As in SubmissionDetail. */
  readonly cut: SubmissionDetail["cut"];
  readonly explanation: Explanation | null;
  readonly usage: readonly Usage[];
  readonly proofs: readonly Proof[];
}

/**
 * POST /judgements → Accepted: the program of the playground on tests or a problem, charged like a run of it. The fields of a
 * judgement of the public API, and the account. POST /judgements/:id/rejudge → Accepted: with the playground key.
 */
export type NewJudgement = { readonly accountId: string } & JudgedProgram & (GivenTests | OnProblem);

export interface JudgedProgram {
  readonly language: string;
  readonly code: string;
  readonly profile: "judge" | "agent";
  readonly stop: JudgementDetail["stop"];
}

export interface GivenTests {
  readonly checker: string;
  readonly tests: readonly { readonly stdin: string; readonly expected: string; readonly points: number }[];
}

export interface OnProblem {
  /** The id of a problem of the account. */
  readonly problem: string;
}

/**
 * POST /judgements/:id/compare → Compared: an ended judgement of a submission of a package (VerifiedSubmission), by the rules of
 * `assay problems verify`.
 */
export interface Comparison {
  readonly path: string;
  readonly expectations: readonly Expected[];
}

/** What the package states for the tests of a submission, or for some of them. */
export interface Expected {
  readonly tests: string | null;
  readonly permitted: readonly string[];
  readonly required: readonly string[];
  readonly score?: readonly [number, number];
  readonly message?: string;
  readonly timeLimit: string;
}

export interface Compared {
  /** Empty if it meets the expectations. */
  readonly faults: readonly string[];
  /** CPU time of the slowest test. */
  readonly slowestMs: number;
}

/** POST /judgements/:id/cancel → Cancelled. */
export interface Cancelled {
  /** False: it had ended. */
  readonly cancelled: boolean;
}

/**
 * GET /judgements/:id/live → text/event-stream with the events `state` at the start and after changes, and `ended` with the last
 * one (both JudgementState), then the end of the stream.
 */
