import { sql } from "kysely";
import type { Database } from "../domain/database.ts";
import { type Meter, NO_METER } from "../domain/meter.ts";
import { accountStore } from "./access/accounts.ts";
import { auditStore } from "./access/audit.ts";
import { keyStore } from "./access/keys.ts";
import { projectStore } from "./access/projects.ts";
import { tierStore } from "./access/tiers.ts";
import type { Engine, Listening } from "./database/database.ts";
import { Notifier } from "./database/notifier.ts";
import { openPostgres } from "./database/postgres.ts";
import { openSqlite } from "./database/sqlite.ts";
import { Transactions } from "./database/transactions.ts";
import { deliveryStore } from "./deliveries/deliveries.ts";
import { endpointStore } from "./deliveries/endpoints.ts";
import { secretStore } from "./deliveries/sealed-secrets.ts";
import { sendStore } from "./deliveries/sends.ts";
import { historyStore } from "./history/history.ts";
import { instrumented } from "./instrumented.ts";
import { judge0Store } from "./judge0/judge0.ts";
import { judgementStore } from "./judgements/judgements.ts";
import { liveInputStore } from "./live/input.ts";
import { liveStore } from "./live/output.ts";
import { invitationStore } from "./people/invitations.ts";
import { peopleStore } from "./people/people.ts";
import { sessionStore } from "./people/sessions.ts";
import { signInStore } from "./people/sign-ins.ts";
import { problemStore } from "./problems/problems.ts";
import { backup } from "./schema/backup.ts";
import { migrate } from "./schema/migrate.ts";
import { restore } from "./schema/restore.ts";
import { judgedStore } from "./search/judgements.ts";
import { recordStore } from "./search/submissions.ts";
import { backlog, endedSince } from "./sharing/backlog.ts";
import { quotaStore } from "./sharing/quota.ts";
import type { Store } from "./store.ts";
import { queueStore } from "./submissions/drop.ts";
import { retentionStore } from "./submissions/purge.ts";
import { submissionStore } from "./submissions/submissions.ts";
import { workerStore } from "./workers.ts";

export interface StoreOptions {
  /** The directory of a database file must exist; so must the database on a server. */
  readonly database: Database;
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
  const engine = await openEngine(database);
  try {
    await migrate(engine);
  } catch (error) {
    await engine.db.destroy();
    throw error;
  }
  const store = composeStore(engine, now, steady);
  return meter === NO_METER ? store : instrumented(store, meter);
}

/**
 * Restores a backup into an empty database.
 * @returns the number of rows. @throws StoreError, without changes, for a database that is not empty or an invalid backup.
 */
export async function restoreStore({ database }: StoreOptions, lines: AsyncIterable<string>): Promise<number> {
  const engine = await openEngine(database);
  try {
    return await restore(engine, lines);
  } finally {
    await engine.db.destroy();
  }
}

/** Opens the engine of a database without checking the schema. @throws if it is unusable. */
export function openEngine(database: Database): Engine | Promise<Engine> {
  return database.kind === "sqlite" ? openSqlite(database.path) : openPostgres(database.url);
}

function composeStore(engine: Engine, now: () => number, steady: () => number): Store {
  const { notify } = engine.capabilities;
  let listening: Listening | undefined;
  const wakeups = new Notifier(() => {
    listening = notify?.listen(
      (word) => wakeups.publish(word),
      () => wakeups.sayAll(),
    );
  });
  const transactions = new Transactions(engine, wakeups);
  const submissions = submissionStore(engine, transactions, wakeups, now, steady);
  return {
    submissions: submissions.store,
    queue: queueStore(engine, transactions, now),
    accounts: accountStore(engine, transactions, now),
    deliveries: deliveryStore(engine, transactions, now),
    tiers: tierStore(engine, transactions, now),
    projects: projectStore(engine, transactions, now),
    keys: keyStore(engine, transactions, now),
    endpoints: endpointStore(engine, transactions, now),
    secrets: secretStore(engine, transactions, now),
    audit: auditStore(engine, transactions, now),
    people: peopleStore(engine, transactions, now),
    invitations: invitationStore(engine, transactions, now),
    sessions: sessionStore(engine, transactions, now),
    sends: sendStore(engine, transactions, now),
    signIns: signInStore(engine, transactions, now),
    quota: quotaStore(engine, transactions, now),
    workers: workerStore(engine, transactions, wakeups, now),
    retention: retentionStore(engine, transactions, now),
    records: recordStore(engine),
    judge0: judge0Store(engine),
    judged: judgedStore(engine),
    history: historyStore(engine, transactions, now),
    live: liveStore(engine, transactions, wakeups),
    liveInput: liveInputStore(engine, transactions, wakeups),
    judgements: judgementStore(engine, transactions, wakeups, now),
    problems: problemStore(engine, transactions, now),
    manyProcesses: notify !== null,
    onWork: (listener) => wakeups.on("work", listener),
    onEnds: (listener) => wakeups.on("ends", listener),
    onDeliveries: (listener) => wakeups.on("deliveries", listener),
    backup: (write) => backup(engine, now, write),
    backlog: (accountIds) => backlog(engine.db, now(), accountIds),
    endedWithin: (ms) => endedSince(engine.db, now() - ms),
    async ping() {
      await sql`select 1`.execute(engine.db);
    },
    async close() {
      try {
        await submissions.close();
        await listening?.stop();
        // After all commits under way.
        await transactions.run(async () => {});
      } finally {
        await engine.db.destroy();
      }
    },
  };
}
