import type { Readiness } from "../domain/readiness.ts";
import type { Backlog } from "../domain/status.ts";
import type { AccountStore, AuditStore, KeyStore, ProjectStore, TierStore } from "./access/port.ts";
import type { EndpointStore, SecretStore } from "./deliveries/endpoint-port.ts";
import type { DeliveryStore, SendStore } from "./deliveries/port.ts";
import type { HistoryStore, LiveStore, RecordStore } from "./history/port.ts";
import type { InvitationStore, PeopleStore, SessionStore, SignInStore } from "./people/port.ts";
import type { QuotaStore, RetentionStore, SubmissionStore } from "./submissions/port.ts";
import type { QueueStore } from "./submissions/queue-port.ts";

/**
 * The interface of the store for the rest of the service. Differences between engines are
 * `Capabilities` (engine/engine.ts), so that no code depends on the name of an engine.
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
