import { type Kysely, sql } from "kysely";
import type { AccountReads } from "../database/account-reads.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import { toSnapshot } from "../sandboxes/snapshots.ts";
import { between, newestFirst, withNames } from "./newest.ts";
import type { FoundSnapshot, SnapshotSearch } from "./types.ts";

export type SnapshotSearchStore = ReturnType<typeof snapshotSearch>;

/** Searches snapshots for the dashboard. The tier of an account bounds how many it has, so one search can read all of an account. */
export function snapshotSearch({ db }: Database, reads: AccountReads) {
  return {
    /** Finds complete snapshots, newest first. @returns `next`: `before` of a search that continues this one; null if there is nothing older. */
    search(which: SnapshotSearch): Promise<{ readonly found: readonly FoundSnapshot[]; readonly next: number | null }> {
      const { accountIds, max } = which;
      return reads.run(accountIds, async () => {
        const accounts = accountIds === null ? [null] : [...new Set(accountIds)];
        const parts = await Promise.all(accounts.map((account) => ofAccount(db, account, which)));
        const rows = parts.flat().sort((a, b) => b.seq - a.seq);
        const page = rows.slice(0, max);
        const next = rows.length > page.length ? (page.at(-1)?.seq ?? null) : null;
        const found = await withNames(db, page);
        return { found: found.map(({ row, names }) => ({ snapshot: toSnapshot(row), ...names })), next };
      });
    },

    /** @returns undefined for an unknown id, for a snapshot that is not complete, and for one of another account. */
    async get(id: string, accountIds: readonly string[] | null): Promise<FoundSnapshot | undefined> {
      const row = await complete(db).where("id", "=", id).executeTakeFirst();
      if (!row || (accountIds && !accountIds.includes(row.account_id))) return undefined;
      const [found] = await withNames(db, [row]);
      return found && { snapshot: toSnapshot(found.row), ...found.names };
    },
  };
}

const complete = (db: Kysely<Schema>) => db.selectFrom("snapshots").selectAll().where("written_until", "is", null);

/** @param accountId null for all accounts. */
function ofAccount(db: Kysely<Schema>, accountId: string | null, { projectId, before, max }: SnapshotSearch) {
  let query = complete(db).where(between({ accountId }, 0, before ?? Number.MAX_SAFE_INTEGER));
  // An expression, because with a comparison of the column a database could choose another index.
  if (projectId !== undefined) query = query.where(sql`coalesce(project_id, '')`, "=", projectId);
  return query
    .orderBy(newestFirst(accountId, undefined))
    .limit(max + 1)
    .execute();
}
