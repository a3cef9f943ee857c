import type { SubmissionRecord } from "../../../domain/record.ts";
import type { Samples } from "../../../domain/samples.ts";
import type { DeliveryResource } from "./deliveries.ts";
import type { AccountRef } from "./session.ts";

export type { Samples };

/**
 * GET /submissions?verdict=&cause=&status=&language=&key=&project=&account=&id=&range=&since=&until=&order=&before=SEQ&limit=50
 * → Submissions; `id` can be the beginning of an id, `range` one of RANGES, `order` newest or oldest. See also lists.ts.
 */
export interface Submissions {
  readonly submissions: readonly SubmissionRow[];
  /** The value of `before` for the next page; null if there is none. */
  readonly next: string | null;
  /** The mark of the rows, from which the stream of changes continues. */
  readonly mark: string;
}

export interface SubmissionRow {
  readonly id: string;
  readonly status: SubmissionRecord["status"];
  readonly verdict: string | null;
  /** As in the record; null before the end, and for old records. */
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

/** GET /submissions/:id → SubmissionDetail. GET /submissions/:id/record → the record alone, as a download. */
export interface SubmissionDetail {
  readonly row: SubmissionRow;
  /** The judgement and test (from 0) of which this is a run; null for other submissions. */
  readonly run: { readonly judgementId: string; readonly test: number } | null;
  /** The submission that it repeats, unless that one is deleted. */
  readonly originalId: string | null;
  /** Whether its output is stored while it runs: it was submitted with `stream`, or on the dashboard. Stays true after its end. */
  readonly live: boolean;
  readonly record: SubmissionRecord;
  /** Path of the source file in /box, as in messages of compilers. */
  readonly source: string;
  readonly code: string;
  readonly stdin: string;
  /** The other files of the program, by path; their content is at …/file?path=. */
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly isText: boolean }[];
  readonly attempts: number;
  /** The verdict in a sentence or two for a newcomer, and why it was not a similar one; null until the run ends. */
  readonly explanation: Explanation | null;
  readonly timeline: readonly Span[];
  readonly usage: readonly Usage[];
  /** Null for a run that was too short, failed or has not ended. */
  readonly samples: Samples | null;
  /** The streams whose output was cut; null if this is unknown, as for an old record. */
  readonly cut: readonly ("stdout" | "stderr")[] | null;
  readonly proofs: readonly Proof[];
  readonly deliveries: readonly DeliveryResource[];
}

export interface Explanation {
  readonly title: string;
  readonly text: string;
  /** "Why not RE?" and the like. */
  readonly whyNot: readonly { readonly verdict: string; readonly text: string }[];
}

/** What was not measured (a compile step of an old record) is absent. */
export interface Span {
  readonly step: "queue" | "compile" | "execute";
  /** `whole`: its parts were not measured. `set-up`: the time of the step around the program. */
  readonly phase: "wait" | "set-up" | "run" | "teardown" | "whole";
  readonly startMs: number;
  readonly ms: number;
}

/** A resource that the execute step used. */
export interface Usage {
  readonly name: "cpu" | "wall" | "memory" | "processes" | "stdout" | "stderr";
  readonly used: number;
  readonly limit: number;
  readonly unit: "ms" | "bytes" | "count";
  /** Whether the program reached it. */
  readonly met: boolean;
}

/** A field of the evidence and its meaning. */
export interface Proof {
  /** As in the record: `limits.cgroup.oom_kill_events`. */
  readonly field: string;
  readonly value: string;
  readonly meaning: string;
}

/** POST /submissions → {id}: a run of the playground, charged to the account's playground key. */
export interface NewSubmission {
  readonly accountId: string;
  readonly language: string;
  readonly code: string;
  readonly stdin: string;
  readonly profile: "judge" | "agent";
}

/** POST /submissions/:id/again → {id}: runs the same program again, in its project, with the playground key. */
export interface Accepted {
  readonly id: string;
}

/** POST /submissions/:id/cancel → whether it had not ended. */
export interface Cancelled {
  readonly cancelled: boolean;
}

/** GET /submissions/:id/deliveries → DeliveryResource[], newest first: the part that changes after the end. */

/** GET /submissions/:id/files/:name, GET /submissions/:id/file?path= (one of `files`) → the bytes, as a download. */
export const RUN_FILES = ["source", "stdin", "stdout", "stderr"] as const;

/**
 * GET /submissions/:id/live → text/event-stream with the events `status` (pending, running), `stdout` and `stderr`
 * (JSON: {at: offset in bytes, text}) and finally `ended` (SubmissionDetail), then the end of the stream. Begins with
 * the output so far.
 */
export type LiveEvent =
  | { readonly event: "status"; readonly data: { readonly status: "pending" | "running" } }
  | { readonly event: "stdout" | "stderr"; readonly data: { readonly at: number; readonly text: string } }
  | { readonly event: "ended"; readonly data: SubmissionDetail };
