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
} from "./admin-port.ts";
import type { Room } from "./delivery-share.ts";
import type { HistoryStore, LiveStore, RecordStore } from "./observe-port.ts";
import type { InvitationStore, PeopleStore, SessionStore, SignInStore } from "./people-port.ts";

/**
 * What the rest of the service may ask of the store. One port, several engines:
 * what an engine can or cannot do is a named ability (engine.ts), never its name.
 *
 * The submission row is the job: there is no second queue. Every method is one
 * transaction. Any of them throws StoreUnavailable while the database does not answer.
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

  /** Whether services and workers in other processes, on other machines too, may use the same database. */
  readonly manyProcesses: boolean;

  /**
   * Calls back when work may be available: a submission was accepted or given back,
   * a running one ended (its key may run another now), or a lease was taken back; here or
   * in another process of the same database.
   * A wake-up carries no data and may be spurious: claim, and go back to sleep on [].
   * Called in a later turn of the event loop, at most once per turn.
   * @returns a function that ends the subscription.
   */
  onWork(listener: () => void): () => void;

  /** The same for deliveries: one may be due now. */
  onDeliveries(listener: () => void): () => void;

  /** Resolves once the database answers. @throws when it does not. */
  ping(): Promise<void>;

  /** What waits and what runs, of all services. @param accountIds of these accounts alone. */
  backlog(accountIds?: readonly string[]): Promise<Backlog>;

  /** @returns how many submissions have ended in the last `ms` milliseconds, by verdict. */
  endedWithin(ms: number): Promise<Record<string, number>>;

  /**
   * Everything in the database at one moment, line by line; what restoreStore (open.ts) takes back, on any engine.
   * @param write is waited for before the next line. @returns the number of rows.
   */
  backup(write: (line: string) => Promise<void>): Promise<number>;

  /** Wakes every waiter, then closes the database. Nothing may be called afterwards. */
  close(): Promise<void>;
}

/** A claimed submission and the proof that it is ours. */
export interface Claim {
  readonly submission: Submission;
  readonly program: Program;
  readonly lease: Lease;
  /** Somebody may be watching: what it writes is said as it comes, to `live`. */
  readonly live: boolean;
}

/**
 * The right to finish one attempt. It is a fence: once the lease was taken back,
 * whoever still holds this object can change nothing.
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
  /** Null: never a duplicate. */
  readonly idempotency: { readonly key: string; readonly requestHash: string } | null;
  /** Pending submissions of all keys that the queue may hold; an account has at most half of the places (enqueue.ts). */
  readonly maxPending: number;
  /** Nothing new is accepted: only a known idempotency key has an answer. */
  readonly onlyKnown?: boolean;
  /** Somebody may watch it run. */
  readonly live?: boolean;
}

export type Enqueued =
  /** `queueDepth`: pending submissions, this one included. */
  | { readonly kind: "enqueued"; readonly submission: Submission; readonly queueDepth: number }
  /** The idempotency key is known with the same request: the submission as it stands now, without its outcome. */
  | { readonly kind: "duplicate"; readonly submission: Submission; readonly queueDepth: number }
  /** The idempotency key is known with another request. */
  | { readonly kind: "conflict" }
  /** With `onlyKnown`: there is none of that idempotency key. */
  | { readonly kind: "unknown" }
  /** The key was revoked, or has expired, since it was authenticated. */
  | { readonly kind: "revoked" }
  /** The account was suspended since the key was authenticated. */
  | { readonly kind: "suspended" }
  /** No place is left for this account; another one may find a place. */
  | { readonly kind: "full"; readonly queueDepth: number };

export interface Swept {
  /** Given back to the queue. */
  readonly requeued: readonly string[];
  /** Ended as `error`: out of attempts, or not repeatable. */
  readonly failed: readonly string[];
}

/** Resolves when the reader may hold that many bytes of output; its error is the reader's answer. */
export type Admit = (bytes: number) => Promise<void>;

export interface SubmissionStore {
  enqueue(request: Enqueue): Promise<Enqueued>;

  /**
   * Takes up to `max` pending submissions: status `running`, `startedAtMs` set, leased.
   * Fair between accounts (the one with the fewest running goes first, then the one that was served longest ago), by
   * the same rules between the keys of an account, oldest first within a key. Never more than a key's concurrency, and
   * nothing of a suspended account.
   * @param leaseMs how long the lease holds unless renewed.
   * @returns [] when there is nothing that may run now.
   */
  claim(workerId: string, leaseMs: number, max?: number): Promise<Claim[]>;

  /**
   * Says that its holder lives, for another `leaseMs`.
   * @returns false when the lease is no longer ours: stop the run and forget it.
   */
  renew(lease: Lease, leaseMs: number): Promise<boolean>;

  /**
   * Records how it ended, and wakes whoever waits for it.
   * @returns false, and changes nothing, when the lease is no longer ours.
   */
  finish(lease: Lease, outcome: Outcome): Promise<boolean>;

  /**
   * Gives it back when draining: `pending` again, and the attempt is not counted. An agent
   * run that had begun may have had outside effects; it becomes `error` instead.
   * @param begun whether any of the program's code may have run.
   * @returns false, and changes nothing, when the lease is no longer ours.
   */
  release(lease: Lease, begun: boolean): Promise<boolean>;

  /**
   * Gives a run back that the platform failed, to be run once more: `pending` again, and the attempt
   * counts. Only a judge run, which has no outside effect, and only while it has attempts left.
   * @returns false, and changes nothing, when that does not hold, or the lease is no longer ours.
   */
  repeat(lease: Lease): Promise<boolean>;

  /**
   * Takes back what nobody has renewed for `leaseMs`, as calls of this method on this store have seen it: the
   * first one sees nothing old, and so does one that comes later than a lease after the one before. A judge run
   * is repeated until its attempts are used up, because it has no outside effect; an agent run, which may have
   * had some, is never repeated. Both end as `error` then.
   */
  sweep(leaseMs: number): Promise<Swept>;

  /** The same with all that runs, for who knows that no holder lives. */
  sweepAll(): Promise<Swept>;

  /**
   * @param admit asked before a large output is read.
   * @returns undefined for an unknown id and for another account's submission alike.
   */
  get(id: string, accountId: string, admit?: Admit): Promise<Submission | undefined>;

  /**
   * Resolves with the submission once it is terminal, woken by `finish`, without polling;
   * or with it as it stands when `signal` aborts or the store closes.
   * @param admit asked before a large output is read.
   */
  whenTerminal(id: string, accountId: string, signal: AbortSignal, admit?: Admit): Promise<Submission | undefined>;

  /** @returns pending submissions of all keys. */
  depth(): Promise<number>;
}

/** What an attempt needs to know, and the proof that it is ours: a fence, as a Lease is. */
export interface DeliveryClaim {
  readonly id: string;
  /** Differs in every claim of the delivery. */
  readonly fence: number;
  /** The number of the attempt: 1 for the first. */
  readonly attempt: number;
  readonly kind: DeliveryKind;
  readonly messageId: string;
  /** Whose endpoint it is. */
  readonly accountId: string;
  /** At most so many has the body. */
  readonly bodyBytes: number;
  readonly endpoint: {
    readonly id: string;
    readonly url: string;
    /** Sealed; the endpoint's own first, then those that a rotation replaced and that have not ended. */
    readonly secrets: readonly Buffer[];
    readonly signing: Signing;
  };
}

/** `replay`: the same message again, because an operator asked for it. */
export type DeliveryKind = "result" | "replay" | "test";

/** What is sent: a submission that has ended, or the body of a test. */
export type Message = { readonly submission: Submission } | { readonly body: Buffer };

/** A delivery as an operator sees it. */
export interface Delivery {
  readonly id: string;
  /** Rises from one to the next; not without gaps. */
  readonly seq: number;
  readonly endpointId: string;
  /** Where it goes. */
  readonly url: string;
  /** Whose endpoint it is or was. */
  readonly accountId: string;
  /** Null for a test. */
  readonly submissionId: string | null;
  readonly messageId: string;
  readonly kind: DeliveryKind;
  readonly state: "pending" | "delivered" | "failed";
  readonly createdAtMs: number;
  /** When the next attempt is due; null when it is over. */
  readonly nextAtMs: number | null;
  readonly endedAtMs: number | null;
  /** Why it failed without an attempt; else null. */
  readonly reason: string | null;
  /** In order; the first is number 1. */
  readonly attempts: readonly Attempt[];
}

export type RecentDeliveries = Readonly<Record<Delivery["state"], number>>;

/**
 * The outbox. Rows come into being in the transaction that ends a submission, one for each
 * active endpoint of its project, so that a crash neither loses nor repeats a schedule.
 * Several processes may serve it.
 */
/** What members can have sent to endpoints. */
export type SendKind = "tests" | "replays";

/** Requests of members to send something, counted for all processes. */
export interface SendStore {
  /**
   * Counts a request of the account, unless there were `limit` in the last minute.
   * @returns 0, or the seconds after which there is room.
   */
  take(accountId: string, kind: SendKind, limit: number): Promise<number>;

  /** Removes what no longer counts. To be called now and then. */
  forget(): Promise<void>;
}

/** How many replayed deliveries an account may have. */
export interface ReplayBounds {
  /** At once, from the request to the last attempt. */
  readonly pending: number;
  readonly perMinute: number;
}

export interface DeliveryStore {
  /**
   * Takes deliveries that are due for the room that the process has, shared by account and then by endpoint; see
   * delivery-share.ts. One whose holder vanished is due again when its lease has run out: a receiver may see an attempt
   * twice, never none. Those that cannot be sent any more (their endpoint was removed or is not active) end here.
   */
  claimDue(request: Room & { readonly leaseMs: number }): Promise<DeliveryClaim[]>;

  /** What to send; undefined when it was deleted meanwhile. */
  message(claim: DeliveryClaim): Promise<Message | undefined>;

  /** @returns false, and changes nothing, when the claim is no longer ours. */
  recordAttempt(claim: DeliveryClaim, attempt: Attempt, next: Next): Promise<boolean>;

  /** Gives an attempt back that nothing is known of: it is due at once. @returns false when it is no longer ours. */
  release(claim: DeliveryClaim): Promise<boolean>;

  /** @returns the first moment after `afterMs` at which something is due, or a lease runs out; null: nothing waits. */
  nextDueMs(afterMs: number): Promise<number | null>;

  /**
   * Newest first.
   * @param which.before only those with a lower `seq`; `accountIds`: only those to endpoints of one of them, null is all.
   */
  list(which: {
    readonly max: number;
    readonly before?: number | undefined;
    readonly accountIds?: readonly string[] | null | undefined;
    readonly endpointId?: string | undefined;
    readonly submissionId?: string | undefined;
    readonly id?: string | undefined;
  }): Promise<Delivery[]>;

  /** How the newest of each endpoint that was not removed stand, by its id; those that have none are absent. */
  recent(endpointIds: readonly string[]): Promise<ReadonlyMap<string, RecentDeliveries>>;

  /**
   * Sends the same message again, and notes in the audit trail that `actor` asked for it.
   * @returns the new delivery's id; undefined when there is no such one to an active endpoint; null when the bounds are reached.
   */
  replay(id: string, actor: AuditActor, bounds?: ReplayBounds): Promise<string | undefined | null>;

  /**
   * Sends the results again whose newest delivery to an active endpoint has failed, the oldest first. A result that is
   * already sent again is not sent twice, so the same request once more does nothing but what failed meanwhile.
   * Works in short transactions, so that other writers do not wait for a walk through all failed deliveries.
   * @param which.sinceMs only deliveries that were made then or later.
   * @param which.lookAt failed deliveries that one transaction looks at; 5,000 when not set.
   * @param which.onlyIdle refuses while replays to the endpoint are still pending.
   * @param which.bounds of the endpoint's account.
   * @returns how many; with `max` or at a bound, there may be more. Undefined when replays are pending, null when a bound is reached.
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
   * A test message, claimed by whoever adds it and noted in the audit trail; the endpoint need not be active.
   * @returns undefined when there is no such endpoint.
   */
  addTest(
    endpointId: string,
    test: { readonly messageId: string; readonly body: Buffer; readonly leaseMs: number },
    actor: AuditActor,
  ): Promise<DeliveryClaim | undefined>;
}

/** The requests that each key made in the last minute: the same numbers for every process, and over a restart. */
export interface QuotaStore {
  /**
   * Lets one more request of the key through, or not. Exact: in no minute more than the limit go
   * through, whatever process they come to, and a refused one does not count. A limit that
   * changed holds from the next request on, for those before it, too.
   * @param limit requests in any 60 s; it may differ from one call to the next.
   * @param onlyReads where one process serves the database and another one keeps it locked, a request that only reads does not wait:
   * this process decides by what it let through itself, and the request is counted in the database when the lock is free. It may
   * then count for as much longer than a minute as the lock was held, and a restart before that forgets it.
   * @returns 0 when it went through; otherwise the whole seconds after which one will.
   */
  take(keyId: string, limit: number, onlyReads?: boolean): Promise<number>;

  /** Removes what no window needs any more. To be called now and then. */
  forget(): Promise<void>;
}

/** How records come to an end; only terminal ones do. */
export interface RetentionStore {
  /**
   * Removes up to `max` records that ended at that time or before, the oldest first, and as many test messages. One
   * whose result is still to be delivered stays.
   * @returns how many went: fewer than `max` means that nothing older is left.
   */
  purge(beforeMs: number, max: number): Promise<number>;

  /** Notes in the audit trail that an account's records are erased. @returns the time from which on what ends stays. */
  beginErase(accountId: string, actor: AuditActor): Promise<number>;

  /** Removes up to `max` records of an account, undelivered ones too. @returns how many: 0 when nothing is left. */
  erase(accountId: string, endedBeforeMs: number, max: number): Promise<number>;

  /** How many submissions of an account have not ended. */
  unended(accountId: string): Promise<number>;
}

/** What a worker says of itself to services that do not share its process. */
export interface AnnouncedWorker {
  readonly id: string;
  /** Submissions that it can run at once now. */
  readonly slots: number;
  /** Canonical names of the languages that it has proven. */
  readonly languages: readonly string[];
  /** Its newest proof, and when that was made. */
  readonly readiness: Readiness;
  readonly provenAtMs: number;
}

export interface SeenWorker extends AnnouncedWorker {
  /** Another one after every word of the worker; by its clock, the end of what it said last. */
  readonly untilMs: number;
}

export interface WorkerStore {
  /** Says what the worker is now; to be said again within `leaseMs`. */
  announce(worker: AnnouncedWorker, leaseMs: number): Promise<void>;

  /** Takes the announcement back. */
  leave(id: string): Promise<void>;

  /** All who are not forgotten yet, dead ones too, longest there first. */
  announced(): Promise<SeenWorker[]>;

  /** Submissions that run, by the id of their worker; of some accounts only, or of all. */
  running(accountIds: readonly string[] | null): Promise<ReadonlyMap<string, number>>;

  /** Asks every worker, in whatever process, for a new proof. */
  askForProof(): Promise<void>;

  /** Calls back when a proof is asked for, as `onWork` does. @returns a function that ends the subscription. */
  onAsked(listener: () => void): () => void;

  /** Calls back when an announcement has changed, as `onWork` does. @returns a function that ends the subscription. */
  onChange(listener: () => void): () => void;
}
