import { sql } from "kysely";
import type { DatabaseLocation } from "../domain/database.ts";
import { type Meter, NO_METER } from "../domain/meter.ts";
import { accountStore } from "./access/accounts.ts";
import { keyStore } from "./access/keys.ts";
import { projectStore } from "./access/projects.ts";
import { tierStore } from "./access/tiers.ts";
import { auditStore } from "./audit/audit.ts";
import { AccountReads } from "./database/account-reads.ts";
import type { Database, Listening } from "./database/database.ts";
import { Notifier } from "./database/notifier.ts";
import { openPostgres } from "./database/postgres.ts";
import { openSqlite } from "./database/sqlite.ts";
import { Transactions } from "./database/transactions.ts";
import { deliveryStore } from "./deliveries/deliveries.ts";
import { endpointStore } from "./deliveries/endpoints.ts";
import { secretStore } from "./deliveries/sealed-secrets.ts";
import { sendStore } from "./deliveries/sends.ts";
import { egressStore } from "./egress/egress.ts";
import { foreignSubmissionStore } from "./foreign/foreign-submissions.ts";
import { historyStore } from "./history/history.ts";
import { instrumented } from "./instrumented.ts";
import { judgementStore } from "./judgements/judgements.ts";
import { linkStore } from "./links.ts";
import { liveInputStore } from "./live/input.ts";
import { liveStore } from "./live/output.ts";
import { invitationStore } from "./people/invitations.ts";
import { peopleStore } from "./people/people.ts";
import { sessionStore } from "./people/sessions.ts";
import { signInStore } from "./people/sign-ins.ts";
import { problemStore } from "./problems/problems.ts";
import { backlog, endedSince } from "./queue/backlog.ts";
import { quotaStore } from "./quota/quota.ts";
import { sandboxStore } from "./sandboxes/sandboxes.ts";
import { snapshotRows } from "./sandboxes/snapshots.ts";
import { backup } from "./schema/backup.ts";
import { migrate } from "./schema/migrate.ts";
import { restore } from "./schema/restore.ts";
import { judgementSearch } from "./search/judgements.ts";
import { sandboxSearch } from "./search/sandboxes.ts";
import { snapshotSearch } from "./search/snapshots.ts";
import { submissionSearch } from "./search/submissions.ts";
import type { Store } from "./store.ts";
import { queueStore } from "./submissions/drop.ts";
import { retentionStore } from "./submissions/purge.ts";
import { submissionStore } from "./submissions/submissions.ts";
import { workerStore } from "./workers.ts";

export interface StoreOptions {
  /** The database to open. The directory of a database file must exist, and so must a database on a server. */
  readonly database: DatabaseLocation;
  /** Wall clock in milliseconds since the epoch; replaceable for tests. */
  readonly now?: () => number;
  /** Monotonic clock in milliseconds; replaceable for tests. */
  readonly steady?: () => number;
  /** Receives the durations of database operations. */
  readonly meter?: Meter;
}

/**
 * Opens the store and brings its schema up to date.
 * @throws if the database is unusable, or its schema is newer than this program.
 */
export async function openStore({
  database,
  now = Date.now,
  steady = () => performance.now(),
  meter = NO_METER,
}: StoreOptions): Promise<Store> {
  const opened = await openDatabase(database);
  try {
    await migrate(opened);
  } catch (error) {
    await opened.db.destroy();
    throw error;
  }
  const store = composeStore(opened, now, steady);
  return meter === NO_METER ? store : instrumented(store, meter);
}

/**
 * Restores a backup into an empty database.
 * @returns the number of rows. @throws StoreError, without changes, for a database that is not empty or an invalid backup.
 */
export async function restoreStore({ database }: StoreOptions, lines: AsyncIterable<string>): Promise<number> {
  const opened = await openDatabase(database);
  try {
    return await restore(opened, lines);
  } finally {
    await opened.db.destroy();
  }
}

/** The module that a thread with a connection to SQLite loads. */
const OPERATIONS_MODULE = new URL("./operations.ts", import.meta.url).href;

/** Opens a database without checking its schema. @throws if it is unusable. */
export function openDatabase(database: DatabaseLocation): Database | Promise<Database> {
  return database.kind === "sqlite" ? openSqlite(database.path, OPERATIONS_MODULE) : openPostgres(database.url);
}

function composeStore(database: Database, now: () => number, steady: () => number): Store {
  const { notify } = database.abilities;
  let listening: Listening | undefined;
  const notifier = new Notifier(() => {
    listening = notify?.listen(
      (notification) => notifier.publish(notification),
      () => notifier.sayAll(),
    );
  });
  const transactions = new Transactions(database, notifier);
  const reads = new AccountReads();
  const submissions = submissionStore(database, transactions, notifier, now, steady);
  return {
    submissions: submissions.store,
    queue: queueStore(database, transactions, now),
    accounts: accountStore(database, transactions, now),
    deliveries: deliveryStore(database, transactions, reads, now),
    tiers: tierStore(database, transactions, now),
    projects: projectStore(database, transactions, now),
    keys: keyStore(database, transactions, now),
    endpoints: endpointStore(database, transactions, now),
    secrets: secretStore(database, transactions, now),
    audit: auditStore(database, transactions, reads, now),
    people: peopleStore(database, transactions, now),
    invitations: invitationStore(database, transactions, now),
    sessions: sessionStore(database, transactions, now),
    sends: sendStore(database, transactions, now),
    signIns: signInStore(database, transactions, now),
    quota: quotaStore(database, transactions, now),
    workers: workerStore(database, transactions, notifier, now),
    links: linkStore(database, transactions, notifier, now),
    retention: retentionStore(database, transactions, now),
    submissionSearch: submissionSearch(database, reads),
    foreign: foreignSubmissionStore(database, reads),
    judgementSearch: judgementSearch(database, reads),
    sandboxSearch: sandboxSearch(database, reads),
    snapshotSearch: snapshotSearch(database, reads),
    history: historyStore(database, transactions, reads, now),
    live: liveStore(database, transactions, notifier),
    liveInput: liveInputStore(database, transactions, notifier),
    judgements: judgementStore(database, transactions, notifier, reads, now),
    problems: problemStore(database, transactions, now),
    snapshots: snapshotRows(database, transactions, now),
    sandboxes: sandboxStore(database, transactions, notifier, now),
    egress: egressStore(database, transactions, now),
    manyProcesses: notify !== null,
    onWork: (listener) => notifier.on("work", listener),
    onAdded: (listener) => notifier.on(database.abilities.oneWriter ? "added" : "work", listener),
    onEnds: (listener) => notifier.on("ends", listener),
    onDeliveries: (listener) => notifier.on("deliveries", listener),
    backup: (write) => backup(database, now, write),
    backlog: (accountIds) => backlog(database.db, now(), accountIds),
    endedWithin: (ms) => endedSince(database.db, now() - ms),
    async ping() {
      await sql`select 1`.execute(database.db);
    },
    async close() {
      try {
        await submissions.close();
        await listening?.stop();
        // With one writer, this waits for all commits under way.
        await transactions.run(async () => {});
      } finally {
        await database.db.destroy();
      }
    },
  };
}
