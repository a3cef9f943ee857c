/** What the receiver of one attempt said, or why it said nothing. */
export interface Attempt {
  /** When it began: milliseconds since the epoch. */
  readonly atMs: number;
  /** Until the answer was read, or given up. */
  readonly latencyMs: number;
  /** The receiver's HTTP status; null when there was none. */
  readonly status: number | null;
  /** What went wrong, in words for an operator; null when nothing did. */
  readonly error: string | null;
  /** How the answer begins, as bytes; null when there was none. */
  readonly answer: Buffer | null;
}

/** What becomes of a delivery after an attempt. */
export type Next =
  | { readonly state: "delivered" | "failed" }
  /** Due again then: milliseconds since the epoch. */
  | { readonly state: "pending"; readonly atMs: number };

/** How long after the end of the attempt before it each attempt begins; so many there are at most. */
export const ATTEMPT_DELAYS_MS = [0, 1_000, 5_000] as const;
