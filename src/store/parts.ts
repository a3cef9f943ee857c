import { type ExpressionBuilder, type RawBuilder, sql } from "kysely";
import type { Part } from "./admin-port.ts";
import type { Schema } from "./schema.ts";

/** Rows of a list that is asked for without saying how many. */
export const USUAL_ROWS = 1_000;

interface Listed {
  readonly id: string;
  readonly created_at: number;
}

/** The row that a cursor names. */
interface Cursor extends Listed {
  readonly account_id: string;
}

/** Where a part begins: behind this row. */
interface Place {
  readonly id: string;
  readonly createdAt: number;
}

/**
 * A part of a list, newest first. A cursor of another account gives an empty part, as a cursor that names no row: the answer must
 * not show which ids exist.
 * @param read the newest rows of one account, or of all (null), behind the place. It is called for each account on its own,
 * so that an index has the rows in order: for several accounts at once a database reads and sorts all their rows.
 */
export async function partOf<Row extends Listed>(
  { accountIds = null, after, max = USUAL_ROWS }: Part,
  placeOf: (id: string) => Promise<Cursor | undefined>,
  read: (accountId: string | null, max: number, place: Place | null) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const behind = after === undefined ? null : await placeOf(after);
  if (behind === undefined || (behind && accountIds?.includes(behind.account_id) === false)) return [];
  const place = behind && { id: behind.id, createdAt: behind.created_at };
  if (accountIds === null) return await read(null, max, place);
  const parts = await Promise.all([...new Set(accountIds)].map((accountId) => read(accountId, max, place)));
  if (parts.length === 1) return parts[0] ?? [];
  return parts
    .flat()
    .sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1))
    .slice(0, max);
}

/** The condition that a row comes behind the place. As a pair, so that an index on both columns finds it. */
export function behindPlace(
  table: "api_keys" | "projects" | "endpoints" | "people" | "invitations",
  { createdAt, id }: Place,
): RawBuilder<boolean> {
  return sql<boolean>`(${sql.ref(`${table}.created_at`)}, ${sql.ref(`${table}.id`)}) < (${createdAt}, ${id})`;
}

/** The condition that a key opens something at that moment: it is neither revoked nor at its end. */
export function liveAt(eb: ExpressionBuilder<Schema, "api_keys">, nowMs: number) {
  return eb.and([
    eb("api_keys.revoked_at", "is", null),
    eb.or([eb("api_keys.expires_at", "is", null), eb("api_keys.expires_at", ">", nowMs)]),
  ]);
}
