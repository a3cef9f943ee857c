import type { Backlog } from "../domain/status.ts";
import type { AccountStore } from "./access/accounts.ts";
import type { KeyStore } from "./access/keys.ts";
import type { ProjectStore } from "./access/projects.ts";
import type { TierStore } from "./access/tiers.ts";
import type { AuditStore } from "./audit/audit.ts";
import type { DeliveryStore } from "./deliveries/deliveries.ts";
import type { EndpointStore } from "./deliveries/endpoints.ts";
import type { SecretStore } from "./deliveries/sealed-secrets.ts";
import type { SendStore } from "./deliveries/sends.ts";
import type { EgressStore } from "./egress/egress.ts";
import type { ForeignSubmissionStore } from "./foreign/foreign-submissions.ts";
import type { HistoryStore } from "./history/history.ts";
import type { JudgementStore } from "./judgements/judgements.ts";
import type { LinkStore } from "./links.ts";
import type { LiveInputStore } from "./live/input.ts";
import type { LiveStore } from "./live/output.ts";
import type { InvitationStore } from "./people/invitations.ts";
import type { PeopleStore } from "./people/people.ts";
import type { SessionStore } from "./people/sessions.ts";
import type { SignInStore } from "./people/sign-ins.ts";
import type { ProblemStore } from "./problems/problems.ts";
import type { QuotaStore } from "./quota/quota.ts";
import type { SandboxStore } from "./sandboxes/sandboxes.ts";
import type { SnapshotRows } from "./sandboxes/snapshots.ts";
import type { JudgementSearchStore } from "./search/judgements.ts";
import type { SandboxSearchStore } from "./search/sandboxes.ts";
import type { SnapshotSearchStore } from "./search/snapshots.ts";
import type { SubmissionSearchStore } from "./search/submissions.ts";
import type { QueueStore } from "./submissions/drop.ts";
import type { RetentionStore } from "./submissions/purge.ts";
import type { SubmissionStore } from "./submissions/submissions.ts";
import type { WorkerStore } from "./workers.ts";

/**
 * The interface of the store for the rest of the service. The differences between database engines are `Abilities`
 * (database/database.ts), so that no other code depends on the name of an engine.
 *
 * The rows of pending submissions are the queue; there is no other queue. Every method that writes is one transaction unless its comment
 * states otherwise. While the database is unavailable, methods that use it throw StoreUnavailable. If a method that makes a change gets an
 * `actor`, its transaction also adds an audit entry. An `actor` is the name of the author, and for a request, also the address of the client.
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
  readonly links: LinkStore;
  readonly retention: RetentionStore;
  readonly submissionSearch: SubmissionSearchStore;
  readonly judgementSearch: JudgementSearchStore;
  readonly sandboxSearch: SandboxSearchStore;
  readonly snapshotSearch: SnapshotSearchStore;
  readonly history: HistoryStore;
  readonly live: LiveStore;
  readonly liveInput: LiveInputStore;
  readonly judgements: JudgementStore;
  readonly foreign: ForeignSubmissionStore;
  readonly problems: ProblemStore;
  readonly sandboxes: SandboxStore;
  readonly snapshots: SnapshotRows;
  readonly egress: EgressStore;

  /** Whether services and workers in other processes, possibly on other machines, can use the same database. */
  readonly manyProcesses: boolean;

  /**
   * Calls the listener when work may be available, because of this process or another one with the same database: a submission was
   * accepted or released, a submission ended (its key may run another one), or a lease was taken away. Notifications have no data and may
   * be spurious: the listener tries to claim work, and waits again if it gets none. It is called in a later iteration of the event loop,
   * at most once per iteration.
   * @returns a function that ends the subscription.
   */
  onWork(listener: () => void): () => void;

  /**
   * Calls the listener when submissions or judgements may have been added. Unlike a listener of `onWork`, it finds them by any read: with
   * one writer, `onWork` announces them before their commit. @returns a function that ends the subscription.
   */
  onAdded(listener: () => void): () => void;

  /** Calls the listener when submissions may have ended. @returns a function that ends the subscription. */
  onEnds(listener: () => void): () => void;

  /** Calls the listener when deliveries may be due. @returns a function that ends the subscription. */
  onDeliveries(listener: () => void): () => void;

  /** Resolves when the database responds. @throws if it does not. */
  ping(): Promise<void>;

  /** Counts waiting and running work of all services and workers. @param accountIds only work of these accounts; undefined for all. */
  backlog(accountIds?: readonly string[]): Promise<Backlog>;

  /** @returns for each verdict, the number of submissions that ended in the last `ms` milliseconds. */
  endedWithin(ms: number): Promise<Record<string, number>>;

  /**
   * Writes a consistent snapshot of the database, line by line; restoreStore (open.ts) restores it with any engine.
   * @param write awaited before the next line is written. @returns the number of rows.
   */
  backup(write: (line: string) => Promise<void>): Promise<number>;

  /** Makes all waits for the end of submissions return, then closes the database. No method may be called afterwards. */
  close(): Promise<void>;
}
