import { type Kysely, sql } from "kysely";
import type { Schema } from "../database/schema.ts";

/** An object that an entry of the audit trail refers to. */
export interface NamedObject {
  readonly kind: "account" | "project" | "key" | "endpoint" | "person" | "problem";
  /** The present name of the object: the e-mail of a person; the origin of the URL of an endpoint, because the path may contain a token. */
  readonly name: string;
  /** Whether the object is an endpoint that was removed. */
  readonly isGone: boolean;
}

/**
 * The objects with these ids. Objects that are no longer stored, such as deleted problems, are absent. Each kind is read by an index of ids.
 * @param accountIds only objects of these accounts, and no persons; null for all objects.
 */
export async function namedObjects(
  db: Kysely<Schema>,
  ids: readonly string[],
  accountIds: readonly string[] | null,
): Promise<ReadonlyMap<string, NamedObject>> {
  if (ids.length === 0 || accountIds?.length === 0) return new Map();
  const inAccounts = (column: string) =>
    accountIds === null ? sql<boolean>`1 = 1` : sql<boolean>`${sql.ref(column)} in (${sql.join(accountIds)})`;
  const read = (table: "accounts" | "projects" | "api_keys" | "problems", column: string) =>
    db.selectFrom(table).select(["id", "name"]).where("id", "in", ids).where(inAccounts(column)).execute();
  const endpoints = await db
    .selectFrom("endpoints")
    .innerJoin("projects", "projects.id", "endpoints.project_id")
    .select(["endpoints.id", "endpoints.url", "endpoints.removed_at"])
    .where("endpoints.id", "in", ids)
    .where(inAccounts("projects.account_id"))
    .execute();
  const people =
    accountIds === null ? await db.selectFrom("people").select(["id", "email"]).where("id", "in", ids).execute() : [];
  const rows: readonly (readonly [id: string, kind: NamedObject["kind"], name: string, isGone?: boolean])[] = [
    ...(await read("accounts", "id")).map(({ id, name }) => [id, "account", name] as const),
    ...(await read("projects", "account_id")).map(({ id, name }) => [id, "project", name] as const),
    ...(await read("api_keys", "account_id")).map(({ id, name }) => [id, "key", name] as const),
    ...(await read("problems", "account_id")).map(({ id, name }) => [id, "problem", name] as const),
    ...endpoints.map(({ id, url, removed_at }) => [id, "endpoint", new URL(url).origin, removed_at !== null] as const),
    ...people.map(({ id, email }) => [id, "person", email] as const),
  ];
  return new Map(rows.map(([id, kind, name, isGone = false]) => [id, { kind, name, isGone }]));
}
