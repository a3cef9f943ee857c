import { type Kysely, sql } from "kysely";
import type { Schema } from "../database/schema.ts";

/** The most entries that one search reads in each index: bounds how long a search delays other work on SQLite. */
const MAX_ROWS = 5_000;

/** The most by which clocks of processes differ. Entries are numbered in the order of their insertion, which may not be that of their times. */
const CLOCKS_MS = 60_000;

/** A search for audit entries. Each condition that is undefined does not restrict the search. */
export interface AuditSearch {
  readonly max: number;
  /** Only entries with a lower `seq`. */
  readonly before?: number | undefined;
  /** Only entries of these accounts; null for all. */
  readonly accountIds: readonly string[] | null;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** The first column of an index by which entries are read, and its value; null for all entries, in the order of `seq`. */
type Source = readonly [column: "account_id" | "subject" | "actor" | "action", value: string] | null;

interface Range {
  readonly from: number;
  readonly before: number;
}

/**
 * The newest matches. One search reads a bounded number of entries, so it may find fewer than `max` although there are more.
 * @param maxRows the most entries to read in each index; tests set a lower number.
 * @returns `next`: `before` of a search that continues this one; null if there is nothing older.
 */
export async function searchAudit(
  db: Kysely<Schema>,
  which: AuditSearch,
  maxRows = MAX_ROWS,
): Promise<{ readonly seqs: readonly number[]; readonly next: number | null }> {
  const { max, sinceMs, untilMs, before = Number.MAX_SAFE_INTEGER } = which;
  const from = sinceMs === undefined ? 0 : await seqAt(db, sinceMs - CLOCKS_MS);
  const until = untilMs === undefined ? before : await seqAt(db, untilMs + CLOCKS_MS);
  const range = { from, before: Math.min(before, until) };
  const parts = await Promise.all(sourcesOf(which).map((source) => ofSource(db, which, source, range, maxRows)));
  const floor = Math.max(from, ...parts.map((part) => part.floor));
  const seqs = parts
    .flatMap((part) => part.seqs)
    .filter((seq) => seq >= floor)
    .sort((a, b) => b - a);
  const last = seqs[max - 1];
  if (last !== undefined && seqs.length > max) return { seqs: seqs.slice(0, max), next: last };
  return { seqs, next: floor > from ? floor : null };
}

/**
 * The index by which the entries are read, with each of its values: the one with the fewest entries. For members, it is that of accounts
 * unless they search for a subject, so that entries of other accounts neither delay a search nor reveal anything by its duration.
 */
function sourcesOf({ accountIds, subject, actor, action }: AuditSearch): readonly Source[] {
  if (subject !== undefined) return [["subject", subject]];
  if (accountIds) return [...new Set(accountIds)].map((id) => ["account_id", id] as const);
  if (actor !== undefined) return [["actor", actor]];
  return action === undefined ? [null] : [["action", action]];
}

/** The matches among the entries of a source. @returns `floor`: entries with lower numbers were not read. */
async function ofSource(
  db: Kysely<Schema>,
  which: AuditSearch,
  source: Source,
  { from, before }: Range,
  maxRows: number,
): Promise<{ readonly seqs: readonly number[]; readonly floor: number }> {
  const entries = db.selectFrom("audit").select("seq").orderBy(newestFirst(source));
  const last = await entries
    .where(between(source, { from, before }))
    .limit(1)
    .offset(maxRows - 1)
    .executeTakeFirst();
  const floor = last?.seq ?? from;
  const rows = await matching(entries, which)
    .where(between(source, { from: floor, before }))
    .limit(which.max + 1)
    .execute();
  return { seqs: rows.map(({ seq }) => seq), floor };
}

/**
 * The condition for the entries of a source in a range of numbers. It compares pairs, and `newestFirst` has the same columns: otherwise, the
 * database could choose the index on `seq`, and read all entries.
 */
function between(source: Source, { from, before }: Range) {
  if (source === null) return sql<boolean>`seq >= ${from} and seq < ${before}`;
  const column = sql.ref(source[0]);
  const value = source[1];
  return sql<boolean>`(${column}, seq) >= (${value}, ${from}) and (${column}, seq) < (${value}, ${before})`;
}

function newestFirst(source: Source) {
  return source === null ? sql.raw("seq desc") : sql`${sql.ref(source[0])} desc, seq desc`;
}

type Entries = ReturnType<typeof entriesOf>;
function entriesOf(db: Kysely<Schema>) {
  return db.selectFrom("audit").select("seq");
}

/**
 * Adds the conditions of a search. They are expressions: with comparisons of columns, a database could read all entries of an actor instead
 * of the range.
 */
function matching(entries: Entries, { accountIds, actor, action, subject, sinceMs, untilMs }: AuditSearch): Entries {
  let query = entries;
  if (accountIds) query = query.where(sql`coalesce(account_id, '')`, "in", accountIds);
  for (const [column, value] of Object.entries({ actor, action, subject })) {
    if (value !== undefined) query = query.where(sql`coalesce(${sql.ref(column)}, '')`, "=", value);
  }
  if (sinceMs !== undefined) query = query.where("at", ">=", sinceMs);
  if (untilMs !== undefined) query = query.where("at", "<", untilMs);
  return query;
}

/**
 * Finds the first entry of a time. Times have no index, but numbers increase with time, so a binary search needs only some twenty reads.
 * @returns the lowest number of an entry at this time or later; one above the highest if there is none.
 */
async function seqAt(db: Kysely<Schema>, ms: number): Promise<number> {
  const end = async (direction: "asc" | "desc") =>
    (await entriesOf(db).where("seq", ">", 0).orderBy("seq", direction).limit(1).executeTakeFirst())?.seq ?? 0;
  let low = await end("asc");
  let high = (await end("desc")) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = await entriesOf(db).select("at").where("seq", ">=", middle).orderBy("seq").limit(1).executeTakeFirst();
    if (!row || row.at >= ms) high = middle;
    else low = row.seq + 1;
  }
  return low;
}
