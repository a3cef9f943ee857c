import type { CheckerSpec } from "../../domain/check.ts";
import type { NetworkPolicy } from "../../domain/egress/policy.ts";
import type { ClaimedForeignRequest, ForeignRequest } from "../../domain/foreign-api.ts";
import type { EndedTests } from "../../domain/grading.ts";
import type { Harness } from "../../domain/harness.ts";
import type { TestLimits } from "../../domain/limits.ts";
import type { Progress } from "../../domain/progress.ts";
import type { Program, Submission } from "../../domain/submission.ts";
import type { NewJudgement } from "../judgements/types.ts";
import type { ClaimedNetwork } from "./networks.ts";

/** A claimed submission with its lease. */
export interface Claim {
  readonly submission: Submission;
  readonly program: Program;
  readonly lease: Lease;
  /** Whether clients can follow its output during the run: on PostgreSQL through the table `live_output`, on SQLite in memory. */
  readonly live: boolean;
  /** Whether its client gives it input during the run. */
  readonly takesInput: boolean;
  /** The test, if the submission is a run of a judgement; otherwise null. */
  readonly test: ClaimedTest | null;
  /** What the grader of a problem is to grade, if the submission is its run. */
  readonly grading?: ClaimedGrading | null;
  /** What its client has sent besides, if it is one of another service's API; otherwise null. */
  readonly foreign: ClaimedForeignRequest | null;
  /** Null if its program has no network. */
  readonly network: ClaimedNetwork | null;
  /** How far it came before it gave up its slot; null if it starts with its first run. */
  readonly progress: Progress | null;
}

/** What a run of a grader grades. The program of the claim is the grader. */
export interface ClaimedGrading extends EndedTests {
  readonly judgementSeq: number;
}

/** The test of a run of a judgement. */
export interface ClaimedTest {
  readonly judgementSeq: number;
  /** The most points that the checker can give; null if it can only accept or reject. */
  readonly points: number | null;
  readonly checker: CheckerSpec;
  /** The checker, if it is a program. */
  readonly checkerProgram: Program | null;
  /** What the problem states for the steps of the program, and for those of the checker. */
  readonly limits: TestLimits;
  readonly checkerLimits: TestLimits;
  /** What the problem adds to the program; null if it adds nothing. */
  readonly harness: Harness | null;
  /** As in TestMeta. */
  readonly answerFile?: string | undefined;
  /** The answers. An output that matches any of them is right. */
  readonly answers: readonly Buffer[];
  /** Why nothing runs on this test: the first fault of a faulty version of a problem. Null for any other version. */
  readonly fault: string | null;
}

/**
 * The right to finish one attempt of a submission. A lease is void once it was taken away or its submission has ended. Methods that get
 * a void lease change nothing.
 */
export interface Lease {
  readonly submissionId: string;
  readonly workerId: string;
  /** Increases with every claim of the submission: only the lease of the newest claim is valid. */
  readonly fence: number;
  /** The number of the attempt: 1 for the first. */
  readonly attempt: number;
}

/** A submission to accept. */
export interface Enqueue {
  readonly submission: Submission;
  readonly program: Program;
  /** Null for a request without an idempotency key. */
  readonly idempotency: { readonly key: string; readonly requestHash: string } | null;
  /** The most pending submissions of all accounts together; a single account gets at most half of them (enqueue.ts). */
  readonly maxPending: number;
  /** If true, no submission is accepted: the request only asks for the submission that its idempotency key already has. */
  readonly onlyKnown?: boolean;
  /** Whether a user may watch the run. */
  readonly live?: boolean;
  /** Whether the client gives the program input during the run. */
  readonly takesInput?: boolean;
  /** Id of the submission that this one repeats. */
  readonly originalId?: string | undefined;
  /** The submission is the first run of this judgement, which is added with it. */
  readonly judgement?: NewJudgement;
  /** Set when the request came from a client of another service's API. */
  readonly foreign?: ForeignRequest;
  /** What its program may reach over the network; absent: nothing. */
  readonly network?: NetworkPolicy;
}

export type Enqueued =
  /** `queueDepth`: the number of pending submissions of all accounts, including this one. */
  | { readonly kind: "enqueued"; readonly submission: Submission; readonly queueDepth: number }
  /** The idempotency key is known, and its request was the same. `submission` has its present state, without its outcome. */
  | {
      readonly kind: "duplicate";
      readonly submission: Submission;
      readonly queueDepth: number;
      /** Null if the request was for a single submission. */
      readonly judgementId: string | null;
    }
  /** The idempotency key is known, but its request was another one. */
  | { readonly kind: "conflict" }
  /** The idempotency key is unknown, and `onlyKnown` is true. */
  | { readonly kind: "unknown" }
  /** The version of the judgement has been deleted in the meantime, and has to be stored again. */
  | { readonly kind: "versionGone" }
  /** The key was revoked or expired after the authentication of the request. */
  | { readonly kind: "revoked" }
  /** The account was suspended after the authentication of the request. */
  | { readonly kind: "suspended" }
  /** The account has as many pending submissions as it may have. Other accounts may still be able to submit. */
  | { readonly kind: "full"; readonly queueDepth: number };

/** What a sweep did. */
export interface Swept {
  /** Ids of submissions that are pending again. */
  readonly requeued: readonly string[];
  /** Ids of submissions that ended with the status `error`, because no attempts were left or they may not be repeated. */
  readonly failed: readonly string[];
}

/** Resolves when the reader may hold so many bytes. If it rejects, the read fails with the same error. */
export type ReserveMemory = (bytes: number) => Promise<void>;

/** An account, or one key of it. */
export interface Whose {
  readonly accountId: string;
  readonly keyId?: string | undefined;
}
