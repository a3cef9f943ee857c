import { type Kysely, sql } from "kysely";
import type { Program, Submission } from "../../domain/submission.ts";
import type { Engine } from "../engine/engine.ts";
import type { Schema, SubmissionRow } from "../schema/schema.ts";
import { loadPrograms } from "../submissions/programs.ts";
import { complete, readHeads } from "../submissions/read.ts";
import type { Admit } from "../submissions/types.ts";
import type { FoundSubmission, Search } from "./types.ts";

/** Submissions per account that one search reads: bounds how long a search delays others on SQLite. */
const LOOKED_AT = 5_000;

/** Maximum difference between the clocks of processes: submissions are numbered in the order of acceptance, not of time. */
const CLOCKS_MS = 60_000;

export type RecordStore = ReturnType<typeof recordStore>;

/** Searches submissions for the dashboard. */
export function recordStore({ db }: Engine) {
  return {
    /**
     * Newest first. One search reads a bounded number of submissions, however rare the matches are.
     * @returns `next`: where this search ended; null if there is nothing older.
     */
    async search(which: Search): Promise<{ readonly found: readonly FoundSubmission[]; readonly next: number | null }> {
      const { rows, next } = which.id === undefined ? await newest(db, which) : await one(db, which, which.id);
      return { found: await named(db, rows), next };
    },

    /**
     * @param accountIds null for any account. @param admit awaited before a large output is read.
     * @returns undefined for an unknown id and for a submission of another account.
     */
    async read(
      id: string,
      accountIds: readonly string[] | null,
      admit?: Admit,
    ): Promise<
      { readonly found: FoundSubmission; readonly submission: Submission; readonly program: Program } | undefined
    > {
      const row = await db
        .selectFrom("submissions")
        .select([...COLUMNS, "judgement_seq", "test"])
        .where("id", "=", id)
        .executeTakeFirst();
      if (!row || (accountIds && !accountIds.includes(row.account_id))) return undefined;
      const [head] = await readHeads(db, [{ id, accountId: row.account_id }]);
      const submission = head && (await complete(head, admit));
      const [found] = await named(db, [row]);
      const loaded = (await loadPrograms(db, [row])).get(row.seq);
      return submission && found && loaded && { found, submission, program: loaded.program };
    },
  };
}

const COLUMNS = [
  "seq",
  "id",
  "account_id",
  "key_id",
  "project_id",
  "language",
  "profile",
  "status",
  "verdict",
  "created_at",
  "started_at",
  "completed_at",
] as const satisfies readonly (keyof SubmissionRow)[];

type Row = Pick<SubmissionRow, (typeof COLUMNS)[number]>;

interface Rows {
  readonly rows: readonly Row[];
  readonly next: number | null;
}

async function one(db: Kysely<Schema>, which: Search, id: string): Promise<Rows> {
  const accounts = which.accountIds;
  const rows = await matching(db, which).where("id", "=", id).execute();
  return { rows: rows.filter((row) => !accounts || accounts.includes(row.account_id)), next: null };
}

/** Merges the newest matches of each account, without those older than the highest `floor`. */
async function newest(db: Kysely<Schema>, which: Search): Promise<Rows> {
  const { sinceMs, untilMs, max } = which;
  const accountIds = which.accountIds ?? (await accountOf(db, which));
  const from = sinceMs === undefined ? 0 : await placeOf(db, sinceMs - CLOCKS_MS);
  const until = untilMs === undefined ? Number.MAX_SAFE_INTEGER : await placeOf(db, untilMs + CLOCKS_MS);
  const range = { from, before: Math.min(which.before ?? Number.MAX_SAFE_INTEGER, until) };
  const parts = await Promise.all((accountIds ?? [null]).map((account) => ofAccount(db, which, account, range)));
  const floor = Math.max(...parts.map((part) => part.floor), from);
  const rows = parts
    .flatMap((part) => part.rows)
    .filter(({ seq }) => seq >= floor)
    .sort((a, b) => b.seq - a.seq);
  const last = rows[max - 1];
  if (last && rows.length > max) return { rows: rows.slice(0, max), next: last.seq };
  return { rows, next: floor > from ? floor : null };
}

/** The account of the searched key or project, which have one each. @returns null without such a criterion. */
async function accountOf(db: Kysely<Schema>, { keyId, projectId }: Search): Promise<string[] | null> {
  const id = keyId ?? projectId;
  if (id === undefined) return null;
  const table = keyId === undefined ? "projects" : "api_keys";
  const rows = await db.selectFrom(table).select("account_id").where("id", "=", id).execute();
  return rows.map(({ account_id }) => account_id);
}

interface Range {
  readonly from: number;
  readonly before: number;
}

/** @returns `floor`: lower sequence numbers were not read. */
async function ofAccount(
  db: Kysely<Schema>,
  which: Search,
  accountId: string | null,
  { from, before }: Range,
): Promise<{ readonly rows: readonly Row[]; readonly floor: number }> {
  const newestFirst = sql.raw(accountId === null ? "seq desc" : "account_id desc, seq desc");
  const last = await db
    .selectFrom("submissions")
    .select("seq")
    .where(between(accountId, from, before))
    .orderBy(newestFirst)
    .limit(1)
    .offset(LOOKED_AT - 1)
    .executeTakeFirst();
  const floor = last?.seq ?? from;
  const rows = await matching(db, which)
    .where(between(accountId, floor, before))
    .orderBy(newestFirst)
    .limit(which.max + 1)
    .execute();
  return { rows, floor };
}

/** Compared and sorted by pairs, so that no plan can read the submissions of all accounts by seq alone. */
function between(accountId: string | null, from: number, before: number) {
  if (accountId === null) return sql<boolean>`seq >= ${from} and seq < ${before}`;
  return sql<boolean>`(account_id, seq) >= (${accountId}, ${from}) and (account_id, seq) < (${accountId}, ${before})`;
}

function matching(db: Kysely<Schema>, which: Search) {
  const { verdict, status, language, keyId, projectId, sinceMs, untilMs } = which;
  let query = db.selectFrom("submissions").select(COLUMNS);
  if (verdict !== undefined) query = query.where("verdict", "=", verdict);
  if (status !== undefined) query = query.where("status", "=", status);
  if (language !== undefined) query = query.where("language", "=", language);
  if (keyId !== undefined) query = query.where("key_id", "=", keyId);
  if (projectId !== undefined) query = query.where("project_id", "=", projectId);
  if (sinceMs !== undefined) query = query.where("created_at", ">=", sinceMs);
  if (untilMs !== undefined) query = query.where("created_at", "<", untilMs);
  return query;
}

/**
 * Times have no index, because an index costs time at every claim and end. Sequence numbers increase with time, so a binary
 * search with some twenty reads finds the place. @returns the lowest sequence number accepted then or later.
 */
async function placeOf(db: Kysely<Schema>, ms: number): Promise<number> {
  const end = async (direction: "asc" | "desc") =>
    (
      await db
        .selectFrom("submissions")
        .select("seq")
        .where("seq", ">", 0)
        .orderBy("seq", direction)
        .limit(1)
        .executeTakeFirst()
    )?.seq ?? 0;
  let low = await end("asc");
  let high = (await end("desc")) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = await db
      .selectFrom("submissions")
      .select(["seq", "created_at"])
      .where("seq", ">=", middle)
      .orderBy("seq")
      .limit(1)
      .executeTakeFirst();
    if (!row || row.created_at >= ms) high = middle;
    else low = row.seq + 1;
  }
  return low;
}

async function named(db: Kysely<Schema>, rows: readonly Row[]): Promise<FoundSubmission[]> {
  const of = async (table: "accounts" | "api_keys" | "projects", ids: readonly (string | null)[]) => {
    const wanted = [...new Set(ids.filter((id) => id !== null))];
    if (wanted.length === 0) return new Map<string, string>();
    const found = await db.selectFrom(table).select(["id", "name"]).where("id", "in", wanted).execute();
    return new Map(found.map(({ id, name }) => [id, name]));
  };
  const column = (name: "account_id" | "key_id" | "project_id") => rows.map((row) => row[name]);
  const accounts = await of("accounts", column("account_id"));
  const keys = await of("api_keys", column("key_id"));
  const projects = await of("projects", column("project_id"));
  const name = (names: ReadonlyMap<string, string>, id: string) => ({ id, name: names.get(id) ?? id });
  return rows.map((row) => ({
    id: row.id,
    status: row.status as FoundSubmission["status"],
    verdict: row.verdict,
    language: row.language,
    profile: row.profile,
    account: name(accounts, row.account_id),
    project: row.project_id === null ? null : name(projects, row.project_id),
    key: name(keys, row.key_id),
    createdAtMs: row.created_at,
    startedAtMs: row.started_at,
    completedAtMs: row.completed_at,
  }));
}
