import { sql } from "kysely";
import { accountStore } from "./accounts.ts";
import { auditStore } from "./audit.ts";
import { deliveryStore } from "./deliveries.ts";
import { endpointStore } from "./endpoints.ts";
import { keyStore } from "./keys.ts";
import { migrate } from "./migrate.ts";
import type { Store } from "./port.ts";
import { projectStore } from "./projects.ts";
import { quotaStore } from "./quota.ts";
import { openSqlite } from "./sqlite.ts";
import { submissionStore } from "./submissions.ts";
import { tierStore } from "./tiers.ts";
import { Transactions } from "./transactions.ts";
import { Wakeups } from "./wakeups.ts";

export interface StoreOptions {
  /** The database file; its directory must exist. */
  readonly path: string;
  /** Milliseconds since the epoch; the wall clock unless a test brings another. */
  readonly now?: () => number;
}

/**
 * Opens the store and brings its schema up to date.
 * @throws when the file cannot be opened, or its schema is newer than this program.
 */
export async function openStore({ path, now = Date.now }: StoreOptions): Promise<Store> {
  const engine = openSqlite(path);
  try {
    await migrate(engine);
  } catch (error) {
    await engine.db.destroy();
    throw error;
  }
  const transactions = new Transactions(engine);
  const wakeups = new Wakeups();
  return {
    submissions: submissionStore(engine, transactions, wakeups, now),
    accounts: accountStore(engine, transactions, now),
    deliveries: deliveryStore(engine, transactions, wakeups, now),
    tiers: tierStore(engine, transactions, now),
    projects: projectStore(engine, transactions, now),
    keys: keyStore(engine, transactions, now),
    endpoints: endpointStore(engine, transactions, now),
    audit: auditStore(engine),
    quota: quotaStore(transactions, now),
    onWork: (listener) => wakeups.onWork(listener),
    onDeliveries: (listener) => wakeups.onDeliveries(listener),
    async ping() {
      await sql`select 1`.execute(engine.db);
    },
    async close() {
      wakeups.wakeAll();
      // Behind whatever is still being committed.
      await transactions.run(async () => {});
      await engine.db.destroy();
    },
  };
}
