import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/**
 * Adds judgements: programs that are run on many tests. A version is an immutable definition of the tests, whose contents are stored once
 * per account. The runs of a judgement are submissions.
 */
export async function judgements(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  await trx.schema
    // The inputs and answers of tests. Each content is stored once per account. A row can have several MiB.
    .createTable("contents")
    .addColumn("seq", columns.sequenceType, columns.sequence)
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    // SHA-256, hexadecimal.
    .addColumn("hash", "text", (c) => c.notNull())
    .addColumn("bytes", columns.bytes, (c) => c.notNull())
    .addUniqueConstraint("contents_hash", ["account_id", "hash"])
    .execute();
  await trx.schema
    // The immutable definitions of judgements and of versions of problems. Each is stored once per account.
    .createTable("versions")
    .addColumn("seq", columns.sequenceType, columns.sequence)
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    // SHA-256 of the definition, the checker and the contents, hexadecimal; another text while the version is being
    // deleted.
    .addColumn("hash", "text", (c) => c.notNull())
    // JSON of a Definition (src/domain/judgement.ts).
    .addColumn("definition", "text", (c) => c.notNull())
    // The program of the checker (`encodeProgram` in src/store/submissions/rows.ts); null if the checker is no
    // program.
    .addColumn("checker", columns.bytes)
    // 1 if all its contents are stored, 0 while they are being stored, -1 while the version is being deleted.
    .addColumn("complete", "integer", (c) => c.notNull())
    // When it was last stored or used. If no judgement or problem uses it, it is deleted like a record that ended at
    // this time.
    .addColumn("used_at", "bigint", (c) => c.notNull())
    .addUniqueConstraint("versions_hash", ["account_id", "hash"])
    .execute();
  await trx.schema.createIndex("versions_used").on("versions").column("used_at").execute();
  await trx.schema
    // The contents of the tests of a version. Place 0 of a test is its input; the other places are its answers.
    .createTable("version_contents")
    .addColumn("version_seq", "bigint", (c) => c.notNull().references("versions.seq").onDelete("cascade"))
    .addColumn("test", "integer", (c) => c.notNull())
    .addColumn("place", "integer", (c) => c.notNull())
    .addColumn("content_seq", "bigint", (c) => c.notNull().references("contents.seq"))
    .addPrimaryKeyConstraint("version_contents_pk", ["version_seq", "test", "place"])
    .execute();
  await trx.schema.createIndex("version_contents_of").on("version_contents").column("content_seq").execute();
  await trx.schema
    // Programs that are run on many tests. Each run is a submission.
    .createTable("judgements")
    .addColumn("seq", columns.sequenceType, columns.sequence)
    .addColumn("id", "text", (c) => c.notNull().unique())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    .addColumn("key_id", "text", (c) => c.notNull().references("api_keys.id"))
    .addColumn("project_id", "text")
    .addColumn("version_seq", "bigint", (c) => c.notNull().references("versions.seq"))
    .addColumn("language", "text", (c) => c.notNull())
    .addColumn("profile", "text", (c) => c.notNull())
    .addColumn("stop", "text", (c) => c.notNull())
    .addColumn("status", "text", (c) => c.notNull().check(sql`status in ('pending', 'running', 'completed', 'error')`))
    // The states of the tests (src/domain/judgement.ts), one letter each.
    .addColumn("states", "text", (c) => c.notNull())
    .addColumn("verdict", "text")
    .addColumn("score", "double precision")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("completed_at", "bigint")
    .execute();
  await trx.schema
    // The programs of judgements. They have their own table, because the rows of `judgements` are read often.
    .createTable("judged_programs")
    .addColumn("judgement_seq", "bigint", (c) => c.primaryKey().references("judgements.seq").onDelete("cascade"))
    .addColumn("code", columns.bytes, (c) => c.notNull())
    .addColumn("additions", columns.bytes)
    .execute();
  await sql`create index judgements_open on judgements (key_id, seq) where completed_at is null`.execute(trx);
  await trx.schema.createIndex("judgements_account").on("judgements").columns(["account_id", "seq"]).execute();
  await trx.schema.createIndex("judgements_completed").on("judgements").column("completed_at").execute();
  await trx.schema.createIndex("judgements_version").on("judgements").column("version_seq").execute();
  // The judgement of which it is a run, and the number of the test, from 0. Both are null for a single submission.
  await sql`alter table submissions add column judgement_seq bigint references judgements (seq) on delete cascade`.execute(
    trx,
  );
  await trx.schema.alterTable("submissions").addColumn("test", "integer").execute();
  await sql`create index submissions_judgement on submissions (judgement_seq, test) where judgement_seq is not null`.execute(
    trx,
  );
  await trx.schema
    // The results of ended runs of judgements.
    .createTable("runs")
    .addColumn("judgement_seq", "bigint", (c) => c.notNull().references("judgements.seq").onDelete("cascade"))
    .addColumn("test", "integer", (c) => c.notNull())
    .addColumn("submission_seq", "bigint", (c) => c.notNull().references("submissions.seq").onDelete("cascade"))
    .addColumn("verdict", "text", (c) => c.notNull())
    // The earned part of the points of the test, 0 to 1.
    .addColumn("share", "double precision", (c) => c.notNull())
    // The message of the checker or of the run.
    .addColumn("message", "text")
    .addColumn("cpu_usec", "bigint")
    .addColumn("wall_ns", "bigint")
    .addColumn("memory_bytes", "bigint")
    .addPrimaryKeyConstraint("runs_pk", ["judgement_seq", "test"])
    .execute();
  await trx.schema.createIndex("runs_submission").on("runs").column("submission_seq").execute();
  await trx.schema
    .alterTable("deliveries")
    .addColumn("judgement_seq", "bigint", (c) => c.references("judgements.seq").onDelete("cascade"))
    .execute();
  await sql`create index deliveries_judgement on deliveries (judgement_seq) where judgement_seq is not null`.execute(
    trx,
  );
}
