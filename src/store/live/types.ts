import type { Status } from "../../domain/submission.ts";

export interface LivePiece {
  readonly stream: "stdout" | "stderr";
  /** Offset in the stream, in bytes. */
  readonly at: number;
  readonly bytes: Buffer;
}

/** Position of a reader in the live output of a run. */
export interface LiveMark {
  readonly fence: number;
  readonly n: number;
}

export interface LiveOutput {
  /** Whether there is output that was not admitted. */
  readonly isWithheld?: true;
  readonly status: Status;
  /** Pieces after the mark, in order. The pieces of a repeated run start at 0 again. */
  readonly pieces: readonly (LivePiece & LiveMark)[];
}
