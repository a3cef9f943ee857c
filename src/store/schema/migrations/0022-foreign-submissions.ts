import { sql, type Transaction } from "kysely";
import { decodeProgramOptions, encodeProgramOptions, type ProgramOptions } from "../../../domain/program-options.ts";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Options of a program whose request adds nothing. */
const NO_OPTIONS: ProgramOptions = { files: [], entry: null, args: [], env: {}, limits: {} };

/**
 * Gives what clients of other services' APIs send its general form: this release knows no such service outside of src/compat. The table
 * and its columns have their old names as long as a process of an older release may run, and a view has the general ones. The number of
 * runs becomes an option of the program, and the output of the compiler a part of the outcome, because every client can use them now.
 */
export async function foreignSubmissions(trx: Transaction<Schema>, abilities: Abilities): Promise<void> {
  const { columns, oneWriter } = abilities;
  await trx.schema
    .alterTable("judge0_submissions")
    // The name of the API (ForeignApi.name).
    .addColumn("api", "text", (c) => c.notNull().defaultTo("judge0"))
    .execute();
  // What the compiler wrote for a program that compiled; null if it wrote nothing.
  await trx.schema.alterTable("outcomes").addColumn("compile_output", columns.bytes).execute();
  await sql`
    update outcomes set compile_output = (
      select compile_output from judge0_submissions where judge0_submissions.submission_seq = outcomes.submission_seq
    )
    where submission_seq in (select submission_seq from judge0_submissions where compile_output is not null)`.execute(
    trx,
  );
  await convertRuns(trx);
  // What clients of other services' APIs have sent in addition to the program; src/domain/foreign-api.ts describes the columns.
  await sql`create view foreign_submissions as
    select submission_seq, account_id, api, language_id as category, settings as data, expected_output as reference,
      additional_files as attachment, callback_url, endpoint_id, status as note, compile_output
    from judge0_submissions`.execute(trx);
  await (oneWriter ? writeThroughView(trx) : serveOlderRelease(trx));
}

/** For submissions that have not ended, the number of runs becomes an option of the program. */
async function convertRuns(trx: Transaction<Schema>): Promise<void> {
  const { rows } = await sql<{ seq: number; settings: string }>`
    select seq, settings from submissions
    join judge0_submissions on judge0_submissions.submission_seq = seq
    where submissions.status in ('pending', 'running') and judge0 = 2`.execute(trx);
  for (const { seq, settings } of rows) {
    const { number_of_runs: runs } = JSON.parse(settings) as { readonly number_of_runs: number };
    // One at a time: the files of a full queue would not fit into memory.
    const program = trx.selectFrom("programs").select("additions").where("submission_seq", "=", seq);
    const { additions } = await program.executeTakeFirstOrThrow();
    const options = additions ? decodeProgramOptions(additions.toString("utf8")) : NO_OPTIONS;
    await trx
      .updateTable("programs")
      .set({ additions: Buffer.from(encodeProgramOptions({ ...options, runs }), "utf8") })
      .where("submission_seq", "=", seq)
      .execute();
  }
}

/** SQLite writes through a view only with triggers. */
async function writeThroughView(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create trigger foreign_submissions_insert instead of insert on foreign_submissions begin
      insert into judge0_submissions (submission_seq, account_id, api, language_id, settings, expected_output,
        additional_files, callback_url, endpoint_id, status)
      values (new.submission_seq, new.account_id, new.api, new.category, new.data, new.reference, new.attachment,
        new.callback_url, new.endpoint_id, new.note);
    end`.execute(trx);
  await sql`
    create trigger foreign_submissions_update instead of update on foreign_submissions begin
      update judge0_submissions set status = new.note, compile_output = new.compile_output
      where submission_seq = new.submission_seq;
    end`.execute(trx);
}

/**
 * PostgreSQL writes through the view by itself. The triggers are for processes of an older release: they find the mark of submissions that
 * this release accepts, and this release finds the number of runs and the output of the compiler where it expects them. This release also
 * stores the output where an older one expects it (src/store/foreign/rows.ts).
 */
async function serveOlderRelease(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create function judge0_submission_accepted() returns trigger language plpgsql as $$
    declare
      runs integer := (new.settings::jsonb ->> 'number_of_runs')::integer;
    begin
      -- A restore adds submissions that have ended.
      if not exists (select from submissions where seq = new.submission_seq and status = 'pending') then
        return null;
      end if;
      update submissions set judge0 = case when runs > 1 then 2 else 1 end
      where seq = new.submission_seq and judge0 is null;
      if runs > 1 then
        update programs
        set additions = convert_to((coalesce(convert_from(additions, 'UTF8'), ${sql.lit(encodeProgramOptions(NO_OPTIONS))})::jsonb
          || jsonb_build_object('runs', runs))::text, 'UTF8')
        where submission_seq = new.submission_seq
          and (additions is null or not convert_from(additions, 'UTF8')::jsonb ? 'runs');
      end if;
      return null;
    end $$`.execute(trx);
  await sql`
    create trigger judge0_submission_accepted after insert on judge0_submissions
    for each row when (new.api = 'judge0') execute function judge0_submission_accepted()`.execute(trx);
  await sql`
    create function judge0_submission_ended() returns trigger language plpgsql as $$
    begin
      update outcomes set compile_output = new.compile_output
      where submission_seq = new.submission_seq and compile_output is distinct from new.compile_output;
      return null;
    end $$`.execute(trx);
  await sql`
    create trigger judge0_submission_ended after update of compile_output on judge0_submissions
    for each row when (new.compile_output is not null) execute function judge0_submission_ended()`.execute(trx);
}
