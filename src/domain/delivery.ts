/** The receiver's response to one attempt, or the reason for its absence. */
export interface Attempt {
  /** Start of the attempt: milliseconds since the epoch. */
  readonly atMs: number;
  /** Until the response was read or the attempt ended without one. */
  readonly latencyMs: number;
  /** The receiver's HTTP status; null when there was none. */
  readonly status: number | null;
  /** The error in words, for people; null without an error. */
  readonly error: string | null;
  /** The first bytes of the response; null without a response. */
  readonly answer: Buffer | null;
  /** The headers of the request; null if none was made, and for attempts of releases that did not keep them. */
  readonly sentHeaders?: Headers | null;
  /** The first headers of the response. */
  readonly answerHeaders?: Headers | null;
}

/** Names and values in the order of the message. */
export type Headers = readonly (readonly [name: string, value: string])[];

/** The state of a delivery after an attempt. */
export type Next =
  | { readonly state: "delivered" | "failed" }
  /** Time of the next attempt: milliseconds since the epoch. */
  | { readonly state: "pending"; readonly atMs: number };

/** Delay of each attempt after the end of the previous one; its length is the maximum number of attempts. */
export const ATTEMPT_DELAYS_MS = [0, 1_000, 5_000] as const;

/** The time limit of an attempt, from the name resolution to the end of the response. */
export const ATTEMPT_TIMEOUT_MS = 10_000;
