import type { Program, Status, Submission } from "../../domain/submission.ts";
import type { Admit, Lease } from "../submissions/port.ts";

/** The part of the store's interface (port.ts) for reading history, live output and records. */

/** Aggregates of ended submissions by time. They outlive the records. */
export interface HistoryStore {
  /**
   * Counts up to `max` ended submissions. Each is counted once, over all processes.
   * @returns the number of counted submissions; fewer than `max` if all are counted.
   */
  count(max: number): Promise<number>;

  /** Merges minutes before `hoursBeforeMs` into hours, and deletes everything before `forgetBeforeMs`. */
  shrink(times: { readonly hoursBeforeMs: number; readonly forgetBeforeMs: number }): Promise<void>;

  /** Counts since `fromMs`, in buckets of `bucketMs`. @param which.accountIds null for all. */
  read(which: {
    readonly fromMs: number;
    readonly bucketMs: number;
    readonly accountIds: readonly string[] | null;
  }): Promise<Counts>;
}

export interface Counts {
  readonly ended: readonly { readonly at: number; readonly verdict: string; readonly amount: number }[];
  /** `wait`: from acceptance to start; `run`: from start to end; bins as in src/domain/history.ts. */
  readonly times: readonly {
    readonly at: number;
    readonly kind: "wait" | "run";
    readonly bin: number;
    readonly amount: number;
  }[];
}

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

export interface LiveLook {
  readonly status: Status;
  /** Pieces after the mark, in order. The pieces of a repeated run start at 0 again. */
  readonly pieces: readonly (LivePiece & LiveMark)[];
}

/** The output of watched runs, until their end. */
export interface LiveStore {
  /**
   * Adds new output of a run. @param n increasing number of the first piece.
   * @returns false, without changes, for a void lease.
   */
  append(lease: Lease, n: number, pieces: readonly LivePiece[]): Promise<boolean>;

  /** @returns undefined for an unknown submission. */
  look(id: string, seen: LiveMark | null): Promise<LiveLook | undefined>;

  /** Calls back at the start, new output and the end of a run, like `onWork`. @returns a function that ends the subscription. */
  onChange(id: string, listener: () => void): () => void;
}

interface Named {
  readonly id: string;
  readonly name: string;
}

/** A submission in a list. */
export interface FoundSubmission {
  readonly id: string;
  readonly status: Status;
  readonly verdict: string | null;
  readonly language: string;
  readonly profile: string;
  readonly account: Named;
  readonly project: Named | null;
  readonly key: Named;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly completedAtMs: number | null;
}

export interface Search {
  /** Null for all. */
  readonly accountIds: readonly string[] | null;
  readonly id?: string | undefined;
  readonly verdict?: string | undefined;
  readonly status?: string | undefined;
  readonly language?: string | undefined;
  readonly keyId?: string | undefined;
  readonly projectId?: string | undefined;
  /** Lower bound of the time of acceptance. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** `next` of the previous search. */
  readonly before?: number | undefined;
  readonly max: number;
}

export interface RecordStore {
  /**
   * Newest first. One search reads a bounded number of submissions, however rare the matches are.
   * @returns `next`: where this search ended; null if there is nothing older.
   */
  search(which: Search): Promise<{ readonly found: readonly FoundSubmission[]; readonly next: number | null }>;

  /**
   * @param accountIds null for any account. @param admit awaited before a large output is read.
   * @returns undefined for an unknown id and for a submission of another account.
   */
  read(
    id: string,
    accountIds: readonly string[] | null,
    admit?: Admit,
  ): Promise<
    { readonly found: FoundSubmission; readonly submission: Submission; readonly program: Program } | undefined
  >;
}
