import type { Status } from "../../domain/submission.ts";

export interface LivePiece {
  readonly stream: "stdout" | "stderr";
  /** Offset in the stream, in bytes. */
  readonly at: number;
  readonly bytes: Buffer;
}

/** The position of a piece in the live output of a submission: the fence of its attempt, and its number in the attempt. */
export interface LiveMark {
  readonly fence: number;
  readonly n: number;
}

export interface LiveOutput {
  /** Set if there is output that was not read, because `admit` returned false. */
  readonly isWithheld?: true;
  readonly status: Status;
  /** The fence of the last attempt; 0 before the first one. */
  readonly fence: number;
  /** The pieces after the mark, in order. If the run is repeated, `at` starts at 0 again. */
  readonly pieces: readonly (LivePiece & LiveMark)[];
}
