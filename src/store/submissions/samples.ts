import type { Kysely } from "kysely";
import { decodeSamples, type Samples } from "../../domain/samples.ts";
import type { Schema } from "../database/schema.ts";

/** The samples of a submission, by its sequence number; null if it has none. */
export async function samplesOf(db: Kysely<Schema>, seq: number): Promise<Samples | null> {
  const row = await db.selectFrom("samples").select("body").where("submission_seq", "=", seq).executeTakeFirst();
  return row ? decodeSamples(row.body) : null;
}

/** Reads the samples of a submission by its id; undefined if the account has no such submission. */
export async function readSamples(
  db: Kysely<Schema>,
  id: string,
  accountId: string,
): Promise<Samples | null | undefined> {
  if (id.includes("\0")) return undefined; // PostgreSQL rejects such texts
  const row = await db
    .selectFrom("submissions")
    .leftJoin("samples", "samples.submission_seq", "submissions.seq")
    .select("samples.body")
    .where("submissions.id", "=", id)
    .where("submissions.account_id", "=", accountId)
    .executeTakeFirst();
  return row && (row.body === null ? null : decodeSamples(row.body));
}
