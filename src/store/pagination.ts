import { type ExpressionBuilder, type RawBuilder, sql } from "kysely";
import type { ListPage } from "./access/types.ts";
import type { Schema } from "./database/schema.ts";

/** The number of rows of a list, unless the caller states one. */
export const USUAL_ROWS = 1_000;

interface Listed {
  readonly id: string;
  readonly created_at: number;
}

/** The row that a cursor names. */
interface Cursor extends Listed {
  readonly account_id: string;
}

/** The position of the row after which a part begins. */
interface Position {
  readonly id: string;
  readonly createdAt: number;
}

/**
 * A part of a list, newest first. A cursor that names a row of another account yields an empty part, like an unknown cursor, so that the
 * response does not reveal which ids exist.
 * @param positionOf finds the row that the cursor `after` names.
 * @param read returns the newest rows of one account, or of all accounts (null), after the position. It is called separately for each
 * account, because an index has the rows of one account in order: for several accounts, a database would read and sort all their rows.
 */
export async function pageOf<Row extends Listed>(
  { accountIds = null, after, max = USUAL_ROWS }: ListPage,
  positionOf: (id: string) => Promise<Cursor | undefined>,
  read: (accountId: string | null, max: number, position: Position | null) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const cursor = after === undefined ? null : await positionOf(after);
  if (cursor === undefined || (cursor && accountIds?.includes(cursor.account_id) === false)) return [];
  const position = cursor && { id: cursor.id, createdAt: cursor.created_at };
  if (accountIds === null) return await read(null, max, position);
  const parts = await Promise.all([...new Set(accountIds)].map((accountId) => read(accountId, max, position)));
  if (parts.length === 1) return parts[0] ?? [];
  return parts
    .flat()
    .sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1))
    .slice(0, max);
}

/** The condition that a row is after the position. It compares pairs, so that an index on both columns is used. */
export function afterPosition(
  table: "api_keys" | "projects" | "endpoints" | "people" | "invitations",
  { createdAt, id }: Position,
): RawBuilder<boolean> {
  return sql<boolean>`(${sql.ref(`${table}.created_at`)}, ${sql.ref(`${table}.id`)}) < (${createdAt}, ${id})`;
}

/** The condition that a key is live at `nowMs`: neither revoked nor expired. */
export function liveAt(eb: ExpressionBuilder<Schema, "api_keys">, nowMs: number) {
  return eb.and([
    eb("api_keys.revoked_at", "is", null),
    eb.or([eb("api_keys.expires_at", "is", null), eb("api_keys.expires_at", ">", nowMs)]),
  ]);
}
