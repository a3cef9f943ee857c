import type { Outcome } from "./outcome.ts";
import type { Submission } from "./submission.ts";

/**
 * Receives the events of submissions and requests for distributed traces. Its methods do not block and do not throw.
 * Times are milliseconds since the epoch.
 */
export interface Tracer {
  /** A request was answered. */
  answered(request: TracedRequest): void;
  /** A worker ran a submission once. The outcome may be discarded, and the submission be run again. */
  ran(submission: Submission, run: TracedRun): void;
  /** A submission has its final outcome. */
  ended(submission: Submission, outcome: Outcome, endMs: number): void;
  /** A webhook delivery was attempted. */
  attempted(attempt: TracedAttempt): void;
}

export interface TracedRequest {
  readonly method: string;
  /** The pattern of the route of the request; undefined if no route matches. */
  readonly route: string | undefined;
  readonly status: number;
  readonly requestId: string;
  /** As the client sent it, not validated. */
  readonly traceparent: string | undefined;
  readonly submissionId: string | undefined;
  readonly startMs: number;
  readonly endMs: number;
}

export interface TracedRun {
  readonly outcome: Outcome;
  readonly workerId: string;
  readonly attempt: number;
  readonly startMs: number;
  readonly endMs: number;
}

export interface TracedAttempt {
  readonly submissionId: string;
  readonly deliveryId: string;
  readonly endpointId: string;
  readonly attempt: number;
  readonly status: number | null;
  readonly nextState: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** A tracer that does nothing, for processes without tracing. */
export const NO_TRACER: Tracer = { answered: () => {}, ran: () => {}, ended: () => {}, attempted: () => {} };
