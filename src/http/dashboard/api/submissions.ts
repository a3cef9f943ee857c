import type { SubmissionRecord } from "../../../domain/record.ts";
import type { Samples } from "../../../domain/samples.ts";
import type { DeliveryResource } from "./deliveries.ts";
import type { AccountRef } from "./session.ts";

export type { Samples };

/**
 * GET /submissions?verdict=&cause=&status=&language=&key=&project=&account=&id=&range=&since=&until=&order=&before=NEXT&limit=50
 * → Submissions. `id` is an id or its first characters, at least 4; `range` is one of RANGES; `order` is `newest` or `oldest`. See also
 * lists.ts.
 */
export interface Submissions {
  readonly submissions: readonly SubmissionRow[];
  /** The value of `before` for the next page; null if there is none. */
  readonly next: string | null;
  /** The mark of these rows, for the parameter `mark` of GET /submissions/live. */
  readonly mark: string;
}

export interface SubmissionRow {
  readonly id: string;
  readonly status: SubmissionRecord["status"];
  readonly verdict: string | null;
  /** `result.cause` of the record. Null until the submission has ended, and if an old release stored the end. */
  readonly cause: string | null;
  readonly language: string;
  readonly profile: string;
  readonly account: AccountRef;
  readonly project: { readonly id: string; readonly name: string } | null;
  readonly key: { readonly id: string; readonly name: string };
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
}

/** GET /submissions/:id → SubmissionDetail. GET /submissions/:id/record → SubmissionRecord, as a download. */
export interface SubmissionDetail {
  readonly row: SubmissionRow;
  /** If the submission is a run of a judgement, the judgement and the number of the test, from 0; otherwise null. */
  readonly run: { readonly judgementId: string; readonly test: number } | null;
  /** Id of the submission that this one repeats; null if it repeats none, or if that one has been deleted. */
  readonly originalId: string | null;
  /** Whether output is stored while the program runs: the request had `stream`, or came from the dashboard. It stays true after the end. */
  readonly live: boolean;
  readonly record: SubmissionRecord;
  /** Path of the source file in /box, as in messages of compilers. */
  readonly source: string;
  readonly code: string;
  readonly stdin: string;
  /** The other files of the program, sorted by path. GET /submissions/:id/file?path= returns their content. */
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly isText: boolean }[];
  readonly attempts: number;
  /** Explains the verdict to a newcomer; null until the run ends. */
  readonly explanation: Explanation | null;
  readonly timeline: readonly Span[];
  readonly usage: readonly Usage[];
  /** Null if the run has not ended, was too short, or has the status `error`, and for an old record. */
  readonly samples: Samples | null;
  /** The streams whose output was cut off; null if it is unknown which were, as for an old record. */
  readonly cut: readonly ("stdout" | "stderr")[] | null;
  readonly proofs: readonly Proof[];
  readonly deliveries: readonly DeliveryResource[];
}

export interface Explanation {
  readonly title: string;
  readonly text: string;
  /** Why the verdict is not a similar one: the text for the verdict RE answers the question "Why not RE?". */
  readonly whyNot: readonly { readonly verdict: string; readonly text: string }[];
}

/** A part of the timeline. Parts that were not measured, such as the compile step of an old record, are absent. */
export interface Span {
  readonly step: "queue" | "compile" | "execute";
  /** `whole` is a whole step whose phases were not measured. `set-up` is the time of a step that belongs neither to `run` nor to `teardown`. */
  readonly phase: "wait" | "set-up" | "run" | "teardown" | "whole";
  /** Time since the submission was accepted. */
  readonly startMs: number;
  readonly ms: number;
}

/** A resource that the execute step used. */
export interface Usage {
  readonly name: "cpu" | "wall" | "memory" | "processes" | "stdout" | "stderr";
  readonly used: number;
  readonly limit: number;
  readonly unit: "ms" | "bytes" | "count";
  /** Whether the program reached the limit. */
  readonly met: boolean;
}

/** A field of the evidence and its meaning. */
export interface Proof {
  /** The path of the field below `evidence` in the record, such as `limits.cgroup.oom_kill_events`. */
  readonly field: string;
  readonly value: string;
  readonly meaning: string;
}

/** POST /submissions (NewSubmission) → Accepted: runs a program of the playground, charged to the account's playground key. */
export interface NewSubmission {
  readonly accountId: string;
  readonly language: string;
  readonly code: string;
  readonly stdin: string;
  readonly profile: "judge" | "agent";
}

/** POST /submissions/:id/again → Accepted: runs the program of a submission again, in its project, charged to the playground key. */
export interface Accepted {
  readonly id: string;
}

/** POST /submissions/:id/cancel → Cancelled. */
export interface Cancelled {
  /** False if the submission had ended already. */
  readonly cancelled: boolean;
}

/**
 * GET /submissions/:id/deliveries → DeliveryResource[], newest first: the part of SubmissionDetail that changes after the end.
 * GET /submissions/:id/files/NAME, where NAME is one of these, and GET /submissions/:id/file?path=PATH, where PATH is one of
 * SubmissionDetail.files → the bytes, as a download.
 */
export const RUN_FILES = ["source", "stdin", "stdout", "stderr"] as const;

/**
 * GET /submissions/:id/live → text/event-stream with these events. It begins with the status and the output so far, and ends after the
 * event `ended`. `at` is the offset of `text` in the stream, in bytes.
 */
export type LiveEvent =
  | { readonly event: "status"; readonly data: { readonly status: "pending" | "running" } }
  | { readonly event: "stdout" | "stderr"; readonly data: { readonly at: number; readonly text: string } }
  | { readonly event: "ended"; readonly data: SubmissionDetail };
