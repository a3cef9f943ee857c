import { type Kysely, sql } from "kysely";
import type { JudgementRow, Schema, SubmissionRow } from "../schema/schema.ts";
import type { JudgedSearch, Named } from "./types.ts";

/** Rows per account that one search reads: bounds how long a search delays others on SQLite. */
const LOOKED_AT = 5_000;

/** Maximum difference between the clocks of processes: rows are numbered in the order of acceptance, not of time. */
const CLOCKS_MS = 60_000;

/** Tables with the columns of a search. Rows are found by account and sequence number. */
interface Tables {
  readonly submissions: SubmissionRow;
  readonly judgements: JudgementRow;
}
export type Table = keyof Tables;

export const SHARED_COLUMNS = [
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
  "completed_at",
] as const satisfies readonly (keyof SubmissionRow & keyof JudgementRow)[];
export type SharedRow = Pick<SubmissionRow, (typeof SHARED_COLUMNS)[number]>;

interface Source<T extends Table, Column extends keyof Tables[T]> {
  readonly table: T;
  /** In addition to SHARED_COLUMNS. */
  readonly columns: readonly Column[];
}

type RowOf<T extends Table, Column extends keyof Tables[T]> = SharedRow & Pick<Tables[T], Column>;

/**
 * Newest first. One search reads a bounded number of rows, however rare the matches are.
 * @returns `next`: where this search ended; null if there is nothing older.
 */
export async function searchRows<T extends Table, Column extends keyof Tables[T]>(
  db: Kysely<Schema>,
  source: Source<T, Column>,
  which: JudgedSearch,
): Promise<{ readonly rows: readonly RowOf<T, Column>[]; readonly next: number | null }> {
  const { table, columns } = source;
  const read = async (query: ReturnType<typeof matching>) =>
    (await query.select(columns as readonly "seq"[]).execute()) as unknown as readonly RowOf<T, Column>[];
  const { id, accountIds } = which;
  if (id === undefined) return await newest(db, table, which, read);
  const rows = await read(matching(db, table, which).where("id", "=", id));
  return { rows: rows.filter((row) => !accountIds || accountIds.includes(row.account_id)), next: null };
}

type Read<Row> = (query: ReturnType<typeof matching>) => Promise<readonly Row[]>;

/** Merges the newest matches of each account, without those older than the highest `floor`. */
async function newest<Row extends SharedRow>(db: Kysely<Schema>, table: Table, which: JudgedSearch, read: Read<Row>) {
  const { sinceMs, untilMs, max } = which;
  const accountIds = which.accountIds ?? (await accountOf(db, which));
  const from = sinceMs === undefined ? 0 : await placeOf(db, table, sinceMs - CLOCKS_MS);
  const until = untilMs === undefined ? Number.MAX_SAFE_INTEGER : await placeOf(db, table, untilMs + CLOCKS_MS);
  const range = { from, before: Math.min(which.before ?? Number.MAX_SAFE_INTEGER, until) };
  const parts = await Promise.all(
    (accountIds ?? [null]).map((account) => ofAccount(db, table, which, account, range, read)),
  );
  const floor = Math.max(...parts.map((part) => part.floor), from);
  const rows = parts
    .flatMap((part) => part.rows)
    .filter(({ seq }) => seq >= floor)
    .sort((a, b) => b.seq - a.seq);
  const last = rows[max - 1];
  if (last && rows.length > max) return { rows: rows.slice(0, max), next: last.seq };
  return { rows, next: floor > from ? floor : null };
}

/** The account of the searched key, project or problem, which have one each. @returns null without such a criterion. */
async function accountOf(db: Kysely<Schema>, { keyId, projectId, problemId }: JudgedSearch): Promise<string[] | null> {
  const id = keyId ?? projectId ?? problemId;
  if (id === undefined) return null;
  const table = keyId !== undefined ? "api_keys" : projectId !== undefined ? "projects" : "problems";
  const rows = await db.selectFrom(table).select("account_id").where("id", "=", id).execute();
  // The judgements of a deleted problem stay.
  if (table === "problems" && rows.length === 0) return null;
  return rows.map(({ account_id }) => account_id);
}

interface Range {
  readonly from: number;
  readonly before: number;
}

/** @returns `floor`: lower sequence numbers were not read. */
async function ofAccount<Row>(
  db: Kysely<Schema>,
  table: Table,
  which: JudgedSearch,
  accountId: string | null,
  { from, before }: Range,
  read: Read<Row>,
): Promise<{ readonly rows: readonly Row[]; readonly floor: number }> {
  const { problemId } = which;
  const last = await rowsOf(db, table)
    .select("seq")
    .where(between({ accountId, problemId }, from, before))
    .orderBy(newestFirst(accountId, problemId))
    .limit(1)
    .offset(LOOKED_AT - 1)
    .executeTakeFirst();
  const floor = last?.seq ?? from;
  const rows = await read(
    matching(db, table, which)
      .where(between({ accountId, problemId }, floor, before))
      .orderBy(newestFirst(accountId, problemId))
      .limit(which.max + 1),
  );
  return { rows, floor };
}

/**
 * The rows of an account, or of its problem. Compared and sorted by tuples, so that no plan can read the rows of all accounts by
 * seq alone.
 */
export function between(
  { accountId, problemId }: { readonly accountId: string | null; readonly problemId?: string | undefined },
  from: number,
  before: number,
) {
  if (accountId === null) return sql<boolean>`seq >= ${from} and seq < ${before}`;
  if (problemId === undefined)
    return sql<boolean>`(account_id, seq) >= (${accountId}, ${from}) and (account_id, seq) < (${accountId}, ${before})`;
  return sql<boolean>`problem_id is not null and (account_id, problem_id, seq) >= (${accountId}, ${problemId}, ${from})
    and (account_id, problem_id, seq) < (${accountId}, ${problemId}, ${before})`;
}

/** The order of `between`. */
export function newestFirst(accountId: string | null, problemId: string | undefined) {
  if (accountId === null) return sql.raw("seq desc");
  return sql.raw(problemId === undefined ? "account_id desc, seq desc" : "account_id desc, problem_id desc, seq desc");
}

/** Only shared columns are used, so the type of one table serves for both. */
function rowsOf(db: Kysely<Schema>, table: Table) {
  return db.selectFrom(table as "submissions");
}

function matching(db: Kysely<Schema>, table: Table, which: JudgedSearch) {
  const { verdict, status, language, keyId, projectId, problemId, sinceMs, untilMs } = which;
  let query = rowsOf(db, table).select(SHARED_COLUMNS);
  if (verdict !== undefined) query = query.where("verdict", "=", verdict);
  if (status !== undefined) query = query.where("status", "=", status);
  if (language !== undefined) query = query.where("language", "=", language);
  if (keyId !== undefined) query = query.where("key_id", "=", keyId);
  if (projectId !== undefined) query = query.where("project_id", "=", projectId);
  // As an expression: with a comparison of the column, SQLite reads all judgements of the account instead of the range.
  if (problemId !== undefined) query = query.where(sql`coalesce(problem_id, '')`, "=", problemId);
  if (sinceMs !== undefined) query = query.where("created_at", ">=", sinceMs);
  if (untilMs !== undefined) query = query.where("created_at", "<", untilMs);
  return query;
}

/**
 * Times have no index, because an index costs time at every claim and end. Sequence numbers increase with time, so a binary
 * search with some twenty reads finds the place. @returns the lowest sequence number accepted then or later.
 */
async function placeOf(db: Kysely<Schema>, table: Table, ms: number): Promise<number> {
  const end = async (direction: "asc" | "desc") =>
    (await rowsOf(db, table).select("seq").where("seq", ">", 0).orderBy("seq", direction).limit(1).executeTakeFirst())
      ?.seq ?? 0;
  let low = await end("asc");
  let high = (await end("desc")) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = await rowsOf(db, table)
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

/** The names of account, key and project of each row. */
export async function withNames<Row extends SharedRow>(
  db: Kysely<Schema>,
  rows: readonly Row[],
): Promise<{ readonly row: Row; readonly names: { account: Named; project: Named | null; key: Named } }[]> {
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
    row,
    names: {
      account: name(accounts, row.account_id),
      project: row.project_id === null ? null : name(projects, row.project_id),
      key: name(keys, row.key_id),
    },
  }));
}
