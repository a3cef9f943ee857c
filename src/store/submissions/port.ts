import type { AuditActor } from "../../domain/audit.ts";
import type { Outcome } from "../../domain/outcome.ts";
import type { Program, Submission } from "../../domain/submission.ts";

/** A claimed submission with its lease. */
export interface Claim {
  readonly submission: Submission;
  readonly program: Program;
  readonly lease: Lease;
  /** Whether its output is stored in `live` during the run, because a user may watch it. */
  readonly live: boolean;
}

/**
 * The right to finish one attempt. Its fence makes it void once the lease has been taken away:
 * methods with a void lease change nothing.
 */
export interface Lease {
  readonly submissionId: string;
  readonly workerId: string;
  /** Differs in every claim of the submission. */
  readonly fence: number;
  /** 1 for the first run. */
  readonly attempt: number;
}

export interface Enqueue {
  readonly submission: Submission;
  readonly program: Program;
  /** Null for a request that is never a duplicate. */
  readonly idempotency: { readonly key: string; readonly requestHash: string } | null;
  /** Maximum number of pending submissions of all keys; an account gets at most half of it (enqueue.ts). */
  readonly maxPending: number;
  /** Accepts no new submission; finds only a known idempotency key. */
  readonly onlyKnown?: boolean;
  /** Whether a user may watch the run. */
  readonly live?: boolean;
}

export type Enqueued =
  /** `queueDepth`: pending submissions, including this one. */
  | { readonly kind: "enqueued"; readonly submission: Submission; readonly queueDepth: number }
  /** The idempotency key is known with the same request: the submission in its present state, without its outcome. */
  | { readonly kind: "duplicate"; readonly submission: Submission; readonly queueDepth: number }
  /** The idempotency key is known with another request. */
  | { readonly kind: "conflict" }
  /** With `onlyKnown`: the idempotency key is unknown. */
  | { readonly kind: "unknown" }
  /** The key was revoked or expired after its authentication. */
  | { readonly kind: "revoked" }
  /** The account was suspended after the authentication. */
  | { readonly kind: "suspended" }
  /** No place is left for this account; other accounts may still have places. */
  | { readonly kind: "full"; readonly queueDepth: number };

export interface Swept {
  /** Pending again. */
  readonly requeued: readonly string[];
  /** Ended as `error`: no attempts left, or not repeatable. */
  readonly failed: readonly string[];
}

/** Resolves when the reader may hold that many bytes of output; the read fails with its error. */
export type Admit = (bytes: number) => Promise<void>;

export interface SubmissionStore {
  enqueue(request: Enqueue): Promise<Enqueued>;

  /**
   * Claims up to `max` pending submissions: sets status `running` and `startedAtMs`, and leases them.
   * The order is fair between accounts (fewest running first, then least recently served), by the same rules between the
   * keys of an account, and oldest first within a key. It respects the concurrency of keys and skips suspended accounts.
   * @param leaseMs duration of the lease unless renewed.
   * @returns [] if no submission may run now.
   */
  claim(workerId: string, leaseMs: number, max?: number): Promise<Claim[]>;

  /**
   * Extends the lease by `leaseMs`: the heartbeat of its holder.
   * @returns false for a void lease: the caller stops the run.
   */
  renew(lease: Lease, leaseMs: number): Promise<boolean>;

  /**
   * Stores the outcome and wakes waiters.
   * @returns false, without changes, for a void lease.
   */
  finish(lease: Lease, outcome: Outcome): Promise<boolean>;

  /**
   * Releases the submission of a draining worker: `pending` again, without counting the attempt.
   * An agent run that has begun becomes `error` instead, because it may have had outside effects.
   * @param begun whether code of the program may have run.
   * @returns false, without changes, for a void lease.
   */
  release(lease: Lease, begun: boolean): Promise<boolean>;

  /**
   * Requeues a run that the platform failed: `pending` again, and the attempt counts. Only for a
   * judge run, which has no outside effects, and while attempts are left.
   * @returns false, without changes, if this does not hold or the lease is void.
   */
  repeat(lease: Lease): Promise<boolean>;

  /**
   * Takes away leases that were not renewed for `leaseMs`, as observed by the calls of this method on this store: the
   * first call finds none, nor does a call later than a lease after the previous one. A judge run is requeued while
   * attempts are left, because it has no outside effects. An agent run may have had some and is never requeued.
   * All others end as `error`.
   */
  sweep(leaseMs: number): Promise<Swept>;

  /** The same for all running submissions, for a caller that is certain that no holder is alive. */
  sweepAll(): Promise<Swept>;

  /**
   * @param admit awaited before a large output is read.
   * @returns undefined for an unknown id and for a submission of another account.
   */
  get(id: string, accountId: string, admit?: Admit): Promise<Submission | undefined>;

  /**
   * Resolves with the submission once it is terminal, without polling, or with its present state
   * when `signal` aborts or the store closes.
   * @param admit awaited before a large output is read.
   */
  whenTerminal(id: string, accountId: string, signal: AbortSignal, admit?: Admit): Promise<Submission | undefined>;

  /** @returns pending submissions of all keys. */
  depth(): Promise<number>;
}

/** Counts the requests of each key in the last minute, over all processes and restarts. */
export interface QuotaStore {
  /**
   * Admits one more request of the key, or refuses it. The sliding limit is exact over all processes, and refused
   * requests do not count. A changed limit applies from the next request on, and also to requests before it.
   * @param limit requests in any 60 s; it may differ between calls.
   * @param onlyReads if a single process serves the database and another one keeps it locked, a request that only reads does
   * not wait: this process decides by the requests that it admitted itself, and counts the request in the database when the
   * lock is free. The request may then count longer than a minute, by the duration of the lock, and a restart before that
   * loses it.
   * @returns 0 if admitted, otherwise the whole seconds until a request will be.
   */
  take(keyId: string, limit: number, onlyReads?: boolean): Promise<number>;

  /** Removes requests outside of the window. To be called periodically. */
  forget(): Promise<void>;
}

/** Deletes records; only terminal ones. */
export interface RetentionStore {
  /**
   * Deletes up to `max` records that ended at that time or before, oldest first, and as many test messages. A record with
   * a pending delivery stays.
   * @returns the number of deleted records; fewer than `max` if no older ones are left.
   */
  purge(beforeMs: number, max: number): Promise<number>;

  /** Adds an audit entry for the erasure of an account's records. @returns the time from which later ends are kept. */
  beginErase(accountId: string, actor: AuditActor): Promise<number>;

  /** Deletes up to `max` records of an account, including undelivered ones. @returns their number; 0 if none is left. */
  erase(accountId: string, endedBeforeMs: number, max: number): Promise<number>;

  /** Number of submissions of an account that have not ended. */
  unended(accountId: string): Promise<number>;
}
