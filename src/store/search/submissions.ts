import { type Kysely, sql } from "kysely";
import type { ProfileName } from "../../domain/limits.ts";
import type { Verdict } from "../../domain/outcome.ts";
import type { AccountReads } from "../database/account-reads.ts";
import type { Database } from "../database/database.ts";
import type { Row, Schema } from "../database/schema.ts";
import { loadPrograms } from "../submissions/programs.ts";
import { complete, readHeads } from "../submissions/read.ts";
import { statusOf } from "../submissions/rows.ts";
import { samplesOf } from "../submissions/samples.ts";
import type { ReserveMemory } from "../submissions/types.ts";
import { countRows, SHARED_COLUMNS, type SharedRow, searchRows, withNames } from "./newest.ts";
import type { FoundSubmission, ReadSubmission, SubmissionSearch, TestOf, Total } from "./types.ts";

const COLUMNS = ["started_at", "cause"] as const satisfies readonly (keyof Row<"submissions">)[];

export type SubmissionSearchStore = ReturnType<typeof submissionSearch>;

/** Searches submissions for the dashboard. */
export function submissionSearch({ db }: Database, reads: AccountReads) {
  return {
    /**
     * Finds submissions, in the order of their acceptance. One search reads a bounded number of submissions, so it may find fewer than
     * `max` although there are more.
     * @returns `next`: `before` of a search that continues this one; null if there is nothing more.
     */
    search(
      which: SubmissionSearch,
    ): Promise<{ readonly found: readonly FoundSubmission[]; readonly next: number | null }> {
      return reads.run(which.accountIds, async () => {
        const { rows, next } = await searchRows(db, { table: "submissions", columns: COLUMNS }, which);
        return { found: await named(db, rows), next };
      });
    },

    /** The number of matches among the newest 10,000 submissions of each account (`countRows`). */
    count(which: SubmissionSearch): Promise<Total> {
      return reads.run(which.accountIds, () => countRows(db, "submissions", which));
    },

    /**
     * Reads a submission with what its page shows. @param accountIds the accounts that it may belong to; null for any account.
     * @param admit awaited before a large output, and before the program and its input, are read.
     * @returns undefined for an unknown id, and for a submission of another account.
     */
    async read(
      id: string,
      accountIds: readonly string[] | null,
      admit?: ReserveMemory,
    ): Promise<ReadSubmission | undefined> {
      const row = await db
        .selectFrom("submissions")
        .select([...SHARED_COLUMNS, ...COLUMNS, "live", "original_id", "judgement_seq", "test"])
        .where("id", "=", id)
        .executeTakeFirst();
      if (!row || (accountIds && !accountIds.includes(row.account_id))) return undefined;
      const [head] = await readHeads(db, [{ id, accountId: row.account_id }]);
      const submission = head && (await complete(head, admit));
      const [found] = await named(db, [row]);
      const run = await testOf(db, row);
      // The answers of a test are not needed.
      await admit?.(run ? run.inputBytes : await programBytes(db, row.seq));
      const loaded = (await loadPrograms(db, [row], 0)).get(row.seq);
      if (!submission || !found || !loaded) return undefined;
      const [originalId, samples] = [await stillThere(db, row.original_id), await samplesOf(db, row.seq)];
      return { found, submission, program: loaded.program, run, isFollowable: row.live !== null, originalId, samples };
    },
  };
}

async function stillThere(db: Kysely<Schema>, id: string | null): Promise<string | null> {
  if (id === null) return null;
  const row = await db.selectFrom("submissions").select("id").where("id", "=", id).executeTakeFirst();
  return row?.id ?? null;
}

async function programBytes(db: Kysely<Schema>, seq: number): Promise<number> {
  const row = await db
    .selectFrom("programs")
    .select(sql<number>`octet_length(code) + octet_length(stdin) + coalesce(octet_length(additions), 0)`.as("bytes"))
    .where("submission_seq", "=", seq)
    .executeTakeFirst();
  return row?.bytes ?? 0;
}

async function testOf(
  db: Kysely<Schema>,
  { judgement_seq: seq, test }: Pick<Row<"submissions">, "judgement_seq" | "test">,
): Promise<(TestOf & { readonly inputBytes: number }) | null> {
  if (seq === null || test === null) return null;
  const found = await db
    .selectFrom("judgements")
    .innerJoin("version_contents", "version_contents.version_seq", "judgements.version_seq")
    .innerJoin("contents", "contents.seq", "version_contents.content_seq")
    .select(["judgements.id", sql<number>`length(contents.bytes)`.as("inputBytes")])
    .where("judgements.seq", "=", seq)
    .where("version_contents.test", "=", test)
    .where("version_contents.place", "=", 0)
    .executeTakeFirst();
  return found ? { judgementId: found.id, test, inputBytes: found.inputBytes } : null;
}

async function named(
  db: Kysely<Schema>,
  rows: readonly (SharedRow & Pick<Row<"submissions">, (typeof COLUMNS)[number]>)[],
): Promise<FoundSubmission[]> {
  return (await withNames(db, rows)).map(({ row, names }) => ({
    id: row.id,
    status: statusOf(row),
    verdict: row.verdict as Verdict | null,
    cause: row.cause ?? (row.verdict === "AC" ? "normal_exit" : null),
    language: row.language,
    profile: row.profile as ProfileName,
    ...names,
    createdAtMs: row.created_at,
    startedAtMs: row.started_at,
    completedAtMs: row.completed_at,
  }));
}
