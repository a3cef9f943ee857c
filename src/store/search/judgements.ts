import { type Kysely, sql } from "kysely";
import { decodeStates, FILE_PLACES, type JudgementVerdict } from "../../domain/judgement.ts";
import type { ProfileName } from "../../domain/limits.ts";
import type { Status } from "../../domain/submission.ts";
import type { AccountReads } from "../database/account-reads.ts";
import type { Database } from "../database/database.ts";
import type { Row, Schema } from "../database/schema.ts";
import { readJudgementOf } from "../judgements/judgements.ts";
import { toProgram } from "../submissions/rows.ts";
import type { ReserveMemory } from "../submissions/types.ts";
import { countRows, SHARED_COLUMNS, type SharedRow, searchRows, withNames } from "./newest.ts";
import type { ContentStart, FoundJudgement, JudgementSearch, ReadJudgement, Total } from "./types.ts";

const COLUMNS = [
  "score",
  "states",
  "problem_id",
  "problem_version",
] as const satisfies readonly (keyof Row<"judgements">)[];

export type JudgementSearchStore = ReturnType<typeof judgementSearch>;

/** Searches judgements for the dashboard, as `submissionSearch()` searches submissions. */
export function judgementSearch({ db }: Database, reads: AccountReads) {
  return {
    /** The number of matches among the newest 10,000 judgements of each account (`countRows`). */
    count(which: JudgementSearch): Promise<Total> {
      return reads.run(which.accountIds, () => countRows(db, "judgements", which));
    },

    search(
      which: JudgementSearch,
    ): Promise<{ readonly found: readonly FoundJudgement[]; readonly next: number | null }> {
      return reads.run(which.accountIds, async () => {
        const { rows, next } = await searchRows(db, { table: "judgements", columns: COLUMNS }, which);
        return { found: await named(db, rows), next };
      });
    },

    /**
     * Reads a judgement with its program. @param accountIds the accounts that it may belong to; null for any account.
     * @param admit awaited with the size of the program before it is read.
     * @returns undefined for an unknown id, and for a judgement of another account.
     */
    async read(
      id: string,
      accountIds: readonly string[] | null,
      admit: ReserveMemory,
    ): Promise<ReadJudgement | undefined> {
      const row = await db
        .selectFrom("judgements")
        .select([...SHARED_COLUMNS, ...COLUMNS])
        .where("id", "=", id)
        .executeTakeFirst();
      if (!row || (accountIds && !accountIds.includes(row.account_id))) return undefined;
      const [found] = await named(db, [row]);
      const judgement = await reads.run(row.account_id, () => readJudgementOf(db, row.seq));
      const programs = db.selectFrom("judged_programs").where("judgement_seq", "=", row.seq);
      const sizes = await programs
        .select(sql<number>`length(code) + coalesce(length(additions), 0)`.as("bytes"))
        .executeTakeFirst();
      if (!found || !judgement || !sizes) return undefined;
      await admit(sizes.bytes);
      const program = await programs.select(["code", "additions"]).executeTakeFirst();
      return program && { found, judgement, program: toProgram({ ...program, stdin: Buffer.alloc(0) }) };
    },

    /** The id of the submission that ran a test of a judgement; undefined if the test has no result. */
    async runOf(judgementId: string, test: number): Promise<string | undefined> {
      const row = await db
        .selectFrom("judgements")
        .innerJoin("runs", "runs.judgement_seq", "judgements.seq")
        .innerJoin("submissions", "submissions.seq", "runs.submission_seq")
        .select("submissions.id")
        .where("judgements.id", "=", judgementId)
        .where("runs.test", "=", test)
        .executeTakeFirst();
      return row?.id;
    },

    /** The beginnings of the input and of the answers of a test, in this order: at most `most` bytes of each. */
    async readContents(judgementId: string, test: number, most: number): Promise<ContentStart[]> {
      return await db
        .selectFrom("judgements")
        .innerJoin("version_contents", "version_contents.version_seq", "judgements.version_seq")
        .innerJoin("contents", "contents.seq", "version_contents.content_seq")
        .select([
          // For an empty value, substr() of SQLite returns null.
          sql<Buffer>`case when length(contents.bytes) <= ${sql.lit(most)} then contents.bytes
            else substr(contents.bytes, 1, ${sql.lit(most)}) end`.as("bytes"),
          sql<number>`length(contents.bytes)`.as("size"),
        ])
        .where("judgements.id", "=", judgementId)
        .where("version_contents.test", "=", test)
        .where("version_contents.place", "<", FILE_PLACES)
        .orderBy("version_contents.place")
        .execute();
    },
  };
}

async function named(
  db: Kysely<Schema>,
  rows: readonly (SharedRow & Pick<Row<"judgements">, (typeof COLUMNS)[number]>)[],
): Promise<FoundJudgement[]> {
  const ids = [...new Set(rows.flatMap(({ problem_id }) => problem_id ?? []))];
  const problems =
    ids.length === 0 ? [] : await db.selectFrom("problems").select(["id", "name"]).where("id", "in", ids).execute();
  const nameOf = new Map(problems.map(({ id, name }) => [id, name]));
  return (await withNames(db, rows)).map(({ row, names }) => ({
    id: row.id,
    status: row.status as Status,
    verdict: row.verdict as JudgementVerdict | null,
    score: row.score,
    states: decodeStates(row.states),
    language: row.language,
    profile: row.profile as ProfileName,
    ...names,
    problem:
      row.problem_id === null
        ? null
        : { id: row.problem_id, name: nameOf.get(row.problem_id) ?? null, version: row.problem_version ?? 0 },
    createdAtMs: row.created_at,
    completedAtMs: row.completed_at,
  }));
}
