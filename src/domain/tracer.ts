import type { Outcome } from "./outcome.ts";
import type { Submission } from "./submission.ts";

/**
 * What rooms say of the way of one submission or request, for whoever follows it over processes and machines. As with a
 * Meter: saying something never fails, waits or throws. Times are milliseconds since the epoch.
 */
export interface Tracer {
  /** A request was answered. */
  answered(request: Answered): void;
  /** A worker has run it once; what came of it may be thrown away, and the submission be run again. */
  ran(submission: Submission, run: Ran): void;
  /** It has its outcome, for good. */
  ended(submission: Submission, outcome: Outcome, endMs: number): void;
  /** A webhook was tried. */
  attempted(attempt: Attempted): void;
}

export interface Answered {
  readonly method: string;
  /** The pattern of its route; undefined when there is none. */
  readonly route: string | undefined;
  readonly status: number;
  readonly requestId: string;
  /** As the client sent it, unread. */
  readonly traceparent: string | undefined;
  readonly submissionId: string | undefined;
  readonly startMs: number;
  readonly endMs: number;
}

export interface Ran {
  readonly outcome: Outcome;
  readonly workerId: string;
  readonly attempt: number;
  readonly startMs: number;
  readonly endMs: number;
}

export interface Attempted {
  readonly submissionId: string;
  readonly deliveryId: string;
  readonly endpointId: string;
  readonly attempt: number;
  readonly status: number | null;
  readonly became: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** Where nobody follows anything. */
export const NO_TRACER: Tracer = { answered: () => {}, ran: () => {}, ended: () => {}, attempted: () => {} };
