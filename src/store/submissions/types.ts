import type { CheckerSpec } from "../../domain/check.ts";
import type { Judge0Request, Repeats } from "../../domain/judge0/submission.ts";
import type { Progress } from "../../domain/progress.ts";
import type { Program, Submission } from "../../domain/submission.ts";
import type { NewJudgement } from "../judgements/types.ts";

/** A claimed submission with its lease. */
export interface Claim {
  readonly submission: Submission;
  readonly program: Program;
  readonly lease: Lease;
  /** Whether its output is stored in `live` during the run, because a user may watch it. */
  readonly live: boolean;
  /** Whether its client gives it input during the run. */
  readonly takesInput: boolean;
  /** The test of a run of a judgement, otherwise null. */
  readonly test: ClaimedTest | null;
  /** Whether a client of Judge0 submitted it. */
  readonly judge0: boolean;
  /** Null for a submission that runs once. */
  readonly repeats: Repeats | null;
  /** Null for a submission that starts with its first run. */
  readonly progress: Progress | null;
}

/** The test of a run. */
export interface ClaimedTest {
  readonly judgementSeq: number;
  /** The most that its checker can give; null in a judgement without points. */
  readonly points: number | null;
  readonly checker: CheckerSpec;
  /** The checker, if it is a program. */
  readonly checkerProgram: Program | null;
  /** The answers. An output that matches any of them is right. */
  readonly answers: readonly Buffer[];
}

/**
 * The right to finish one attempt. Its fence makes it void once the lease has been taken away:
 * methods with a void lease change nothing.
 */
export interface Lease {
  readonly submissionId: string;
  readonly workerId: string;
  /** Differs in every claim of the submission. */
  readonly fence: number;
  /** 1 for the first run. */
  readonly attempt: number;
}

export interface Enqueue {
  readonly submission: Submission;
  readonly program: Program;
  /** Null for a request that is never a duplicate. */
  readonly idempotency: { readonly key: string; readonly requestHash: string } | null;
  /** Maximum number of pending submissions of all keys; an account gets at most half of it (enqueue.ts). */
  readonly maxPending: number;
  /** If true, no new submission is accepted, and only a known idempotency key has a result. */
  readonly onlyKnown?: boolean;
  /** Whether a user may watch the run. */
  readonly live?: boolean;
  readonly takesInput?: boolean;
  /** The submission that it repeats. */
  readonly originalId?: string | undefined;
  /** The submission is the first run of this judgement, which is added with it. */
  readonly judgement?: NewJudgement;
  /** Set when the request came through the Judge0 API. */
  readonly judge0?: Judge0Request;
}

export type Enqueued =
  /** `queueDepth`: the number of pending submissions, including this one. */
  | { readonly kind: "enqueued"; readonly submission: Submission; readonly queueDepth: number }
  /** The idempotency key is known with the same request: the submission in its present state, without its outcome. */
  | {
      readonly kind: "duplicate";
      readonly submission: Submission;
      readonly queueDepth: number;
      /** If the request was for a judgement. */
      readonly judgementId: string | null;
    }
  /** The idempotency key is known with another request. */
  | { readonly kind: "conflict" }
  /** The answer with `onlyKnown` to an idempotency key that is unknown. */
  | { readonly kind: "unknown" }
  /** The version of its judgement has been deleted in the meantime, and has to be stored again. */
  | { readonly kind: "versionGone" }
  /** The key was revoked or expired after its authentication. */
  | { readonly kind: "revoked" }
  /** The account was suspended after the authentication. */
  | { readonly kind: "suspended" }
  /** The account has as many pending submissions as it may have. Other accounts may still be able to submit. */
  | { readonly kind: "full"; readonly queueDepth: number };

export interface Swept {
  /** Pending again. */
  readonly requeued: readonly string[];
  /** Ended as `error`: no attempts left, or not repeatable. */
  readonly failed: readonly string[];
}

/** Resolves when the reader may hold that many bytes of output; the read fails with its error. */
export type Admit = (bytes: number) => Promise<void>;

/** An account, or one key of it. */
export interface Whose {
  readonly accountId: string;
  readonly keyId?: string | undefined;
}
