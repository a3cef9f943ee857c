import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Data for the dashboard: an index of submissions by account, the history, and live output. */
export async function history(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  // This is the only index for searches that costs time at every submission: other criteria filter the submissions of the account.
  await trx.schema.createIndex("submissions_account").on("submissions").columns(["account_id", "seq"]).execute();
  // 1 if a user may watch the run, 2 if the client also gives it input; otherwise null.
  await trx.schema.alterTable("submissions").addColumn("live", "integer").execute();

  await trx.schema
    // Ended submissions that the history has yet to count. The submissions themselves may have been deleted.
    .createTable("uncounted")
    .addColumn("submission_seq", columns.sequenceType, (c) => c.primaryKey())
    .addColumn("account_id", "text", (c) => c.notNull())
    .addColumn("language", "text", (c) => c.notNull())
    // See `classOf` (src/domain/history.ts).
    .addColumn("verdict", "text", (c) => c.notNull())
    .addColumn("completed_at", "bigint", (c) => c.notNull())
    .addColumn("wait_ms", "bigint", (c) => c.notNull())
    .addColumn("run_ms", "bigint", (c) => c.notNull())
    .execute();
  // Submissions that have ended before this migration are counted as well, in the background.
  await sql`
    insert into uncounted (submission_seq, account_id, language, verdict, completed_at, wait_ms, run_ms)
    select seq, account_id, language, verdict, completed_at, started_at - created_at, completed_at - started_at
    from submissions where completed_at is not null and started_at is not null and verdict is not null`.execute(trx);
  await trx.schema
    // How many submissions ended in the minute that begins at `at`. Later, rows of minutes are merged into rows of
    // hours. The same holds for the other tables of the history.
    .createTable("history")
    .addColumn("at", "bigint", (c) => c.notNull())
    .addColumn("account_id", "text", (c) => c.notNull())
    .addColumn("language", "text", (c) => c.notNull())
    .addColumn("verdict", "text", (c) => c.notNull())
    .addColumn("amount", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("history_pk", ["at", "account_id", "language", "verdict"])
    .execute();
  await trx.schema
    // The number of ended submissions by wait time and by run time.
    .createTable("history_times")
    .addColumn("at", "bigint", (c) => c.notNull())
    .addColumn("account_id", "text", (c) => c.notNull())
    // `wait`: from acceptance to start; `run`: from start to end.
    .addColumn("kind", "text", (c) => c.notNull().check(sql`kind in ('wait', 'run')`))
    // The range of the time (`binOf` in src/domain/history.ts).
    .addColumn("bin", "integer", (c) => c.notNull())
    .addColumn("amount", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("history_times_pk", ["at", "account_id", "kind", "bin"])
    .execute();

  await trx.schema
    // The output of submissions that people watch. The end of a submission deletes its rows.
    .createTable("live_output")
    .addColumn("submission_seq", "bigint", (c) => c.notNull().references("submissions.seq").onDelete("cascade"))
    // The fence of the claim: a repeated run begins without output.
    .addColumn("fence", "integer", (c) => c.notNull())
    // The number of the piece in the run.
    .addColumn("n", "integer", (c) => c.notNull())
    // `stdout` or `stderr`.
    .addColumn("stream", "text", (c) => c.notNull().check(sql`stream in ('stdout', 'stderr')`))
    // Offset in the stream, in bytes.
    .addColumn("at", "bigint", (c) => c.notNull())
    .addColumn("bytes", columns.bytes, (c) => c.notNull())
    .addPrimaryKeyConstraint("live_output_pk", ["submission_seq", "fence", "n"])
    .execute();
}
