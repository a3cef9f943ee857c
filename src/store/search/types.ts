import type { Judgement, JudgementVerdict, TestState } from "../../domain/judgement.ts";
import type { ProfileName } from "../../domain/limits.ts";
import type { Verdict } from "../../domain/outcome.ts";
import type { Samples } from "../../domain/samples.ts";
import type { Sandbox, SandboxState } from "../../domain/sandboxes/sandbox.ts";
import type { Snapshot } from "../../domain/sandboxes/snapshot.ts";
import type { Program, Status, Submission } from "../../domain/submission.ts";

export interface Named {
  readonly id: string;
  readonly name: string;
}

/** A submission in a list. */
export interface FoundSubmission {
  readonly id: string;
  readonly status: Status;
  readonly verdict: Verdict | null;
  /** Null until the end. */
  readonly cause: string | null;
  readonly language: string;
  readonly profile: ProfileName;
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
  /** The test that it runs, if it is a run of a judgement; otherwise null. */
  readonly run: TestOf | null;
  /** Whether people can follow its output while it runs. The value is also true after the end. */
  readonly isFollowable: boolean;
  /** Id of the submission that it repeats; null if it repeats none, or that one has been deleted. */
  readonly originalId: string | null;
  /** Null if it has no samples. */
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
  /** Null until the end. */
  readonly score: number | null;
  readonly states: readonly TestState[];
  readonly language: string;
  readonly profile: ProfileName;
  readonly account: Named;
  readonly project: Named | null;
  readonly key: Named;
  /** The version of the problem; null if the request contained the tests. */
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

/** A judgement with its program. The input of the program is empty, because the tests have the inputs. */
export interface ReadJudgement {
  readonly found: FoundJudgement;
  readonly judgement: Judgement;
  readonly program: Program;
}

/** The beginning of a content, and the size of the whole content. */
export interface ContentStart {
  readonly bytes: Buffer;
  readonly size: number;
}

/** A search for judgements. */
export interface JudgementSearch extends Omit<SubmissionSearch, "cause"> {
  /** Only judgements of the problem with this id, which may have been deleted. */
  readonly problemId?: string | undefined;
}

/** A search for submissions. Each condition that is undefined does not restrict the search. */
export interface SubmissionSearch {
  /** Only submissions of these accounts; null for all accounts. */
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
  /** Only submissions that were accepted at this time or later. */
  readonly sinceMs?: number | undefined;
  /** Only submissions that were accepted before this time. */
  readonly untilMs?: number | undefined;
  /** Which come first; by default, the newest. */
  readonly order?: "newest" | "oldest" | undefined;
  /** `next` of the search that this one continues. */
  readonly before?: number | undefined;
  readonly max: number;
}

/** The result of a count. */
export interface Total {
  readonly matches: number;
  /** Whether all rows were counted. If not, there may be further matches among older rows. */
  readonly isWhole: boolean;
}

/** A sandbox with the names of its owners. */
export interface FoundSandbox {
  readonly sandbox: Sandbox;
  readonly account: Named;
  readonly project: Named | null;
  readonly key: Named;
}

/** A search for sandboxes, newest first. Each condition that is undefined does not restrict the search. */
export interface SandboxSearch {
  /** Only sandboxes of these accounts; null for all accounts. */
  readonly accountIds: readonly string[] | null;
  readonly projectId?: string | undefined;
  readonly state?: SandboxState | undefined;
  /** Only sandboxes that have all of these names with these values. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** `next` of the search that this one continues. */
  readonly before?: number | undefined;
  readonly max: number;
}

/** A snapshot with the names of its owners. */
export interface FoundSnapshot {
  readonly snapshot: Snapshot;
  readonly account: Named;
  readonly project: Named | null;
  readonly key: Named;
}

/** A search for complete snapshots, newest first. Each condition that is undefined does not restrict the search. */
export type SnapshotSearch = Pick<SandboxSearch, "accountIds" | "projectId" | "before" | "max">;
