import type { Program, Status, Submission } from "../domain/submission.ts";
import type { Admit, Lease } from "./port.ts";

/** The part of the port (port.ts) that people look through. */

/** What has ended, by time. It stays when records go. */
export interface HistoryStore {
  /**
   * Counts up to `max` submissions that have ended, each once, whichever process ended it and whoever counts.
   * @returns how many: fewer than `max` means that all are counted.
   */
  count(max: number): Promise<number>;

  /** Joins the minutes before one time into hours, and forgets what was before another. */
  shrink(times: { readonly hoursBeforeMs: number; readonly forgetBeforeMs: number }): Promise<void>;

  /** What ended since `fromMs`, by multiples of `bucketMs`. @param which.accountIds null: all. */
  read(which: {
    readonly fromMs: number;
    readonly bucketMs: number;
    readonly accountIds: readonly string[] | null;
  }): Promise<Counts>;
}

export interface Counts {
  readonly ended: readonly { readonly at: number; readonly verdict: string; readonly amount: number }[];
  /** `wait`: from accepted to begun; `run`: from begun to ended; bins as in src/domain/history.ts. */
  readonly times: readonly {
    readonly at: number;
    readonly kind: "wait" | "run";
    readonly bin: number;
    readonly amount: number;
  }[];
}

export interface LivePiece {
  readonly stream: "stdout" | "stderr";
  /** Where in the stream it begins, in bytes. */
  readonly at: number;
  readonly bytes: Buffer;
}

/** How far somebody has seen a run. */
export interface LiveMark {
  readonly fence: number;
  readonly n: number;
}

export interface LiveLook {
  readonly status: Status;
  /** Those after the mark, in order. A run that began again has begun with nothing: its pieces begin at 0 again. */
  readonly pieces: readonly (LivePiece & LiveMark)[];
}

/** What runs write, while they run and somebody may be watching. Gone when they ended. */
export interface LiveStore {
  /**
   * Adds what a run has written since the last time. @param n of the first piece: counts up.
   * @returns false, and adds nothing, when the lease is no longer ours.
   */
  append(lease: Lease, n: number, pieces: readonly LivePiece[]): Promise<boolean>;

  /** @returns undefined when there is no such submission. */
  look(id: string, seen: LiveMark | null): Promise<LiveLook | undefined>;

  /** Calls back when it has begun, written something or ended, as `onWork` does. @returns a function that ends the subscription. */
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
  /** Null: all. */
  readonly accountIds: readonly string[] | null;
  readonly id?: string | undefined;
  readonly verdict?: string | undefined;
  readonly status?: string | undefined;
  readonly language?: string | undefined;
  readonly keyId?: string | undefined;
  readonly projectId?: string | undefined;
  /** When it was accepted. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Where the search before ended. */
  readonly before?: number | undefined;
  readonly max: number;
}

export interface RecordStore {
  /**
   * Newest first. However rare what is sought, one search looks at a bounded number of submissions of an account.
   * @returns `next`: where this one ended; null: nothing older is there.
   */
  search(which: Search): Promise<{ readonly found: readonly FoundSubmission[]; readonly next: number | null }>;

  /**
   * @param accountIds null: of any account. @param admit asked before a large output is read.
   * @returns undefined for an unknown id and for another account's submission alike.
   */
  read(
    id: string,
    accountIds: readonly string[] | null,
    admit?: Admit,
  ): Promise<
    { readonly found: FoundSubmission; readonly submission: Submission; readonly program: Program } | undefined
  >;
}
