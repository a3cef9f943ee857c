/** One attempt to deliver a webhook message: the response of the receiver, or the reason why there is none. */
export interface Attempt {
  /** Start of the attempt: milliseconds since the epoch. */
  readonly atMs: number;
  /** Time from the start of the attempt until the response was read, or the attempt ended without a response. */
  readonly latencyMs: number;
  /** The receiver's HTTP status; null when there was none. */
  readonly status: number | null;
  /** The error in words, for people; null if there was none. */
  readonly error: string | null;
  /** The first bytes of the body of the response; null without a response. */
  readonly answer: Buffer | null;
  /** The headers of the request; null if no request was made, or an older release made the attempt. */
  readonly sentHeaders?: Headers | null;
  /** The first headers of the response; null without a response, or if an older release made the attempt. */
  readonly answerHeaders?: Headers | null;
}

/** Names and values in the order of the message. */
export type Headers = readonly (readonly [name: string, value: string])[];

/** The state of a delivery after an attempt. */
export type Next =
  | { readonly state: "delivered" | "failed" }
  /** Time of the next attempt: milliseconds since the epoch. */
  | { readonly state: "pending"; readonly atMs: number };

/** The delay of each attempt after the end of the previous one. A delivery has at most as many attempts as this list has entries. */
export const ATTEMPT_DELAYS_MS = [0, 1_000, 5_000] as const;

/** The time limit of an attempt, from the name resolution to the end of the response. */
export const ATTEMPT_TIMEOUT_MS = 10_000;
