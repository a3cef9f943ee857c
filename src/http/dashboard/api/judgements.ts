import type { GroupScore, TestState } from "../../../domain/judgement.ts";
import type { SubmissionRecord } from "../../../domain/record.ts";
import type { Explanation, Proof, SubmissionDetail, SubmissionRow, Usage } from "./submissions.ts";

/** GET /judgements → Judgements. It has the parameters of GET /submissions, except `cause`, and `problem`, the id of a problem. */
export interface Judgements {
  readonly judgements: readonly JudgementRow[];
  /** The value of `before` for the next page; null if there is none. */
  readonly next: string | null;
  /** The mark of these rows, for the parameter `mark` of GET /judgements/live. */
  readonly mark: string;
}

export interface JudgementRow extends Omit<SubmissionRow, "startedAt" | "cause"> {
  /** Null until the judgement has ended. */
  readonly score: number | null;
  /** Null if the request had the tests. The name is null for a deleted problem. */
  readonly problem: { readonly id: string; readonly name: string | null; readonly version: number } | null;
  /** The number of tests that passed. */
  readonly passed: number;
  /** The number of tests that have a verdict. Skipped tests have none. */
  readonly ended: number;
  /** The number of all tests. */
  readonly total: number;
}

/** The part of a judgement that changes while it runs. */
export interface JudgementState {
  readonly row: JudgementRow;
  /** The points so far. */
  readonly score: number;
  readonly maxScore: number;
  readonly groups: readonly JudgedGroup[];
  /** The run of the grader, and why it gave no result; null if the problem has no grader. */
  readonly grader: { readonly submissionId: string | null; readonly message: string | null } | null;
  readonly tests: readonly JudgedTest[];
}

/** The name is empty for tests without a group. */
export interface JudgedGroup extends GroupScore {
  readonly depends: readonly string[];
}

export interface JudgedTest {
  readonly name: string;
  readonly group: string;
  /** The verdict of the test once it has one. */
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
  /** The limits that a run of each test would have now; empty if the language has been removed. */
  readonly limits: readonly TestLimits[];
  readonly source: { readonly name: string; readonly text: string };
  /** Paths of the other files of the program. */
  readonly files: readonly string[];
}

export interface JudgedChecker {
  readonly type: string;
  readonly caseSensitive: boolean;
  readonly absolute: number | null;
  readonly relative: number | null;
  /** The interface and the language of a checker that is a program; null for a built-in checker. */
  readonly program: { readonly interface: string; readonly language: string } | null;
}

/** An input, an answer or an output, of which at most 64 KiB are sent. */
export interface TextBeginning {
  readonly text: string;
  /** The size of the whole input, answer or output in bytes. */
  readonly size: number;
  /** Whether `text` is only the beginning. */
  readonly cut: boolean;
}

/** GET /judgements/:id/tests/:number → TestDetail. The first test has the number 0. */
export interface TestDetail {
  readonly input: TextBeginning;
  /** The answers. A built-in checker accepts an output that matches any of them. */
  readonly expected: readonly TextBeginning[];
  /** Null until the run has ended, for a test that was skipped, and if the submission has been deleted. */
  readonly run: TestRun | null;
}

export interface TestRun {
  readonly row: Pick<SubmissionRecord, "id" | "status"> & { readonly verdict: string | null };
  readonly record: Pick<SubmissionRecord, "result">;
  /** The outputs; null if they are not stored. */
  readonly stdout: TextBeginning | null;
  readonly stderr: TextBeginning | null;
  /** `output.integrity` of the record. */
  readonly integrity: string | null;
  /** See SubmissionDetail. */
  readonly cut: SubmissionDetail["cut"];
  readonly explanation: Explanation | null;
  readonly usage: readonly Usage[];
  readonly proofs: readonly Proof[];
}

/**
 * POST /judgements (NewJudgement) → Accepted: judges the program of the playground on tests or a problem, charged to the account's
 * playground key. It takes `accountId` and any field of POST /api/judgements. POST /judgements/:id/rejudge → Accepted: judges the program
 * of a judgement again, on the same tests, charged to the playground key as well.
 */
export type NewJudgement = { readonly accountId: string } & JudgedProgram & (GivenTests | OnProblem);

export interface JudgedProgram {
  readonly language: string;
  /** Absent if the submission consists of answers, which are its files. */
  readonly code?: string;
  readonly files?: Readonly<Record<string, string>>;
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
 * POST /judgements/:id/compare (ExpectationsToCompare) → ComparedExpectations: compares an ended judgement of a submission from a package with what the package
 * expects, by the rules of `assay problems verify`. VerifiedSubmission has the values to send.
 */
export interface ExpectationsToCompare {
  readonly path: string;
  readonly expectations: readonly Expected[];
}

/** What the package expects of a submission on all tests, or on some of them. */
export interface Expected {
  readonly tests: string | null;
  readonly permitted: readonly string[];
  readonly required: readonly string[];
  readonly verdict?: string;
  readonly score?: readonly [number, number];
  readonly message?: string;
  readonly timeLimit: string;
}

export interface ComparedExpectations {
  /** How the judgement differs from the expectations; empty if it meets them. */
  readonly faults: readonly string[];
  /** CPU time that the slowest test used. */
  readonly slowestMs: number;
}

/** POST /judgements/:id/cancel → Cancelled. */
export interface Cancelled {
  /** False if the judgement had ended already. */
  readonly cancelled: boolean;
}

/**
 * GET /judgements/:id/live → text/event-stream. It sends the event `state` (JudgementState) at the start and after each change, then
 * the event `ended` with the final JudgementState, and then ends.
 */
