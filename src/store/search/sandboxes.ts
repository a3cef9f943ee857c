import { type Kysely, sql } from "kysely";
import type { Execution } from "../../domain/sandboxes/execution.ts";
import type { AccountReads } from "../database/account-reads.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import { SANDBOX_COLUMNS, type SandboxRow, toSandbox } from "../sandboxes/rows.ts";
import { withNames } from "./newest.ts";
import type { FoundSandbox, SandboxSearch } from "./types.ts";

/** The most rows of an account that one search reads: bounds how long a search delays other work on SQLite. */
const MAX_ROWS = 2_000;
/** How many rows a search by metadata reads at once. */
const METADATA_ROWS = 100;

export type SandboxSearchStore = ReturnType<typeof sandboxSearch>;

/** Searches sandboxes for the dashboard. */
export function sandboxSearch({ db }: Database, reads: AccountReads) {
  return {
    /**
     * Finds sandboxes, newest first. One search reads a bounded number of sandboxes, so it may find fewer than `max` although there are more.
     * @returns `next`: `before` of a search that continues this one; null if there is nothing older.
     */
    search(which: SandboxSearch): Promise<{ readonly found: readonly FoundSandbox[]; readonly next: number | null }> {
      return reads.run(which.accountIds, async () => {
        const accounts = which.accountIds === null ? [null] : [...new Set(which.accountIds)];
        const parts = await Promise.all(accounts.map((account) => ofAccount(db, account, which)));
        const floor = Math.max(0, ...parts.map((part) => part.floor));
        const rows = parts
          .flatMap((part) => part.rows)
          .filter(({ seq }) => seq >= floor)
          .sort((a, b) => b.seq - a.seq);
        const page = rows.slice(0, which.max);
        const next = rows.length > page.length ? (page.at(-1)?.seq ?? null) : floor > 0 ? floor : null;
        return { found: await named(db, page), next };
      });
    },

    /** @returns undefined for an unknown id, and for a sandbox of another account. */
    async get(id: string, accountIds: readonly string[] | null): Promise<FoundSandbox | undefined> {
      const row = await db.selectFrom("sandboxes").select(SANDBOX_COLUMNS).where("id", "=", id).executeTakeFirst();
      if (!row || (accountIds && !accountIds.includes(row.account_id))) return undefined;
      return (await named(db, [row]))[0];
    },

    /** A text that changes when an execution of the sandbox begins or ends. */
    async executionsMark(id: Execution["sandboxId"]): Promise<string> {
      const { rows } = await sql<Record<string, unknown>>`select
          (select max(number) from executions where sandbox_seq = sandboxes.seq) as last,
          (select count(*) from executions where sandbox_seq = sandboxes.seq and completed_at is null) as running
        from sandboxes where id = ${id}`.execute(db);
      return Object.values(rows[0] ?? {}).join();
    },
  };
}

/**
 * The matches among the newest MAX_ROWS sandboxes of an account, or of all accounts. @param account null for all accounts.
 * @returns `floor`: sandboxes with lower numbers were not read; 0 if all were.
 */
async function ofAccount(
  db: Kysely<Schema>,
  account: string | null,
  { projectId, state, metadata = {}, before, max }: SandboxSearch,
) {
  const end = before ?? Number.MAX_SAFE_INTEGER;
  const order = account === null ? sql`seq desc` : sql`account_id desc, seq desc`;
  // The condition and the order have both columns, so that no plan can read the rows of all accounts by `seq` alone.
  const between = (from: number, until = end) =>
    account === null
      ? sql<boolean>`seq >= ${from} and seq < ${until}`
      : sql<boolean>`(account_id, seq) >= (${account}, ${from}) and (account_id, seq) < (${account}, ${until})`;
  const last = await db
    .selectFrom("sandboxes")
    .select("seq")
    .where(between(0))
    .orderBy(order)
    .limit(1)
    .offset(MAX_ROWS - 1)
    .executeTakeFirst();
  const floor = last?.seq ?? 0;
  const part = async (until: number, limit: number) => {
    let query = db
      .selectFrom("sandboxes")
      .select([...SANDBOX_COLUMNS, "seq"])
      .where(between(floor, until));
    // Expressions, because with comparisons of columns a database could choose another index.
    if (state !== undefined) query = query.where(sql`coalesce(state, '')`, "=", state);
    if (projectId !== undefined) query = query.where(sql`coalesce(project_id, '')`, "=", projectId);
    return await query.orderBy(order).limit(limit).execute();
  };
  const wanted = Object.entries(metadata);
  if (wanted.length === 0) return { rows: await part(end, max + 1), floor };
  // Metadata can have 18 KB and has no index, so the rows are read and compared in parts.
  const rows: Awaited<ReturnType<typeof part>> = [];
  for (let until = end; rows.length <= max; ) {
    const read = await part(until, METADATA_ROWS);
    rows.push(...read.filter((row) => hasAll(toSandbox(row).metadata, wanted)));
    until = read.at(-1)?.seq ?? floor;
    if (read.length < METADATA_ROWS) break;
  }
  return { rows: rows.slice(0, max + 1), floor };
}

function hasAll(metadata: Readonly<Record<string, string>>, wanted: readonly (readonly [string, string])[]): boolean {
  return wanted.every(([name, value]) => Object.hasOwn(metadata, name) && metadata[name] === value);
}

async function named(db: Kysely<Schema>, rows: readonly SandboxRow[]): Promise<FoundSandbox[]> {
  return (await withNames(db, rows)).map(({ row, names }) => ({ sandbox: toSandbox(row), ...names }));
}
