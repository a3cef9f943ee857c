import type { AuditActor } from "../domain/audit.ts";
import type { Attempt, Next } from "../domain/delivery.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Readiness } from "../domain/readiness.ts";
import type { Backlog } from "../domain/status.ts";
import type { Program, Submission } from "../domain/submission.ts";
import type { Signing } from "../domain/webhook.ts";
import type {
  AccountStore,
  AuditStore,
  EndpointStore,
  KeyStore,
  ProjectStore,
  QueueStore,
  SecretStore,
  TierStore,
} from "./access/port.ts";
import type { Room } from "./deliveries/delivery-share.ts";
import type { HistoryStore, LiveStore, RecordStore } from "./history/port.ts";
import type { InvitationStore, PeopleStore, SessionStore, SignInStore } from "./people/port.ts";

/**
 * The interface of the store for the rest of the service. Differences between engines are
 * named abilities (engine.ts), so that no code depends on the name of an engine.
 *
 * The submission row is the job; there is no separate queue. Every method is one transaction
 * unless its comment states otherwise, and throws StoreUnavailable while the database is
 * unavailable.
 */
export interface Store {
  readonly submissions: SubmissionStore;
  readonly queue: QueueStore;
  readonly accounts: AccountStore;
  readonly tiers: TierStore;
  readonly projects: ProjectStore;
  readonly keys: KeyStore;
  readonly endpoints: EndpointStore;
  readonly secrets: SecretStore;
  readonly audit: AuditStore;
  readonly people: PeopleStore;
  readonly invitations: InvitationStore;
  readonly sessions: SessionStore;
  readonly signIns: SignInStore;
  readonly sends: SendStore;
  readonly deliveries: DeliveryStore;
  readonly quota: QuotaStore;
  readonly workers: WorkerStore;
  readonly retention: RetentionStore;
  readonly records: RecordStore;
  readonly history: HistoryStore;
  readonly live: LiveStore;

  /** Whether services and workers in other processes, possibly on other machines, can use the same database. */
  readonly manyProcesses: boolean;

  /**
   * Calls back when work may be available, in this or another process of the database: a
   * submission was accepted or released, a run ended (its key may run another one), or a lease
   * expired. Notifications have no data and may be spurious: the listener claims, and waits again
   * on [].
   * Called in a later iteration of the event loop, at most once per iteration.
   * @returns a function that ends the subscription.
   */
  onWork(listener: () => void): () => void;

  /** The same for deliveries that may be due. */
  onDeliveries(listener: () => void): () => void;

  /** Resolves when the database responds. @throws if it does not. */
  ping(): Promise<void>;

  /** Waiting and running work of all services. @param accountIds only these accounts. */
  backlog(accountIds?: readonly string[]): Promise<Backlog>;

  /** @returns the number of submissions by verdict that ended in the last `ms` milliseconds. */
  endedWithin(ms: number): Promise<Record<string, number>>;

  /**
   * Writes a consistent snapshot of the database, line by line; restoreStore (open.ts) restores it on any engine.
   * @param write awaited before the next line. @returns the number of rows.
   */
  backup(write: (line: string) => Promise<void>): Promise<number>;

  /** Wakes all waiters, then closes the database. No method may be called afterwards. */
  close(): Promise<void>;
}

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

/** The data of a claimed attempt, with a fence like that of a Lease. */
export interface DeliveryClaim {
  readonly id: string;
  /** Differs in every claim of the delivery. */
  readonly fence: number;
  /** The number of the attempt: 1 for the first. */
  readonly attempt: number;
  readonly kind: DeliveryKind;
  readonly messageId: string;
  /** The account of the endpoint. */
  readonly accountId: string;
  /** Upper bound of the body's size. */
  readonly bodyBytes: number;
  readonly endpoint: {
    readonly id: string;
    readonly url: string;
    /** Sealed; the current secret first, then replaced ones that are still valid. */
    readonly secrets: readonly Buffer[];
    readonly signing: Signing;
  };
}

/** `replay`: the same message again, on request. */
export type DeliveryKind = "result" | "replay" | "test";

/** The message of a delivery: an ended submission, or the body of a test. */
export type Message = { readonly submission: Submission } | { readonly body: Buffer };

/** A delivery for lists and pages. */
export interface Delivery {
  readonly id: string;
  /** Increasing, with gaps. */
  readonly seq: number;
  readonly endpointId: string;
  readonly url: string;
  /** The account of the endpoint. */
  readonly accountId: string;
  /** Null for a test. */
  readonly submissionId: string | null;
  readonly messageId: string;
  readonly kind: DeliveryKind;
  readonly state: "pending" | "delivered" | "failed";
  readonly createdAtMs: number;
  /** Time of the next attempt; null for an ended delivery. */
  readonly nextAtMs: number | null;
  readonly endedAtMs: number | null;
  /** The reason for a failure without an attempt, otherwise null. */
  readonly reason: string | null;
  /** In order; the first is number 1. */
  readonly attempts: readonly Attempt[];
}

export type RecentDeliveries = Readonly<Record<Delivery["state"], number>>;

/** Kinds of messages that members can send to endpoints. */
export type SendKind = "tests" | "replays";

/** Counts the send requests of members over all processes. */
export interface SendStore {
  /**
   * Counts a request of the account, unless it had `limit` requests in the last minute.
   * @returns 0, or the seconds until the next request is allowed.
   */
  take(accountId: string, kind: SendKind, limit: number): Promise<number>;

  /** Removes requests that no longer count. To be called periodically. */
  forget(): Promise<void>;
}

/** Limits of replayed deliveries per account. */
export interface ReplayBounds {
  /** Pending at the same time, from the request to the last attempt. */
  readonly pending: number;
  readonly perMinute: number;
}

/**
 * The outbox. The transaction that ends a submission inserts a row for each active endpoint of its
 * project, so that a crash neither loses nor duplicates deliveries. Several processes can serve it.
 */
export interface DeliveryStore {
  /**
   * Claims due deliveries within the free capacity of the process, shared by account and then by endpoint; see
   * delivery-share.ts. After the loss of its holder, a delivery is due again when its lease has expired: a receiver may
   * see an attempt twice, but never none. Deliveries to removed or inactive endpoints end here.
   */
  claimDue(request: Room & { readonly leaseMs: number }): Promise<DeliveryClaim[]>;

  /** The message to send; undefined if it has been deleted. */
  message(claim: DeliveryClaim): Promise<Message | undefined>;

  /** @returns false, without changes, for a void claim. */
  recordAttempt(claim: DeliveryClaim, attempt: Attempt, next: Next): Promise<boolean>;

  /** Releases an attempt with an unknown result: it is due at once. @returns false for a void claim. */
  release(claim: DeliveryClaim): Promise<boolean>;

  /** @returns the first time after `afterMs` at which a delivery is due or a lease expires; null if none waits. */
  nextDueMs(afterMs: number): Promise<number | null>;

  /**
   * Newest first.
   * @param which.before only deliveries with a lower `seq`; `accountIds`: only endpoints of these accounts, null for all.
   */
  list(which: {
    readonly max: number;
    readonly before?: number | undefined;
    readonly accountIds?: readonly string[] | null | undefined;
    readonly endpointId?: string | undefined;
    readonly submissionId?: string | undefined;
    readonly id?: string | undefined;
  }): Promise<Delivery[]>;

  /** States of the newest deliveries by endpoint id; removed endpoints and endpoints without deliveries are absent. */
  recent(endpointIds: readonly string[]): Promise<ReadonlyMap<string, RecentDeliveries>>;

  /**
   * Adds a delivery of the same message, with an audit entry for `actor`.
   * @returns the id of the new delivery; undefined without such a delivery to an active endpoint; null at the bounds.
   */
  replay(id: string, actor: AuditActor, bounds?: ReplayBounds): Promise<string | undefined | null>;

  /**
   * Replays the results whose newest delivery to an active endpoint has failed, oldest first. A result with a pending
   * replay is skipped, so a repeated request replays only newly failed deliveries.
   * Uses several short transactions, so that other writers do not wait for a scan of all failed deliveries.
   * @param which.sinceMs only deliveries created at this time or later.
   * @param which.lookAt failed deliveries that one transaction reads; 5,000 by default.
   * @param which.onlyIdle does nothing while replays to the endpoint are pending.
   * @param which.bounds limits of the endpoint's account.
   * @returns the number of replays; there may be more after `max` or at a bound. Undefined while replays are pending, null
   * at a bound.
   */
  replayFailed(
    which: {
      readonly endpointId?: string | undefined;
      readonly sinceMs: number;
      readonly max: number;
      readonly onlyIdle?: boolean | undefined;
      readonly lookAt?: number;
      readonly bounds?: ReplayBounds | undefined;
    },
    actor: AuditActor,
  ): Promise<number | undefined | null>;

  /**
   * Adds a test message, claimed for the caller, with an audit entry; the endpoint need not be active.
   * @returns undefined without such an endpoint.
   */
  addTest(
    endpointId: string,
    test: { readonly messageId: string; readonly body: Buffer; readonly leaseMs: number },
    actor: AuditActor,
  ): Promise<DeliveryClaim | undefined>;
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

/** The announcement of a worker to services in other processes. */
export interface AnnouncedWorker {
  readonly id: string;
  /** Submissions that it can run at the same time now. */
  readonly slots: number;
  /** Canonical names of the languages that it has proven. */
  readonly languages: readonly string[];
  /** Its newest proof, with the time of the proof. */
  readonly readiness: Readiness;
  readonly provenAtMs: number;
}

export interface SeenWorker extends AnnouncedWorker {
  /** End of the last announcement by the worker's clock; changes with each announcement. */
  readonly untilMs: number;
}

export interface WorkerStore {
  /** Announces the state of the worker; to be repeated within `leaseMs`. */
  announce(worker: AnnouncedWorker, leaseMs: number): Promise<void>;

  /** Withdraws the announcement. */
  leave(id: string): Promise<void>;

  /** All known workers, including dead ones, oldest first. */
  announced(): Promise<SeenWorker[]>;

  /** Number of running submissions by worker id. @param accountIds only these accounts; null for all. */
  running(accountIds: readonly string[] | null): Promise<ReadonlyMap<string, number>>;

  /** Requests a new proof from every worker in any process. */
  askForProof(): Promise<void>;

  /** Calls back when a proof is requested, like `onWork`. @returns a function that ends the subscription. */
  onAsked(listener: () => void): () => void;

  /** Calls back when an announcement has changed, like `onWork`. @returns a function that ends the subscription. */
  onChange(listener: () => void): () => void;
}
