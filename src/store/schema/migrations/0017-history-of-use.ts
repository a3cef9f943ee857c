import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Adds the history by key, of deliveries, and of queue and slots, and indexes by account, so that rows of other accounts do not matter. */
export async function historyOfUse(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  // Null in rows of earlier releases: the migration that added the column has counted these submissions by key, if
  // they had started.
  await trx.schema.alterTable("uncounted").addColumn("key_id", "text").execute();
  await trx.schema
    // The number of ended submissions by key.
    .createTable("history_keys")
    .addColumn("at", "bigint", (c) => c.notNull())
    .addColumn("account_id", "text", (c) => c.notNull())
    .addColumn("key_id", "text", (c) => c.notNull())
    .addColumn("verdict", "text", (c) => c.notNull())
    .addColumn("amount", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("history_keys_pk", ["at", "account_id", "key_id", "verdict"])
    .execute();

  await trx.schema
    // Ended deliveries that the history has yet to count.
    .createTable("uncounted_deliveries")
    .addColumn("delivery_seq", columns.sequenceType, (c) => c.primaryKey())
    .addColumn("endpoint_id", "text", (c) => c.notNull())
    // `delivered` or `failed`.
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("ended_at", "bigint", (c) => c.notNull())
    .execute();
  await trx.schema
    // The number of ended deliveries by endpoint and state.
    .createTable("history_deliveries")
    .addColumn("at", "bigint", (c) => c.notNull())
    // The account of the endpoint.
    .addColumn("account_id", "text", (c) => c.notNull())
    .addColumn("endpoint_id", "text", (c) => c.notNull())
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("amount", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("history_deliveries_pk", ["at", "account_id", "endpoint_id", "state"])
    .execute();

  await trx.schema
    // The most submissions that were pending, and that were running, at one time in the minute or hour that begins at
    // `at`.
    .createTable("history_load")
    .addColumn("at", "bigint", (c) => c.notNull())
    // Empty for the whole service, which has a row even if nothing was pending or running.
    .addColumn("account_id", "text", (c) => c.notNull())
    .addColumn("pending", "bigint", (c) => c.notNull())
    .addColumn("running", "bigint", (c) => c.notNull())
    // The slots of all workers; 0 in rows of an account.
    .addColumn("slots", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("history_load_pk", ["at", "account_id"])
    .execute();

  for (const table of ["history", "history_times", "history_keys", "history_deliveries", "history_load"])
    await trx.schema.createIndex(`${table}_account`).on(table).columns(["account_id", "at"]).execute();

  // Earlier ends are counted by key here, even those in `uncounted`: their rows there have no key, so they are not counted by key again.
  await sql`
    insert into history_keys (at, account_id, key_id, verdict, amount)
    select completed_at - completed_at % 60000, account_id, key_id, verdict, count(*) from submissions
    where completed_at is not null and started_at is not null and verdict is not null group by 1, 2, 3, 4`.execute(trx);
  await sql`
    insert into history_deliveries (at, account_id, endpoint_id, state, amount)
    select ended_at - ended_at % 60000, projects.account_id, endpoint_id, state, count(*) from deliveries
    join endpoints on endpoints.id = endpoint_id join projects on projects.id = endpoints.project_id
    where ended_at is not null and state <> 'pending' group by 1, 2, 3, 4`.execute(trx);
}
