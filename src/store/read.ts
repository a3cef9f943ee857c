import type { Kysely } from "kysely";
import type { Submission } from "../domain/submission.ts";
import { SUBMISSION_COLUMNS, toOutcome, toSubmission } from "./rows.ts";
import type { Schema } from "./schema.ts";

/** One submission of one account with its outcome; undefined when the account has none of that id. */
export async function readSubmission(
  db: Kysely<Schema>,
  id: string,
  accountId: string,
): Promise<Submission | undefined> {
  const row = await db
    .selectFrom("submissions")
    .leftJoin("outcomes", "outcomes.submission_seq", "submissions.seq")
    .select([...SUBMISSION_COLUMNS, "outcomes.stdout", "outcomes.stderr", "outcomes.body"])
    .where("submissions.id", "=", id)
    .where("submissions.account_id", "=", accountId)
    .executeTakeFirst();
  if (!row) return undefined;
  const { stdout, stderr, body } = row;
  return toSubmission(row, body === null ? null : toOutcome({ stdout, stderr, body }));
}
