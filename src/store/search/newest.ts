import { type Kysely, sql } from "kysely";
import type { Row, Schema } from "../database/schema.ts";
import type { JudgementSearch, Named, SubmissionSearch, Total } from "./types.ts";

/** The most rows of an account that one search reads: bounds how long a search delays other work on SQLite. */
const MAX_READ = 5_000;

/** The most rows of an account that a count reads. For an account with 100,000 rows, a count takes some 15 ms on either database. */
const COUNTED = 10_000;

/** The lowest and the highest UUID. A prefix, completed by the rest of one of them, is the lowest or highest id with this prefix. */
const [LOWEST, HIGHEST] = ["0", "f"].map((digit) => "00000000-0000-0000-0000-000000000000".replaceAll("0", digit)) as [
  string,
  string,
];

/** The most by which clocks of processes differ. Rows are numbered in the order of their acceptance, which may not be that of their times. */
const CLOCKS_MS = 60_000;

/** The tables that can be searched. Their rows are found by account and sequence number. */
interface Tables {
  readonly submissions: Row<"submissions">;
  readonly judgements: Row<"judgements">;
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
] as const satisfies readonly (keyof Row<"submissions"> & keyof Row<"judgements">)[];
export type SharedRow = Pick<Row<"submissions">, (typeof SHARED_COLUMNS)[number]>;

interface Source<T extends Table, Column extends keyof Tables[T]> {
  readonly table: T;
  /** Columns in addition to SHARED_COLUMNS. */
  readonly columns: readonly Column[];
}

type RowOf<T extends Table, Column extends keyof Tables[T]> = SharedRow & Pick<Tables[T], Column>;

/** A search of either table. Only submissions have a cause, and only judgements have a problem. */
type AnySearch = SubmissionSearch & JudgementSearch;

/**
 * Finds rows, in the order of their acceptance. One search reads a bounded number of rows, so it may find fewer than `max` although there
 * are more.
 * @returns `next`: `before` of a search that continues this one; null if there is nothing more.
 */
export async function searchRows<T extends Table, Column extends keyof Tables[T]>(
  db: Kysely<Schema>,
  source: Source<T, Column>,
  which: AnySearch,
): Promise<{ readonly rows: readonly RowOf<T, Column>[]; readonly next: number | null }> {
  const { table, columns } = source;
  const read = async (query: ReturnType<typeof matching>) =>
    (await query.select(columns as readonly "seq"[]).execute()) as unknown as readonly RowOf<T, Column>[];
  const { id, prefix } = which;
  if (id === undefined && prefix === undefined) return await inOrder(db, table, which, read);
  const low = id ?? `${prefix}${LOWEST.slice(prefix?.length)}`;
  const high = id ?? `${prefix}${HIGHEST.slice(prefix?.length)}`;
  // The account is not part of the condition: SQLite would read all rows of the account by the index of accounts. The order is by id, so
  // that both databases use the index of ids.
  const found = await read(
    matching(db, table, which).where("id", ">=", low).where("id", "<=", high).orderBy("id").limit(MAX_READ),
  );
  return pageOf(found, which);
}

/** A page of those rows that belong to the accounts, in the order of the search. */
function pageOf<Row extends SharedRow>(found: readonly Row[], { accountIds, before, order, max }: AnySearch) {
  const isOldest = order === "oldest";
  const rows = found
    .filter(({ account_id }) => !accountIds || accountIds.includes(account_id))
    .filter(({ seq }) => before === undefined || (isOldest ? seq > before : seq < before))
    .sort((a, b) => (isOldest ? a.seq - b.seq : b.seq - a.seq));
  const page = rows.slice(0, max);
  return { rows: page, next: rows.length > max ? (page.at(-1)?.seq ?? null) : null };
}

/**
 * The number of matches among the newest COUNTED rows of each account in the period of the search. If the search names no account, these
 * are the newest rows of all accounts together.
 */
export async function countRows(db: Kysely<Schema>, table: Table, which: AnySearch): Promise<Total> {
  const { accountIds, range } = await scopeOf(db, table, { ...which, before: undefined, order: "newest" });
  const counted = await Promise.all(
    accountIds.map(async (account) => {
      const floor = await endOf(db, table, { which, account, range, most: COUNTED });
      const rows = matching(db, table, which).where(
        between({ accountId: account, problemId: which.problemId }, floor ?? range.from, range.before),
      );
      const { matches } = await db
        .selectFrom(rows.clearSelect().select("seq").as("matching"))
        .select((eb) => eb.fn.countAll<number | string>().as("matches"))
        .executeTakeFirstOrThrow();
      return { matches: Number(matches), isWhole: floor === undefined };
    }),
  );
  return {
    matches: counted.reduce((sum, { matches }) => sum + matches, 0),
    isWhole: counted.every(({ isWhole }) => isWhole),
  };
}

type Read<Row> = (query: ReturnType<typeof matching>) => Promise<readonly Row[]>;

/**
 * Reads the matches of each account, and merges them. At most MAX_READ rows of each account are read. The result has only matches in the
 * range of sequence numbers that was read for every account.
 */
async function inOrder<Row extends SharedRow>(db: Kysely<Schema>, table: Table, which: AnySearch, read: Read<Row>) {
  const { max, problemId } = which;
  const isOldest = which.order === "oldest";
  const { accountIds, range } = await scopeOf(db, table, which);
  const parts = await Promise.all(
    accountIds.map(async (account) => {
      const end = await endOf(db, table, { which, account, range, most: MAX_READ });
      const from = isOldest ? range.from : (end ?? range.from);
      const before = isOldest && end !== undefined ? end + 1 : range.before;
      const rows = await read(
        matching(db, table, which)
          .where(between({ accountId: account, problemId }, from, before))
          .orderBy(inOrderOf(account, problemId, which.order))
          .limit(max + 1),
      );
      return { rows, from, before };
    }),
  );
  const from = Math.max(...parts.map((part) => part.from), range.from);
  const before = Math.min(...parts.map((part) => part.before), range.before);
  const rows = parts.flatMap((part) => part.rows).filter(({ seq }) => seq >= from && seq < before);
  const page = pageOf(rows, { ...which, accountIds: null, before: undefined });
  if (page.next !== null) return page;
  if (isOldest) return { ...page, next: before < range.before ? before - 1 : null };
  return { ...page, next: from > range.from ? from : null };
}

/**
 * The account of the key, project or problem that is searched for.
 * @returns null if the search names none of them, or a deleted problem; [] for an unknown key or project.
 */
async function accountOf(
  db: Kysely<Schema>,
  { keyId, projectId, problemId }: JudgementSearch,
): Promise<string[] | null> {
  const id = keyId ?? projectId ?? problemId;
  if (id === undefined) return null;
  const table = keyId !== undefined ? "api_keys" : projectId !== undefined ? "projects" : "problems";
  const rows = await db.selectFrom(table).select("account_id").where("id", "=", id).execute();
  // The judgements of a deleted problem stay, but its account is unknown.
  if (table === "problems" && rows.length === 0) return null;
  return rows.map(({ account_id }) => account_id);
}

interface Range {
  readonly from: number;
  readonly before: number;
}

/** The accounts of a search (a single null if it has no restriction), and its range of sequence numbers. */
async function scopeOf(db: Kysely<Schema>, table: Table, which: AnySearch) {
  const { sinceMs, untilMs, before: cursor, order } = which;
  const accountIds: readonly (string | null)[] = which.accountIds ?? (await accountOf(db, which)) ?? [null];
  const from = sinceMs === undefined ? 0 : await seqAt(db, table, sinceMs - CLOCKS_MS);
  const until = untilMs === undefined ? Number.MAX_SAFE_INTEGER : await seqAt(db, table, untilMs + CLOCKS_MS);
  const range: Range =
    order === "oldest"
      ? { from: Math.max(from, (cursor ?? -1) + 1), before: until }
      : { from, before: Math.min(cursor ?? Number.MAX_SAFE_INTEGER, until) };
  return { accountIds, range };
}

/** The sequence number of the last of the first `most` rows of an account in the range; undefined if there are fewer rows. */
async function endOf(
  db: Kysely<Schema>,
  table: Table,
  {
    which: { problemId, order },
    account,
    range,
    most,
  }: { readonly which: AnySearch; readonly account: string | null; readonly range: Range; readonly most: number },
): Promise<number | undefined> {
  const last = await rowsOf(db, table)
    .select("seq")
    .where(between({ accountId: account, problemId }, range.from, range.before))
    .orderBy(inOrderOf(account, problemId, order))
    .limit(1)
    .offset(most - 1)
    .executeTakeFirst();
  return last?.seq;
}

/**
 * The condition for the rows of an account, or of one of its problems, in a range of sequence numbers. It compares tuples, and
 * `newestFirst` orders by the same columns, so that no plan can read the rows of all accounts by `seq` alone.
 * @param accountId null for all accounts.
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

/** The order of rows that `between` selects, newest first. */
export function newestFirst(accountId: string | null, problemId: string | undefined) {
  return inOrderOf(accountId, problemId, "newest");
}

function inOrderOf(accountId: string | null, problemId: string | undefined, order: SubmissionSearch["order"]) {
  const direction = order === "oldest" ? "asc" : "desc";
  const columns =
    accountId === null
      ? ["seq"]
      : problemId === undefined
        ? ["account_id", "seq"]
        : ["account_id", "problem_id", "seq"];
  return sql.raw(columns.map((column) => `${column} ${direction}`).join(", "));
}

/** Selects from either table. Only shared columns are used, so the type of one table serves for both. */
function rowsOf(db: Kysely<Schema>, table: Table) {
  return db.selectFrom(table as "submissions");
}

function matching(db: Kysely<Schema>, table: Table, which: AnySearch) {
  const { verdict, cause, status, language, keyId, projectId, problemId, sinceMs, untilMs } = which;
  let query = rowsOf(db, table).select(SHARED_COLUMNS);
  if (verdict !== undefined) query = query.where("verdict", "=", verdict);
  // Accepted runs of earlier releases have no cause in their row.
  if (cause === "normal_exit") query = query.where("verdict", "=", "AC");
  else if (cause !== undefined) query = query.where("cause", "=", cause);
  if (table === "submissions" && (status === "pending" || status === "running"))
    // A submission that has given up its slot between two runs is pending here, but running for clients (statusOf in submissions/rows.ts).
    query = query
      .where("status", "in", status === "pending" ? ["pending"] : ["pending", "running"])
      .where("started_at", status === "pending" ? "is" : "is not", null);
  else if (status !== undefined) query = query.where("status", "=", status);
  if (language !== undefined) query = query.where("language", "=", language);
  if (keyId !== undefined) query = query.where("key_id", "=", keyId);
  if (projectId !== undefined) query = query.where("project_id", "=", projectId);
  // The condition is an expression: with a comparison of the column, SQLite reads all judgements of the account instead of the range.
  if (problemId !== undefined) query = query.where(sql`coalesce(problem_id, '')`, "=", problemId);
  if (sinceMs !== undefined) query = query.where("created_at", ">=", sinceMs);
  if (untilMs !== undefined) query = query.where("created_at", "<", untilMs);
  return query;
}

/**
 * Finds the first row of a time. Times have no index, because an index costs time at every claim and end. Sequence numbers increase with
 * time, so a binary search needs only some twenty reads.
 * @returns the lowest sequence number of a row that was accepted at this time or later; one above the highest if there is none.
 */
async function seqAt(db: Kysely<Schema>, table: Table, ms: number): Promise<number> {
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

/** Adds the names of account, key and project to each row; the id of an object stands for a name that cannot be found. */
export async function withNames<Row extends Pick<SharedRow, "account_id" | "key_id" | "project_id">>(
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
