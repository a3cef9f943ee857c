import { type Kysely, sql } from "kysely";
import type { ForeignSubmission } from "../../domain/foreign-api.ts";
import type { Submission } from "../../domain/submission.ts";
import type { AccountReads } from "../database/account-reads.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import { PROGRAM_COLUMNS, toProgram } from "../submissions/rows.ts";
import type { ReserveMemory } from "../submissions/types.ts";

export type ForeignSubmissionStore = ReturnType<typeof foreignSubmissionStore>;

/** Lists and counts read only so many of the newest submissions of an account, to bound their time. */
export const MOST_LISTED = 10_000;

const DAY_MS = 86_400_000;

/** Submissions of clients of other services' APIs (src/compat). All other submissions are unknown here. */
export function foreignSubmissionStore({ db }: Database, reads: AccountReads) {
  const newest = (accountId: string, api: string) =>
    db
      .selectFrom("foreign_submissions")
      .select("submission_seq")
      .where("account_id", "=", accountId)
      .where("api", "=", api)
      .orderBy("submission_seq", "desc");

  return {
    /**
     * Adds to a submission what its client has sent besides. @param how.sent whether to read also the program and the opaque bytes.
     * @param how.admit awaited with the size of these data before they are read.
     * @returns undefined if the submission did not come through this API, or was deleted.
     */
    about: (api: string, submission: Submission, how?: { readonly sent: boolean; readonly admit: ReserveMemory }) =>
      readForeign(db, submission, { api, ...how }),

    /** The program and the opaque bytes that the client sent; null if the submission has been deleted. */
    sent: (id: string) => readSent(db, id),

    /** A page of the account's submissions through an API, newest first, and their number in all pages, at most MOST_LISTED. */
    list(
      accountId: string,
      api: string,
      { skip, most }: { readonly skip: number; readonly most: number },
    ): Promise<{ readonly ids: readonly string[]; readonly total: number }> {
      return reads.run(accountId, async () => {
        const page = newest(accountId, api)
          .offset(skip)
          .limit(Math.min(most, Math.max(0, MOST_LISTED - skip)));
        const rows = await db
          .selectFrom("submissions")
          .select("id")
          .where("seq", "in", page)
          .orderBy("seq", "desc")
          .execute();
        const { total } = await db
          .selectFrom(newest(accountId, api).limit(MOST_LISTED).as("newest"))
          .select((eb) => eb.fn.countAll<number | string>().as("total"))
          .executeTakeFirstOrThrow();
        return { ids: rows.map(({ id }) => id), total: Number(total) };
      });
    },

    /**
     * Counts the newest submissions of the account through an API by category, progress, note, and the day (UTC) of their acceptance.
     * `note` is null for submissions that have not ended, and for those that the platform failed to run.
     */
    counts(accountId: string, api: string) {
      return reads.run(accountId, async () => {
        const { rows } = await sql<{
          category: number;
          progress: "pending" | "running" | "ended";
          note: number | null;
          day: number;
          amount: number | string;
        }>`
        select category, progress, note, day, amount from (
          select foreign_submissions.category as category, submissions.created_at / ${sql.lit(DAY_MS)} as day,
            case when submissions.status = 'pending' and submissions.started_at is null then 'pending'
              when submissions.status in ('pending', 'running') then 'running'
              else 'ended' end as progress,
            foreign_submissions.note as note, count(*) as amount
          from (${newest(accountId, api).limit(MOST_LISTED)}) as newest
          join foreign_submissions on foreign_submissions.submission_seq = newest.submission_seq
          join submissions on submissions.seq = newest.submission_seq
          group by 1, 2, 3, 4) as counted`.execute(db);
        return rows.map(({ category, progress, note, day, amount }) => ({
          category,
          progress,
          note,
          dayMs: Math.floor(Number(day)) * DAY_MS,
          amount: Number(amount),
        }));
      });
    },
  };
}

/** Implements ForeignSubmissionStore.about. @param api undefined for any API. */
export async function readForeign(
  db: Kysely<Schema>,
  submission: Submission,
  { api, sent = false, admit }: { readonly api?: string; readonly sent?: boolean; readonly admit?: ReserveMemory } = {},
): Promise<ForeignSubmission | undefined> {
  const row = await ofSubmission(db, submission.id)
    .leftJoin("outcomes", "outcomes.submission_seq", "foreign_submissions.submission_seq")
    .select(["api", "category", "data", "callback_url", "note", "outcomes.compile_output"])
    .select(
      sql<number>`octet_length(code) + octet_length(stdin) + coalesce(octet_length(reference), 0)
      + coalesce(octet_length(attachment), 0)`.as("bytes"),
    )
    .executeTakeFirst();
  if (!row || (api !== undefined && row.api !== api)) return undefined;
  if (sent) await admit?.(row.bytes);
  return {
    submission,
    api: row.api,
    category: row.category,
    data: row.data,
    callbackUrl: row.callback_url,
    note: row.note,
    compileOutput: row.compile_output,
    sentBytes: row.bytes,
    sent: sent ? await readSent(db, submission.id) : null,
  };
}

async function readSent(db: Kysely<Schema>, id: string): Promise<ForeignSubmission["sent"]> {
  const row = await ofSubmission(db, id)
    .select([...PROGRAM_COLUMNS, "reference", "attachment"])
    .executeTakeFirst();
  if (!row) return null; // it has been deleted
  return { program: toProgram(row), reference: row.reference, attachment: row.attachment };
}

function ofSubmission(db: Kysely<Schema>, id: string) {
  return db
    .selectFrom("foreign_submissions")
    .innerJoin("submissions", "submissions.seq", "foreign_submissions.submission_seq")
    .innerJoin("programs", "programs.submission_seq", "foreign_submissions.submission_seq")
    .where("submissions.id", "=", id);
}
