import { type Kysely, sql } from "kysely";
import type { Judge0Submission } from "../../domain/judge0/submission.ts";
import type { Submission } from "../../domain/submission.ts";
import type { AccountReads } from "../database/account-reads.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import { PROGRAM_COLUMNS, toProgram } from "../submissions/rows.ts";
import type { Admit } from "../submissions/types.ts";

export type Judge0Store = ReturnType<typeof judge0Store>;

/** Lists and statistics read only so many of the newest submissions of an account, to bound their time. */
export const MOST_LISTED = 10_000;

/** Submissions that came through the Judge0 API. All other submissions are unknown here. */
export function judge0Store({ db }: Database, reads: AccountReads) {
  const newest = (accountId: string) =>
    db
      .selectFrom("judge0_submissions")
      .select("submission_seq")
      .where("account_id", "=", accountId)
      .orderBy("submission_seq", "desc");

  return {
    /**
     * Adds the Judge0 part of a submission to it. @param how.sent whether to read also the program and the other data that the client sent.
     * @param how.admit awaited with the size of these data before they are read.
     * @returns undefined if the submission did not come through the Judge0 API, or was deleted.
     */
    about: (submission: Submission, how?: { readonly sent: boolean; readonly admit: Admit }) =>
      readJudge0(db, submission, how),

    /** The program and the other data that the client sent; null if the submission has been deleted. */
    sent: (id: string) => readSent(db, id),

    /** A page of the account's submissions, newest first, and their number in all pages, at most MOST_LISTED. */
    list(
      accountId: string,
      { skip, most }: { readonly skip: number; readonly most: number },
    ): Promise<{ readonly ids: readonly string[]; readonly total: number }> {
      return reads.run(accountId, async () => {
        const page = newest(accountId)
          .offset(skip)
          .limit(Math.min(most, Math.max(0, MOST_LISTED - skip)));
        const rows = await db
          .selectFrom("submissions")
          .select("id")
          .where("seq", "in", page)
          .orderBy("seq", "desc")
          .execute();
        const { total } = await db
          .selectFrom(newest(accountId).limit(MOST_LISTED).as("newest"))
          .select((eb) => eb.fn.countAll<number | string>().as("total"))
          .executeTakeFirstOrThrow();
        return { ids: rows.map(({ id }) => id), total: Number(total) };
      });
    },

    /** Counts the newest submissions of the account by Judge0 language, Judge0 status, and the day (UTC) of their acceptance. */
    statistics(accountId: string) {
      return reads.run(accountId, async () => {
        const day = 86_400_000;
        const { rows } = await sql<{ language_id: number; status: number; day: number; amount: number | string }>`
        select language_id, day, amount, status from (
          select judge0_submissions.language_id as language_id, submissions.created_at / ${sql.lit(day)} as day,
            case when submissions.status = 'pending' and submissions.started_at is null then 1
              when submissions.status in ('pending', 'running') then 2
              else coalesce(judge0_submissions.status, 13) end as status, count(*) as amount
          from (${newest(accountId).limit(MOST_LISTED)}) as newest
          join judge0_submissions on judge0_submissions.submission_seq = newest.submission_seq
          join submissions on submissions.seq = newest.submission_seq
          group by 1, 2, 3) as counted`.execute(db);
        return rows.map((row) => ({
          languageId: row.language_id,
          status: row.status,
          dayMs: Math.floor(Number(row.day)) * day,
          amount: Number(row.amount),
        }));
      });
    },
  };
}

/** Implements Judge0Store.about. */
export async function readJudge0(
  db: Kysely<Schema>,
  submission: Submission,
  { sent = false, admit }: { readonly sent?: boolean; readonly admit?: Admit } = {},
): Promise<Judge0Submission | undefined> {
  const row = await ofSubmission(db, submission.id)
    .select(["language_id", "settings", "callback_url", "compile_output", "judge0_submissions.status as ended"])
    .select(
      sql<number>`octet_length(code) + octet_length(stdin) + coalesce(octet_length(expected_output), 0)
      + coalesce(octet_length(additional_files), 0)`.as("bytes"),
    )
    .executeTakeFirst();
  if (!row) return undefined;
  if (sent) await admit?.(row.bytes);
  return {
    submission,
    languageId: row.language_id,
    settings: JSON.parse(row.settings),
    callbackUrl: row.callback_url,
    status: row.ended,
    compileOutput: row.compile_output,
    sentBytes: row.bytes,
    sent: sent ? await readSent(db, submission.id) : null,
  };
}

async function readSent(db: Kysely<Schema>, id: string): Promise<Judge0Submission["sent"]> {
  const row = await ofSubmission(db, id)
    .select([...PROGRAM_COLUMNS, "expected_output", "additional_files"])
    .executeTakeFirst();
  if (!row) return null; // it has been deleted
  return {
    program: toProgram(row),
    expectedOutput: row.expected_output,
    additionalFiles: row.additional_files,
  };
}

function ofSubmission(db: Kysely<Schema>, id: string) {
  return db
    .selectFrom("judge0_submissions")
    .innerJoin("submissions", "submissions.seq", "judge0_submissions.submission_seq")
    .innerJoin("programs", "programs.submission_seq", "judge0_submissions.submission_seq")
    .where("submissions.id", "=", id);
}
